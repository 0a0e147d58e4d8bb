package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// parentVariable makes the test program a parent that starts a process, says its ID, and waits to be killed.
const parentVariable = "CRDCONFORM_TEST_PARENT"

// TestDiesWithParent kills a parent: the process that it has started goes, too, but not because a thread of the parent ended before.
func TestDiesWithParent(t *testing.T) {
	t.Parallel()
	if os.Getenv(parentVariable) != "" { //nolint:forbidigo // that is how the test talks to itself
		p, err := Start(exec.CommandContext(t.Context(), "sleep", "600"), Options{Background: true})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 { // threads that end, if any do
			<-time.After(time.Millisecond)
		}
		fmt.Fprintf(os.Stderr, "process %d\n", p.ID())
		select {}
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.CommandContext(t.Context(), program, "-test.run=^TestDiesWithParent$")
	parent.Env = append(os.Environ(), parentVariable+"=1")
	said, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(line), "process "))
	if err != nil {
		t.Fatal(err)
	}
	child, found := look(id)
	if !found || child.zombie {
		t.Errorf("the process ended before its parent: %+v", child)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err == nil {
		t.Error("the parent was not killed")
	}
	for range 1000 {
		if now, found := look(id); !found || now.zombie || now.started != child.started {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Error("the process outlives its parent")
	if outlives, err := os.FindProcess(id); err == nil {
		if err := outlives.Kill(); err != nil {
			t.Error(err)
		}
	}
}
