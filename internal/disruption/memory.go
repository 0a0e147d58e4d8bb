package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/requirement"
)

// shortFor is how long a replica with too little memory serves: for a third of that with half of what is recommended, and if that is
// enough, with what it uses at that moment.
const shortFor = 3 * time.Second

// short is a replica that has too little memory.
type short struct {
	group       *process.Cgroup
	recommended uint64   // limit, in bytes
	limit       uint64   // that it has; 0 if it has none yet
	replica     *replica // nil before it was started
}

// memoryScenarios are about too little memory.
func memoryScenarios() []Scenario {
	return []Scenario{{
		ID: requirement.DisruptionMemoryLimit, Title: "a replica with half of the memory that is recommended, or less, serves alone for a while",
		programs: memoryLimits, replicas: 1, path: balanced, short: true,
		do: func(ctx context.Context, st *stage) error { return st.runShort(ctx) },
		undo: func(ctx context.Context, st *stage) error {
			st.outOfService()
			st.balancer.cut()
			st.end("the first replica serves alone again")
			return st.endShort(ctx)
		},
	}}
}

// limited says why no memory can be limited; "" if it can.
func limited(ctx context.Context) (string, error) {
	group, err := process.NewCgroup(ctx)
	if missing := (process.NoCgroupError{}); errors.As(err, &missing) {
		return "it needs a cgroup with a memory limit, which can't be made: " + missing.Reason, nil
	}
	if err != nil {
		return "", err
	}
	return "", group.Remove(ctx)
}

// runShort starts another replica, has it serve alone, and limits its memory to half of what is recommended for what the first one used so
// far. It starts without a limit: one that does not start at all would show nothing.
func (st *stage) runShort(ctx context.Context) error {
	most := uint64(0)
	for _, s := range st.record.History().Samples {
		most = max(most, s.Resident)
	}
	if most == 0 {
		return errors.New("how much memory the webhook uses is not known")
	}
	group, err := process.NewCgroup(ctx)
	if err != nil {
		return err
	}
	st.short = &short{group: group, recommended: memory.Recommended(most)}
	st.begin("another replica starts, to have half of the %s that are recommended", mebibytes(st.short.recommended))
	if st.short.replica, err = st.addIn(ctx, st.Program, group); err != nil {
		return fmt.Errorf("a second replica, whose memory is to be limited: %w", err)
	}
	st.balancer.set(st.short.replica.address)
	st.balancer.cut()
	return st.short.squeeze(ctx)
}

// squeeze limits the memory to half of what is recommended, and after a while to what the replica uses, until it wants more. Half can be
// enough: the recommendation leaves room, and files that another program has read already do not count here.
func (s *short) squeeze(ctx context.Context) error {
	if err := s.lower(s.recommended / 2); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < shortFor; {
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
		seen, err := s.group.Seen()
		if err != nil {
			return err
		}
		if seen.Reached || seen.Killed > 0 || s.replica.alive() != nil || time.Since(began) < shortFor/3 {
			continue
		}
		used, err := s.group.Used()
		if err == nil && used > 0 {
			err = s.lower(used)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lower lowers the limit. Cgroups of version 1 refuse one that is less than what is used and cannot be freed.
func (s *short) lower(limit uint64) error {
	err := s.group.Limit(limit)
	if errors.Is(err, syscall.EBUSY) {
		return nil
	}
	if err == nil {
		s.limit = limit
	}
	return err
}

// endShort ends that replica, and notes what became of it.
func (st *stage) endShort(ctx context.Context) error {
	s := st.short
	if s == nil {
		return nil
	}
	var err error
	if s.replica != nil {
		var seen process.CgroupSeen
		if seen, err = s.group.Seen(); err == nil {
			st.record.Mark(MemoryLimit, s.became(seen, s.replica.alive()))
		}
		err = errors.Join(err, s.replica.kill(ctx))
	}
	return errors.Join(err, s.group.Remove(ctx))
}

// became says what became of the replica.
func (s *short) became(seen process.CgroupSeen, ended error) string {
	text := "with " + mebibytes(s.limit) + ", "
	switch {
	case s.limit == 0:
		text = "without a limit, as it used more than half of the recommended " + mebibytes(s.recommended) + " at once, "
	case s.limit == s.recommended/2:
		text += "half of what is recommended, "
	case s.limit < s.recommended/2:
		text = "half of the recommended " + mebibytes(s.recommended) + " was enough; " + text
	}
	switch {
	case seen.Killed > 0 && ended != nil:
		return text + "the kernel killed it"
	case seen.Killed > 0:
		return text + "the kernel killed one of its processes, but it kept running"
	case ended != nil:
		first, _, _ := strings.Cut(ended.Error(), "\n")
		return text + first
	case seen.Reached:
		return text + "it kept running, but the kernel had to free memory for it"
	case s.limit == 0:
		return text + "it kept running"
	default:
		return text + "it kept running, and never used that much"
	}
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
