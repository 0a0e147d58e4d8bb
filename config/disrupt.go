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

// Disrupt is what "crdconform disrupt" does to the webhook.
type Disrupt struct {
	// What scenarios may cost: SCENARIO.FIGURE=LIMIT, such as restart.graceful.recovery=5s or network.failed=0, or FIGURE=LIMIT for all of
	// them. Figures are recovery, failed, lost and wrong. A later entry takes the place of an earlier one. The preset rolling allows no
	// error in a rollout, and single 10s to recover after a restart. Without objectives, figures are reported, and only what is always
	// wrong fails.
	Objectives []string `json:"objectives"`
	// Scenarios to run: IDs such as restart.graceful, or beginnings of IDs such as network. All when empty.
	Scenarios []string `json:"scenarios"`
	// Program that serves the webhook of the old release, as a command line: quoted as in a shell, with {port}, {certs}, {host} and
	// {kubeconfig} as in webhook.command, whose dir, path, env and readyTimeout hold for it too.
	OldProgram string `json:"oldProgram"`
	// Image of the webhook of the old release, for rollouts of pods from it to webhook.inCluster.image, whose args, env, certs and
	// targetPort hold for it too.
	OldImage string `json:"oldImage"`
	// Requests a second that all clients make together.
	Rate float64 `json:"rate"`
	// Objects to create.
	Objects int `json:"objects"`
	// How long the clients work without a failure before each fault.
	Quiet Duration `json:"quiet"`
	// How long recovery may take.
	RecoveryLimit Duration `json:"recoveryLimit"`
	// How long the webhook may take to serve a certificate that was replaced.
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

// unknownScenario says that there is no such scenario, and which may have been meant.
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
