package gotest

import (
	"context"
	"os"
	"testing"
	"time"
)

// TestInterrupted interrupts the program, here the fake of TestMain, before the deadline of the test.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	last, limited := limited(t).Deadline()
	if deadline, ok := t.Deadline(); limited != ok || limited && !last.Before(deadline) {
		t.Errorf("the program runs until %s, the test until %s", last, deadline)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if got := run(ctx, t, self, []string{"check", "--wait"}); got.code != 130 || got.text != "interrupted\n" {
		t.Error(got)
	}
}
