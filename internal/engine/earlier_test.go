package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/requirement"
)

// earlierCronTabs is the text of an earlier definition of what the reference webhook converts.
func earlierCronTabs(t *testing.T) string {
	t.Helper()
	text, err := yaml.Marshal(fixtures.EarlierReference())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEarlierDefinitions checks webhooks with a definition of an earlier release, and without.
func TestEarlierDefinitions(t *testing.T) {
	t.Parallel()
	const failure, kept = requirement.WebhookFailureEarlierSchemas, requirement.WebhookConversionEarlierSchemas
	old := put(t, earlierCronTabs(t))
	for name, test := range map[string]struct {
		fault string
		old   []string
		want  map[requirement.ID]requirement.Verdict
		note  string
	}{
		"none":            {"", []string{old}, map[requirement.ID]requirement.Verdict{failure: requirement.Passed, kept: requirement.Passed}, "crontabs.example.com: "},
		"not converted":   {"refuses-old-policy", []string{old}, map[requirement.ID]requirement.Verdict{failure: requirement.Failed, kept: requirement.Passed}, "objects were tried that earlier definitions allow and the current one would refuse, change or default differently"},
		"otherwise":       {"default-for-old-policy", []string{crontabs, old}, map[requirement.ID]requirement.Verdict{failure: requirement.Passed, kept: requirement.Failed}, ""},
		"no definition":   {"refuses-old-policy", nil, map[requirement.ID]requirement.Verdict{failure: requirement.NotApplicable, kept: requirement.NotApplicable}, ""},
		"no difference":   {"refuses-old-policy", []string{crontabs}, map[requirement.ID]requirement.Verdict{failure: requirement.NotApplicable, kept: requirement.NotApplicable}, ""},
		"among others":    {"", []string{put(t, earlierCronTabs(t)+"---\n"+strings.NewReplacer("CronTab", "Gadget", "crontab", "gadget").Replace(earlierCronTabs(t)))}, map[requirement.ID]requirement.Verdict{failure: requirement.Passed}, "that are not checked were left out: 1"},
		"in a cluster":    {"", []string{"context://staging"}, map[requirement.ID]requirement.Verdict{failure: requirement.NotApplicable}, "context://staging was left out"},
		"removed version": {"", []string{put(t, strings.Replace(earlierCronTabs(t), "- name: v1alpha1\n", "- name: v1alpha0\n", 1))}, map[requirement.ID]requirement.Verdict{failure: requirement.Passed}, "only earlier definitions have v1alpha0; API servers cannot decode objects that are stored there"},
	} {
		c := config.Config{CRDs: []string{crontabs}, Old: test.old, Filter: []string{string(failure), string(kept)}}
		handler := webhook.Handler()
		if test.fault != "" {
			handler = faulty(t, test.fault)
		}
		report := checked(t, Description{Config: c, Handler: handler})
		for _, r := range report.Results {
			if want, known := test.want[r.ID]; known && r.Verdict != want {
				t.Errorf("%s: %s is %s: %s", name, r.ID, r.Verdict, r.Reason)
			}
		}
		if notes := strings.Join(report.Notes, "\n"); len(report.Results) != 2 || report.Error != "" || !strings.Contains(notes, test.note) {
			t.Errorf("%s: %d results, the error %q, and the notes\n%s", name, len(report.Results), report.Error, notes)
		}
	}
}

// TestEarlierDefinitionsThatCannotBeUsed wants one clear sentence.
func TestEarlierDefinitionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	old := earlierCronTabs(t)
	for name, test := range map[string]struct{ old, want string }{
		"missing":       {"missing.yaml", "old[0]: there is no file missing.yaml"},
		"others alone":  {put(t, strings.NewReplacer("CronTab", "Gadget", "crontab", "gadget").Replace(old)), "is one of those that are checked (crontabs.example.com)"},
		"another kind":  {put(t, strings.Replace(old, "kind: CronTab", "kind: Cron", 1)), "it was of kind Cron then, and is of kind CronTab now"},
		"not a schema":  {put(t, strings.ReplaceAll(old, "type: boolean", "type: bool")), "API servers would reject the schema"},
		"no definition": {put(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"), "old[0]: "},
		"no revision":   {"git://no-such-revision:config", "old[0]: git has no revision no-such-revision"},
	} {
		c := config.Config{CRDs: []string{crontabs}, Old: []string{test.old}}
		if _, err := (Description{Config: c, Handler: webhook.Handler()}).Prepare(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
	c := config.Config{Old: []string{crontabs}}
	if _, err := (Description{Config: c, Handler: webhook.Handler()}).Prepare(); err == nil || !strings.Contains(err.Error(), "old: there is no current definition to compare with; give crds") {
		t.Errorf("alone: got %v", err)
	}
}

// TestEarlierDefinitionsOfAFile reads a file that names them relative to its folder.
func TestEarlierDefinitionsOfAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	now, err := os.ReadFile(crontabs)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"now.yaml": string(now), "v1/old.yaml": earlierCronTabs(t),
		config.FileName: "apiVersion: crdconform.dev/v1alpha1\nkind: Config\ncrds: [now.yaml]\nold: [v1]\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := config.Read(filepath.Join(dir, config.FileName))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Description{Config: c, Handler: webhook.Handler()}.Prepare()
	if err != nil || len(plan.kinds) != 1 || len(plan.kinds[0].Earlier) != 1 || !slices.Contains(plan.kinds[0].Earlier[0].Versions(), "v1") {
		t.Errorf("got %v", err)
	}
}
