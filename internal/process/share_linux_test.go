package process

import (
	"io"
	"regexp"
	"testing"
)

// TestMachine finds as much memory as a machine may have.
func TestMachine(t *testing.T) {
	t.Parallel()
	if got := Machine(); got < 64<<20 || got > 1<<50 {
		t.Errorf("this machine has %d bytes", got)
	}
}

// TestShare has a program, or what it has started, take more than half of the memory that the machine is said to have: it is killed with all that it
// has started, has ended by itself, and says why. One that takes less is left alone.
func TestShare(t *testing.T) {
	t.Parallel()
	why := regexp.MustCompile(`^killed, since it took 0\.\d GiB of memory, more than half of the 0\.1 GiB that there is$`)
	const takes = "dd if=/dev/zero bs=64M count=1 2> /dev/null | tail -c 67108864 | { sleep 60; cat; } > /dev/null"
	for name, test := range map[string]struct {
		script  string
		machine uint64
		killed  bool
	}{
		"in a pipe":          {takes, 64 << 20, true},
		"of what it started": {"(" + takes + ") & wait", 64 << 20, true},
		"of what it left":    {"(setsid sh -c '" + takes + "') & exit 0", 64 << 20, true},
		"less than half":     {"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done", 1 << 30, false},
		"no bound":           {"head -c 67108864 /dev/zero | tail -c 67108864 > /dev/null", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := shell(t, test.script, Options{Memory: test.machine, Background: true}, io.Discard)
			<-p.Exited()
			if got := p.State(); why.MatchString(got) != test.killed || !p.Crashed() {
				t.Errorf("it ended by %s, by itself: %t", got, p.Crashed())
			}
			eventually(func() bool { return !p.tree.alive() })
		})
	}
}
