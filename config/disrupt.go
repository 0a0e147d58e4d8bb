package config

import (
	"strings"

	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/requirement"
)

// Disrupt is what "crdconform disrupt" does to the webhook.
type Disrupt struct {
	// What scenarios may cost: SCENARIO.FIGURE=LIMIT, such as restart.graceful.recovery=5s or network.failed=0, or FIGURE=LIMIT for all of
	// them. Figures are recovery, failed, lost and wrong. A later entry takes the place of an earlier one. The preset rolling allows no
	// error in a rollout, and single 10s to recover after a restart. Without objectives, figures are reported, and only what is always
	// wrong fails.
	Objectives []string `json:"objectives"`
}

// disrupt checks the section disrupt.
func (k *checker) disrupt() {
	scenarios := disruptions()
	for i, text := range k.config.Disrupt.Objectives {
		_, err := objective.Parse([]string{text}, scenarios)
		k.unless(err == nil, options.Item("disrupt.objectives", i), "%v", err)
	}
}

// disruptions returns the IDs of all scenarios.
func disruptions() []string {
	var all []string
	for _, r := range requirement.All() {
		if strings.HasPrefix(string(r.ID), objective.Area) {
			all = append(all, string(r.ID))
		}
	}
	return all
}
