package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/requirement"
)

// Disrupt configures how "crdconform disrupt" disrupts the webhook.
type Disrupt struct {
	// Limits on the effects of scenarios: SCENARIO.FIGURE=LIMIT, such as restart.graceful.recovery=5s or network.failed=0, or
	// FIGURE=LIMIT for all scenarios. Figures are recovery, failed, lost and wrong. A later entry replaces an earlier one. The preset
	// rolling allows no errors in a rollout; the preset single allows 10s to recover after a restart. Without objectives, figures are
	// only reported, and only effects that are always wrong fail.
	Objectives []string `json:"objectives"`
	// Scenarios to run: IDs such as restart.graceful, or beginnings of IDs such as network. All if empty.
	Scenarios []string `json:"scenarios"`
	// Command line of the program that serves the webhook of the old release, quoted as in a shell. {port}, {certs}, {host} and
	// {kubeconfig} stand for the same as in webhook.command, whose dir, path, env and readyTimeout apply here too.
	OldProgram string `json:"oldProgram"`
	// Image of the webhook of the old release, for rollouts of pods from it to webhook.inCluster.image, whose args, env, certs and
	// targetPort apply here too.
	OldImage string `json:"oldImage"`
	// Requests per second of all clients together.
	Rate float64 `json:"rate"`
	// Number of objects to create.
	Objects int `json:"objects"`
	// How long the clients work without a failure before each fault.
	Quiet Duration `json:"quiet"`
	// How long recovery may take.
	RecoveryLimit Duration `json:"recoveryLimit"`
	// How long the webhook may take to start serving a replaced certificate.
	PickUpLimit Duration `json:"pickUpLimit"`
}

// disrupt checks the section disrupt.
func (k *checker) disrupt() {
	d, scenarios := k.config.Disrupt, disruptions()
	for i, text := range d.Objectives {
		_, err := objective.Parse([]string{text}, scenarios)
		k.unless(err == nil, options.Item("disrupt.objectives", i), "%v", err)
	}
	for i, text := range d.Scenarios {
		k.unless(len(objective.Chosen([]string{text}, scenarios)) > 0, options.Item("disrupt.scenarios", i), "%s", unknownScenario(text, scenarios))
	}
	_, err := shell.Split(d.OldProgram)
	k.unless(err == nil, "disrupt.oldProgram", "%v; write it as in a shell", err)
	for key, limit := range map[string]Duration{"disrupt.quiet": d.Quiet, "disrupt.recoveryLimit": d.RecoveryLimit, "disrupt.pickUpLimit": d.PickUpLimit} {
		k.unless(limit.Duration == 0 || limit.Duration >= time.Second, key, "%s is too short to see anything; want 1s or more", limit.Duration)
	}
}

// unknownScenario returns a message that there is no such scenario, with a similar one if there is any.
func unknownScenario(text string, scenarios []string) string {
	var names []string
	for _, id := range scenarios {
		name := strings.TrimPrefix(id, objective.Area)
		beginning, _, _ := strings.Cut(name, ".")
		names = append(names, name, beginning)
	}
	if near := options.Nearest(strings.TrimPrefix(text, objective.Area), names); near != "" {
		return fmt.Sprintf("unknown scenario %q; did you mean %s?", text, near)
	}
	return fmt.Sprintf("unknown scenario %q; write an ID such as restart.graceful, or a beginning such as network; \"crdconform list --filter disruption\" shows all", text)
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
