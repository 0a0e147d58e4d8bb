package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/disruption/objective"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/resource"
	"github.com/crdconform/crdconform/suites/webhook"
)

// TestCatalogueAndSpecsAgree holds them together: an entry has exactly one spec, or is advice that a rule of lint checks, or
// names the command that checks it, or says why it is not tested.
func TestCatalogueAndSpecsAgree(t *testing.T) {
	specs := map[requirement.ID]int{}
	known := []string{"doctor", "upgrade", "disruption"} // these have commands of their own in place of specs
	for _, area := range chapters.All() {
		known = append(known, area.Name)
		for _, spec := range suites.Preview([]suites.Area{area}) {
			specs[spec.Requirement]++
			if spec.Requirement.Area() != area.Name {
				t.Errorf("%s has its spec in the area %s", spec.Requirement, area.Name)
			}
			if spec.Text == "" || !strings.HasPrefix(spec.Location, "suites/"+area.Name+"/") {
				t.Errorf("%s: the spec has no text or no place: %+v", spec.Requirement, spec)
			}
		}
	}
	linted := map[requirement.ID]bool{}
	for _, rule := range lint.Rules() {
		for _, id := range rule.Requirements {
			linted[id] = true
			if r, found := requirement.Lookup(id); !found || r.Binds != requirement.Author {
				t.Errorf("the rule %s checks %s, which is no advice to authors", rule.ID, id)
			}
		}
	}
	for _, r := range requirement.All() {
		if !slices.Contains(known, r.ID.Area()) {
			t.Errorf("%s is in no chapter", r.ID)
		}
		switch n := specs[r.ID]; {
		case n > 1:
			t.Errorf("%s has %d specs", r.ID, n)
		case n == 1 && r.Untested != "":
			t.Errorf("%s has a spec and says why it is not tested", r.ID)
		case n == 1 && linted[r.ID]:
			t.Errorf("%s has a spec and a rule of lint", r.ID)
		case linted[r.ID] && r.Untested != "":
			t.Errorf("%s has a rule of lint and says why it is not tested", r.ID)
		case (n == 1 || linted[r.ID]) && r.Command != "":
			t.Errorf("%s has a spec or a rule of lint, and is checked by crdconform %s", r.ID, r.Command)
		case n == 0 && !linted[r.ID] && r.Command == "" && r.Untested == "":
			t.Errorf("%s has no spec and does not say why", r.ID)
		}
		areas := []string{webhook.Area.Name, resource.Area.Name}
		if r.ID == requirement.ControlWebhookReplacedPod { // which takes a cluster that replaces pods
			areas = append(areas, control.Area.Name)
		}
		disrupts := strings.HasPrefix(string(r.ID), objective.Area) // which binds webhooks and servers
		if !disrupts && (r.Binds == requirement.Webhook) != slices.Contains(areas, r.ID.Area()) {
			t.Errorf("%s binds the %s and is in the area %s", r.ID, r.Binds, r.ID.Area())
		}
		delete(specs, r.ID)
	}
	for id := range specs {
		t.Errorf("the spec of %s is of no requirement of the catalogue", id)
	}
}
