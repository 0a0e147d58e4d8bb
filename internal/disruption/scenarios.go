package disruption

import (
	"context"
	"time"

	"github.com/crdconform/crdconform/requirement"
)

// Area is the chapter of the requirements.
const Area = "disruption"

// Scenario is something that happens to a webhook, and the requirement that it is judged by.
type Scenario struct {
	ID    requirement.ID
	Title string // what is done
	Hold  time.Duration

	replicas int // 1 if 0
	begins   build
	path     path
	needsOld bool   // it says nothing without a program of the old release
	pods     string // what is done where the webhook runs as pods; empty if that can't be done
	programs string // what it needs, where the webhook must be a program
	skipped  string // why it does not apply
	issued   bool   // it replaces the certificate, which must be one of the run
	harmless bool   // no request may fail
	short    bool   // the webhook gets too little memory, so failures that it answers meanwhile do not count
	affects  bool   // requests at the storage version are affected by what is done, whatever the webhook does

	// do makes the fault happen, and marks its beginning. undo takes it back, also when do has failed or was interrupted.
	do   func(context.Context, *stage) error
	undo func(context.Context, *stage) error

	// after leaves the objects as they were, when the clients have stopped; nil if there is nothing to do.
	after func(context.Context, *stage) error
}

// harmlessly returns the scenario as one during which no request may fail.
func (s Scenario) harmlessly() Scenario {
	s.harmless = true
	return s
}

// build says which program a scenario begins with.
type build int

const (
	newBuild build = iota
	oldBuild       // the one of the old release, if there is one
)

// path is how connections get from the API server to the webhook.
type path int

const (
	direct path = iota
	balanced
	networked
)

// Scenarios returns all scenarios, in the order in which they happen.
func Scenarios() []Scenario {
	var all []Scenario
	for _, some := range [][]Scenario{processScenarios(), memoryScenarios(), replicaScenarios(), networkScenarios(), certificateScenarios(), serverScenarios()} {
		all = append(all, some...)
	}
	return all
}

// IDs returns the requirements of scenarios, in their order.
func IDs() []requirement.ID {
	var all []requirement.ID
	for _, s := range Scenarios() {
		all = append(all, s.ID)
	}
	return all
}

// ForPods is the scenario for a webhook that runs as pods.
func (s Scenario) ForPods() Scenario {
	if s.pods == "" {
		s.skipped = "it needs " + s.programs + ", so it is for a program beside the built-in API server"
		return s
	}
	s.Title = s.pods
	return s
}

// Applies reports whether the scenario can be run.
func (s Scenario) Applies() bool { return s.skipped == "" }

// What pods lack.
const (
	signals      = "a process that can be stopped by a signal"
	proxies      = "a network between API server and webhook that crdconform controls"
	builds       = "programs of two builds"
	memoryLimits = "a program whose memory crdconform can limit"
	renewals     = "a certificate that changes at a given moment"
	ownAPI       = "an API server of the run's own, with its etcd"
)

// processScenarios are about the process of the only replica.
func processScenarios() []Scenario {
	return []Scenario{
		{
			ID: requirement.DisruptionRestartGraceful, Title: "SIGTERM, and the program is started again when it has ended",
			pods: "the only pod is deleted with its grace period, and another one takes its place",
			do:   func(ctx context.Context, st *stage) error { return st.terminateGracefully(ctx) }, undo: restarted,
		},
		{
			ID: requirement.DisruptionRestartKilled, Title: "SIGKILL, and the program is started again", Hold: 500 * time.Millisecond,
			pods: "the only pod is deleted without a grace period, and another one takes its place",
			do: func(ctx context.Context, st *stage) error {
				st.begin("SIGKILL")
				return st.hook.kill(ctx)
			},
			undo: restarted,
		},
		paused(requirement.DisruptionPauseOneSecond, time.Second).harmlessly(),
		paused(requirement.DisruptionPauseFiveSeconds, 5*time.Second).harmlessly(),
		paused(requirement.DisruptionPauseBeyondTimeout, 35*time.Second),
	}
}

func restarted(ctx context.Context, st *stage) error {
	st.end("another one is started")
	return st.started(ctx)
}

// paused takes the processor away from the program.
func paused(id requirement.ID, hold time.Duration) Scenario {
	return Scenario{
		ID: id, Title: "SIGSTOP, and SIGCONT after " + hold.String(), Hold: hold, programs: signals,
		do: func(_ context.Context, st *stage) error {
			st.begin("SIGSTOP")
			st.replicas[0].pause()
			return nil
		},
		undo: func(_ context.Context, st *stage) error {
			st.replicas[0].resume()
			return nil
		},
	}
}

// endpointDelay is how long after SIGTERM a service still sends connections to a replica: that it ends is known to all nodes a moment
// later only.
const endpointDelay = 200 * time.Millisecond

// badFor is how long one of two replicas is bad.
const badFor = 1500 * time.Millisecond

// replicaScenarios are about replicas behind a service.
func replicaScenarios() []Scenario {
	return []Scenario{
		{
			ID: requirement.DisruptionReplicasRollout, Title: "two replicas are replaced one by one, from the old build to the new one if there is an old one",
			pods:     "both pods are replaced by their Deployment, from the old image to the new one if there is an old one, or else as by kubectl rollout restart",
			replicas: 2, path: balanced, begins: oldBuild, do: rolledOut,
		},
		{
			ID: requirement.DisruptionReplicasSingleRollout, Title: "the only replica is replaced, from the old build to the new one if there is an old one",
			pods:     "the only pod is replaced by its Deployment, from the old image to the new one if there is an old one, or else as by kubectl rollout restart",
			replicas: 1, path: balanced, begins: oldBuild, do: rolledOut,
		},
		{
			ID: requirement.DisruptionReplicasOneKilled, Title: "SIGKILL for the older of two replicas, which stays in the service for a while", Hold: badFor,
			pods:     "the older of two pods is deleted without a grace period, and another one takes its place",
			replicas: 2, path: balanced,
			do: func(ctx context.Context, st *stage) error {
				st.begin("SIGKILL for a replica")
				return st.hook.kill(ctx)
			},
			undo: func(ctx context.Context, st *stage) error { return st.blame(ctx, st.hook.replaced(ctx)) },
		},
		{
			ID: requirement.DisruptionReplicasOneHangs, Title: "SIGSTOP for the older of two replicas, which stays in the service for a while", Hold: badFor,
			programs: signals, replicas: 2, path: balanced,
			do: func(_ context.Context, st *stage) error {
				st.begin("SIGSTOP for a replica")
				st.replicas[0].pause()
				return nil
			},
			undo: func(_ context.Context, st *stage) error {
				st.replicas[0].resume()
				return nil
			},
		},
		{
			ID: requirement.DisruptionReplicasOneOld, Title: "one of two replicas is of the old build for a while", Hold: badFor,
			programs: builds, replicas: 1, path: balanced, needsOld: true,
			do: func(ctx context.Context, st *stage) error {
				st.begin("a replica of the old build starts, and joins")
				old, err := st.add(ctx, *st.OldProgram)
				if err != nil {
					return err
				}
				st.balancer.set(st.replicas[0].address, old.address)
				st.balancer.cut()
				return nil
			},
			undo: func(_ context.Context, st *stage) error {
				st.outOfService()
				st.balancer.cut()
				return nil
			},
		},
	}
}

func rolledOut(ctx context.Context, st *stage) error {
	st.begin("the rollout begins")
	return st.blame(ctx, st.hook.rollOut(ctx))
}

// outOfService takes all but the first replica out of the service.
func (p *programs) outOfService() { p.balancer.set(p.replicas[0].address) }
