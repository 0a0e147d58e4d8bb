package options

import "time"

// disruptOptions say what is done to a webhook, and what that may cost.
func disruptOptions() []Option {
	to := []string{disrupt}
	return []Option{
		{
			Key: "disrupt.scenarios", Flag: "scenario", Commands: to,
			Help: "run only these scenarios: IDs such as restart.graceful, or prefixes such as network; can be repeated",
		},
		{
			Key: "disrupt.oldProgram", Flag: "old-program", Commands: to,
			Help: "program that serves the webhook of the old release, quoted as in a shell, for rollouts from it",
		},
		{Key: "disrupt.oldImage", Commands: to},
		{
			Key: "disrupt.rate", Default: 600.0, Bounds: &Bounds{Min: 20, Max: 5000, Number: "%s requests a second", Zero: byDefault}, Flag: "rate", Commands: to,
			Help: "requests per second of all clients together; a scenario whose clients do not reach 90% of it is void",
		},
		{Key: "disrupt.objects", Default: 60, Bounds: counted(100_000, "objects", byDefault), Commands: to, Help: "objects to create"},
		{Key: "disrupt.quiet", Default: 1500 * time.Millisecond, Commands: to, Help: "how long the clients work without a failure before each fault"},
		{Key: "disrupt.recoveryLimit", Default: 30 * time.Second, Commands: to, Help: "how long recovery may take"},
		{Key: "disrupt.pickUpLimit", Default: 15 * time.Second, Commands: to, Help: "how long the webhook may take to serve a new certificate"},
		{
			Key: "disrupt.objectives", Flag: "objective", Commands: to, Whole: true,
			Help: "limit for scenarios: SCENARIO.FIGURE=LIMIT such as restart.graceful.recovery=5s, FIGURE=LIMIT for all scenarios, or a preset: rolling, single; figures are recovery, failed, lost and wrong; can be repeated",
		},
	}
}
