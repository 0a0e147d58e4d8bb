package config

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/disruption/objective"
)

func someScenarios() []string {
	return []string{"disruption.restart.graceful", "disruption.restart.killed", "disruption.replicas.rollout", "disruption.network.reset"}
}

func TestParsedObjectives(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":                          {},
		"restart.graceful.failed=0": {"graceful": "failed=0"},
		"restart.recovery=5s":       {"graceful": "recovery=5s", "killed": "recovery=5s"},
		"recovery=1m30s failed=3":   {"graceful": "recovery=1m30s, failed=3", "killed": "recovery=1m30s, failed=3", "rollout": "recovery=1m30s, failed=3", "reset": "recovery=1m30s, failed=3"},
		"disruption.lost=0":         {"graceful": "lost=0", "killed": "lost=0", "rollout": "lost=0", "reset": "lost=0"},
		"lost=2 restart.killed.lost=0 disruption.network.reset.wrong=1": {
			"graceful": "lost=2", "killed": "lost=0", "rollout": "lost=2", "reset": "lost=2, wrong=1",
		},
		"failed=0 failed=9":             {"graceful": "failed=9", "killed": "failed=9", "rollout": "failed=9", "reset": "failed=9"},
		"disruption.restart.recovery=0": {"graceful": "recovery=0s", "killed": "recovery=0s"},
		"rolling":                       {"rollout": "failed=0, lost=0, wrong=0"},
		"single rolling restart.killed.recovery=30s": {
			"graceful": "recovery=10s, lost=0, wrong=0", "killed": "recovery=30s, lost=0, wrong=0", "rollout": "failed=0, lost=0, wrong=0",
		},
	} {
		set, err := objective.Parse(strings.Fields(text), someScenarios())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, scenario := range someScenarios() {
			short := scenario[strings.LastIndexByte(scenario, '.')+1:]
			got := set.For(scenario)
			if got.String() != want[short] || got.Empty() != (want[short] == "") {
				t.Errorf("%q: %s: got %q, want %q", text, scenario, got, want[short])
			}
		}
	}
}

func TestBadObjectives(t *testing.T) {
	for text, want := range map[string]string{
		"":                          `unknown objective "" (want rolling, single, or SCENARIO.FIGURE=LIMIT such as restart.graceful.recovery=5s)`,
		"rollin":                    `unknown objective "rollin" (want rolling`,
		"rolling=1":                 "the preset rolling has its own limits; write only rolling",
		"p99=5ms":                   `unknown figure "p99" in "p99=5ms" (want recovery, failed, lost or wrong)`,
		"restart.graceful":          `unknown figure "graceful" in "restart.graceful"`,
		"restart.graceful=5s":       `unknown figure "graceful" in "restart.graceful=5s"`,
		".failed=0":                 `".failed=0" names no scenario; write failed for all, or restart.failed for some`,
		"failed":                    `"failed" has no limit; write failed=0`,
		"recovery=":                 `"recovery=" has no limit; write recovery=5s`,
		"restart.recovery":          `"restart.recovery" has no limit; write restart.recovery=5s`,
		"restrat.failed=0":          `unknown scenario "restrat" in "restrat.failed=0"; "crdconform list --filter disruption" shows all`,
		"rest.failed=0":             `unknown scenario "rest"`,
		"storage.failed=0":          `unknown scenario "storage"`,
		"recovery=5":                `"recovery=5": 5 has no unit; write 5s or 5ms`,
		"recovery=soon":             `"recovery=soon": "soon" is not a duration; write it as 500ms, 5s or 1m30s`,
		"recovery=-5s":              `"recovery=-5s": -5s is negative; a duration is 0s or more`,
		"failed=-1":                 `"failed=-1": "-1" is not a number of 0 or more; write failed=0 to allow none`,
		"failed=0.5":                `"failed=0.5": "0.5" is not a number of 0 or more`,
		"failed=1%":                 `"1%" is not a number of 0 or more`,
		"lost=99999999999999999999": `is not a number of 0 or more`,
	} {
		_, err := objective.Parse([]string{"failed=0", text}, someScenarios())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
