package process

import (
	"bufio"
	"io"
	"testing"
)

// TestUsage has a shell and its child, whose memory and processes count together.
func TestUsage(t *testing.T) {
	t.Parallel()
	p := shell(t, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; (echo started; exec sleep 60) & wait", Options{Output: true}, io.Discard)
	if _, err := bufio.NewReader(p.Output).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	alone, _ := usageOf(p.ID()) // before the others, since its time goes on
	used, known := p.Usage()
	if !known || used.Processes != 2 || alone.Resident == 0 || used.Resident <= alone.Resident || used.Processor < alone.Processor {
		t.Errorf("got %+v, of which the shell has %+v", used, alone)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if used, known := p.Usage(); known {
		t.Errorf("after its end: %+v", used)
	}
}
