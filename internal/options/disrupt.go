package options

// disruptOptions say what is done to a webhook, and what that may cost.
func disruptOptions() []Option {
	to := []string{disrupt}
	return []Option{
		{
			Key: "disrupt.objectives", Flag: "objective", Commands: to, Whole: true,
			Help: "what scenarios may cost: SCENARIO.FIGURE=LIMIT such as restart.graceful.recovery=5s, FIGURE=LIMIT for all, rolling or single; figures are recovery, failed, lost and wrong; can be repeated",
		},
	}
}
