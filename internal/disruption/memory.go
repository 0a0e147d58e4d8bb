package disruption

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/cgroup"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// shortFor is how long a replica with too little memory serves: for a third of that with half of what is recommended, and if that is
	// enough, with what it uses at that moment.
	shortFor = 3 * time.Second

	// shortReady is how long such a replica may take to start. It may never do.
	shortReady = 20 * time.Second
)

// short is a replica that has too little memory.
type short struct {
	group   *cgroup.Group
	limit   uint64   // of its memory, in bytes
	lowered uint64   // the limit in the end, if the first one was enough
	replica *replica // nil if it was not started
	refused error    // why it did not start
}

// memoryScenarios are about too little memory.
func memoryScenarios() []Scenario {
	return []Scenario{{
		ID: requirement.DisruptionMemoryLimit, Title: "a replica with half of the memory that is recommended serves alone for a while",
		programs: memoryLimits, replicas: 1, path: balanced, short: true,
		do: func(ctx context.Context, st *stage) error { return st.startShort(ctx) },
		undo: func(ctx context.Context, st *stage) error {
			st.outOfService()
			st.balancer.cut()
			return st.endShort(ctx)
		},
	}}
}

// limited says why no memory can be limited; "" if it can.
func limited(ctx context.Context) (string, error) {
	group, err := cgroup.New(ctx)
	if missing := (cgroup.UnavailableError{}); errors.As(err, &missing) {
		return "it needs a cgroup with a memory limit, which can't be made: " + missing.Reason, nil
	}
	if err != nil {
		return "", err
	}
	return "", group.Remove(ctx)
}

// startShort starts a replica with half of the memory that is recommended for what the first one used so far, and has it serve alone.
func (st *stage) startShort(ctx context.Context) error {
	most := uint64(0)
	for _, s := range st.record.History().Samples {
		most = max(most, s.Resident)
	}
	if most == 0 {
		return errors.New("how much memory the webhook uses is not known")
	}
	group, err := cgroup.New(ctx)
	if err != nil {
		return err
	}
	st.short = &short{group: group, limit: memory.Recommended(most) / 2}
	if err = group.Limit(st.short.limit); err != nil {
		return err
	}
	command := st.Program
	command.Args, command.ReadyTimeout = group.Command(command.Args...), shortReady
	started, err := st.add(ctx, command)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return err
	default:
		st.short.refused = err
		st.begin("a replica with %s of memory does not start", mebibytes(st.short.limit))
		return nil
	}
	st.short.replica = started
	st.begin("a replica with %s of memory takes over", mebibytes(st.short.limit))
	st.balancer.set(started.address)
	st.balancer.cut()
	return st.short.squeeze(ctx)
}

// squeeze lowers the limit to what the replica uses until it is reached, as half of what is recommended may be enough: it leaves room, and programs share files.
func (s *short) squeeze(ctx context.Context) error {
	began := time.Now()
	for time.Since(began) < shortFor {
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
		seen, err := s.group.Seen()
		if err != nil {
			return err
		}
		if seen.Reached || s.replica.alive() != nil || time.Since(began) < shortFor/3 {
			continue
		}
		used, err := s.group.Used()
		if err == nil {
			err = s.group.Limit(used)
		}
		if errors.Is(err, syscall.EBUSY) {
			continue // it uses more already, and version 1 refuses that
		}
		if err != nil {
			return err
		}
		s.lowered = used
	}
	return nil
}

// endShort ends that replica, and notes what became of it.
func (st *stage) endShort(ctx context.Context) error {
	s := st.short
	if s == nil {
		return nil
	}
	seen, err := s.group.Seen()
	if err == nil {
		st.record.Mark(MemoryLimit, s.became(seen))
	}
	if s.replica != nil {
		err = errors.Join(err, s.replica.kill(ctx))
	}
	return errors.Join(err, s.group.Remove(ctx))
}

// became says what became of the replica.
func (s *short) became(seen cgroup.Seen) string {
	var ended error
	if s.replica != nil {
		ended = s.replica.alive()
	}
	return s.sentence(seen, ended)
}

func (s *short) sentence(seen cgroup.Seen, ended error) string {
	text := "with " + mebibytes(s.limit) + ", half of what is recommended, "
	if s.lowered > 0 {
		text += "it needed no more; with " + mebibytes(s.lowered) + ", "
	}
	switch {
	case seen.Killed > 0:
		return text + "the kernel killed it"
	case s.refused != nil:
		return fmt.Sprintf("%sit does not start: %v", text, s.refused)
	case s.replica == nil:
		return text + "it was not started"
	case ended != nil:
		return text + ended.Error()
	case seen.Reached:
		return text + "it went on, and the kernel had to make room for it"
	default:
		return text + "it went on, and needed no more"
	}
}

func mebibytes(n uint64) string { return fmt.Sprintf("%d MiB", n>>20) }
