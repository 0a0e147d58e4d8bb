package disruption

import (
	"errors"
	"testing"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/process"
)

// TestShortOfMemory says what became of a replica with too little memory.
func TestShortOfMemory(t *testing.T) {
	t.Parallel()
	killed := errors.New("webhook program: it exited: signal: killed; its last output:\n  a line")
	for _, test := range []struct {
		limit uint64
		seen  process.CgroupSeen
		ended error
		want  string
	}{
		{24, process.CgroupSeen{}, nil, "with 24 MiB, half of what is recommended, it kept running, and never used that much"},
		{24, process.CgroupSeen{Reached: true}, nil, "with 24 MiB, half of what is recommended, it kept running, but the kernel had to free memory for it"},
		{24, process.CgroupSeen{Reached: true, Killed: 1}, killed, "with 24 MiB, half of what is recommended, the kernel killed it"},
		{24, process.CgroupSeen{Reached: true, Killed: 1}, nil, "with 24 MiB, half of what is recommended, the kernel killed one of its processes, but it kept running"},
		{24, process.CgroupSeen{Reached: true}, errors.New("it exited: exit status 3; its last output:\n  out of memory"), "with 24 MiB, half of what is recommended, it exited: exit status 3; its last output:"},
		{9, process.CgroupSeen{Killed: 1}, killed, "half of the recommended 48 MiB was enough; with 9 MiB, the kernel killed it"},
		{30, process.CgroupSeen{Killed: 1}, killed, "with 30 MiB, the kernel killed it"},
		{0, process.CgroupSeen{}, nil, "without a limit, as it used more than half of the recommended 48 MiB at once, it kept running"},
	} {
		s := &short{recommended: 48 << 20, limit: test.limit << 20}
		if got := s.became(test.seen, test.ended); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestAnswersWithTooLittleMemory excuses what is answered meanwhile, and nothing after that.
func TestAnswersWithTooLittleMemory(t *testing.T) {
	t.Parallel()
	facts := func(during, after int) record.Facts {
		return record.Facts{Failures: []record.Failure{{Error: record.Answer, During: during, After: after}, {Error: record.Reset, During: 1, After: 1}}}
	}
	for _, test := range []struct {
		short         bool
		during, after int
		found         bool
	}{{true, 3, 0, false}, {true, 0, 1, true}, {false, 3, 0, true}, {false, 0, 0, false}} {
		if got := (Scenario{short: test.short}).Answered(facts(test.during, test.after)); (len(got) > 0) != test.found {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
