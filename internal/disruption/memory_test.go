package disruption

import (
	"errors"
	"testing"

	"github.com/crdconform/crdconform/internal/cgroup"
)

// TestShortOfMemory says what became of a replica with too little memory.
func TestShortOfMemory(t *testing.T) {
	t.Parallel()
	running := &replica{}
	for _, test := range []struct {
		short short
		seen  cgroup.Seen
		ended error
		want  string
	}{
		{short{replica: running}, cgroup.Seen{}, nil, "it went on, and needed no more"},
		{short{replica: running}, cgroup.Seen{Reached: true}, nil, "it went on, and the kernel had to make room for it"},
		{short{replica: running}, cgroup.Seen{Reached: true, Killed: 1}, errors.New("it exited: signal: killed"), "the kernel killed it"},
		{short{replica: running}, cgroup.Seen{Reached: true}, errors.New("it exited: exit status 3"), "it exited: exit status 3"},
		{short{refused: errors.New("too late")}, cgroup.Seen{Reached: true}, nil, "it does not start: too late"},
		{short{refused: errors.New("too late")}, cgroup.Seen{Reached: true, Killed: 1}, nil, "the kernel killed it"},
		{short{}, cgroup.Seen{}, nil, "it was not started"},
		{short{replica: running, lowered: 9 << 20}, cgroup.Seen{Reached: true, Killed: 1}, nil, "it needed no more; with 9 MiB, the kernel killed it"},
	} {
		test.short.limit = 24 << 20
		if got, want := test.short.sentence(test.seen, test.ended), "with 24 MiB, half of what is recommended, "+test.want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
