package disruption

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/subject/deployed"
)

// fakePods are pods of which each one that is deleted is replaced, unless Settle fails.
type fakePods struct {
	Pods

	grace   time.Duration
	deleted []types.UID
	former  []types.UID // that Settle was to do without
	settle  error
	rolled  []string // images, or "restart"
	scaled  int
	roll    error
	used    memory.Sample
	usage   error
	asked   int // what pods use
}

func (f *fakePods) Usage(context.Context) (memory.Sample, error) {
	f.asked++
	return f.used, f.usage
}

func (f *fakePods) Scale(_ context.Context, replicas int) error {
	f.scaled = replicas
	return nil
}

func (f *fakePods) RollOut(context.Context) error {
	f.rolled = append(f.rolled, "restart")
	return f.roll
}

func (f *fakePods) RollTo(_ context.Context, image deployed.Image) error {
	f.rolled = append(f.rolled, image.Reference)
	return f.roll
}

func (f *fakePods) Grace(context.Context) (time.Duration, error) { return f.grace, nil }

func (f *fakePods) Kill(context.Context, time.Duration) (string, types.UID, error) {
	id := types.UID(fmt.Sprint("pod-", len(f.deleted)))
	f.deleted = append(f.deleted, id)
	return string(id), id, nil
}

func (*fakePods) Stopping(context.Context, types.UID) error { return nil }

func (*fakePods) Gone(context.Context, string, types.UID) error { return nil }

func (f *fakePods) Settle(_ context.Context, former ...types.UID) error {
	f.former = former
	return f.settle
}

// TestScenariosForPods has each scenario say what is done to pods, or what they lack.
func TestScenariosForPods(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios() {
		changed := s.ForPods()
		switch {
		case (s.pods == "") == (s.programs == ""):
			t.Errorf("%s: done to pods: %q, needs: %q; want one of them", s.ID, s.pods, s.programs)
		case changed.Applies() && changed.Title != s.pods:
			t.Errorf("%s has the title %q", s.ID, changed.Title)
		case !changed.Applies() && !strings.Contains(changed.skipped, s.programs):
			t.Errorf("%s is skipped for %q", s.ID, changed.skipped)
		}
	}
}

// TestPodsReplaced waits for another pod in place of all that were deleted.
func TestPodsReplaced(t *testing.T) {
	t.Parallel()
	f := &fakePods{grace: time.Hour}
	p, signaled := &pods{Pods: f}, 0
	late, err := p.terminate(t.Context(), func() { signaled++ })
	if err = errors.Join(err, p.kill(t.Context()), p.start(t.Context())); err != nil || late != "" {
		t.Errorf("%q, %v", late, err)
	}
	if got := fmt.Sprint(f.former); got != "[pod-0 pod-1]" {
		t.Errorf("it waited for what replaces %s", got)
	}
	f.grace = 0
	if late, err = p.terminate(t.Context(), func() { signaled++ }); err != nil || !strings.Contains(late, "grace period of 0s") {
		t.Errorf("a pod that took all its time: %q, %v", late, err)
	}
	if signaled != 2 {
		t.Errorf("signaled %d times", signaled)
	}
}

// TestRolloutOfPods begins with the old build where there is one, and has every scenario begin with the build that it needs.
func TestRolloutOfPods(t *testing.T) {
	t.Parallel()
	builds := &Builds{Old: deployed.Image{Reference: "v1"}, New: deployed.Image{Reference: "v2"}, Advice: "; load it"}
	for name, test := range map[string]struct {
		builds      *Builds
		begins      build
		interrupted bool // before the rollout
		want        string
	}{
		"one build":                 {nil, oldBuild, false, "[restart]"},
		"two builds":                {builds, oldBuild, false, "[v1 v2]"},
		"two builds, interrupted":   {builds, oldBuild, true, "[v1]"},
		"a scenario of the new one": {builds, newBuild, false, "[v2 restart]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakePods{}
			p := &pods{Pods: f, builds: test.builds}
			err := p.set(t.Context(), &Scenario{replicas: 2, begins: test.begins})
			if !test.interrupted {
				err = errors.Join(err, p.rollOut(t.Context()))
			}
			if err = errors.Join(err, p.remove(t.Context())); err != nil || fmt.Sprint(f.rolled) != test.want || f.scaled != 2 {
				t.Errorf("rolled to %s, scaled to %d, %v; want %s", f.rolled, f.scaled, err, test.want)
			}
		})
	}
	f := &fakePods{roll: deployed.ErrNotReady}
	p := &pods{Pods: f, builds: builds}
	err := p.set(t.Context(), &Scenario{begins: oldBuild})
	if want := "the image v1 of the old build: " + deployed.ErrNotReady.Error() + "; load it"; !errors.Is(err, deployed.ErrNotReady) || err.Error() != want || errors.As(err, new(wrongError)) {
		t.Errorf("an old build that does not start: %v", err)
	}
	if err = p.rollOut(t.Context()); !errors.As(err, new(wrongError)) {
		t.Errorf("a new build that does not start: %v", err)
	}
	if err = p.remove(t.Context()); err != nil || fmt.Sprint(f.rolled) != "[v1 v2]" {
		t.Errorf("rolled to %s, %v", f.rolled, err)
	}
}

// TestPodsBlamed blames the webhook for pods that do not come back, and for nothing else.
func TestPodsBlamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"not ready":     {fmt.Errorf("%w: it crashes", deployed.ErrNotReady), "no other pod took its place: " + deployed.ErrNotReady.Error() + ": it crashes"},
		"no API server": {errors.New("connection refused"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &stage{record: record.New(record.Header{}), hook: &pods{Pods: &fakePods{settle: test.err}}}
			err := st.started(t.Context())
			found := Violations(st.record.History())
			if test.want == "" {
				if !errors.Is(err, test.err) || len(found) > 0 {
					t.Errorf("got %v, found %q", err, found)
				}
				return
			}
			if err != nil || len(found) != 1 || found[0] != test.want {
				t.Errorf("got %v, found %q", err, found)
			}
		})
	}
}

// TestUsageOfPods asks every two seconds, takes each figure once, and never asks again where that is forbidden.
func TestUsageOfPods(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes/proxy"}, "node", errors.New("no right"))
	for _, test := range []struct {
		name  string
		used  memory.Sample
		err   error
		known int // how often, of three times in a moment, and two later, the second of them with another figure
		asked int
	}{
		{"known", memory.Sample{Resident: 5, Processes: 1}, nil, 2, 3},
		{"not looked at yet", memory.Sample{}, nil, 0, 3},
		{"an error that may pass", memory.Sample{}, errors.New("no connection"), 0, 3},
		{"forbidden", memory.Sample{}, fmt.Errorf("asking: %w", forbidden), 0, 1},
	} {
		fake, count := &fakePods{used: test.used, usage: test.err}, 0
		p := &pods{Pods: fake}
		for i := range 5 {
			if i > 2 {
				p.asked = time.Now().Add(-usageEvery)
			}
			if i == 4 && fake.used.Processes > 0 {
				fake.used.Processor++
			}
			if used, known := p.usage(t.Context()); known {
				count++
				if used != fake.used {
					t.Errorf("%s: %+v", test.name, used)
				}
			}
		}
		if fake.asked != test.asked || count != test.known {
			t.Errorf("%s: asked %d times, known %d times", test.name, fake.asked, count)
		}
	}
}
