package delivery

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestActionsArePinned wants what the repository runs of others to be pinned by digest, each action by one, with the version beside it, and
// no workflow to leave its token where the code that it checks finds it.
func TestActionsArePinned(t *testing.T) {
	t.Parallel()
	use := regexp.MustCompile(`(?m)^ *-? *uses: *(.*)$`)
	pinned := regexp.MustCompile(`^([a-z0-9-]+/[a-z0-9-]+)[a-z/-]*@([0-9a-f]{40}) # v\d+\.\d+\.\d+$`)
	digests := map[string]string{}
	for _, name := range append(workflows(t), "action.yml") {
		text := string(read(t, name))
		for _, found := range use.FindAllStringSubmatch(text, -1) {
			pin := pinned.FindStringSubmatch(found[1])
			if pin == nil {
				t.Errorf("%s uses %s", name, found[1])
				continue
			}
			if digests[pin[1]] == "" {
				digests[pin[1]] = pin[2]
			}
			if digests[pin[1]] != pin[2] {
				t.Errorf("%s has another %s than others", name, pin[1])
			}
		}
		if checkouts := strings.Count(text, "uses: actions/checkout@"); strings.Count(text, "persist-credentials: false") != checkouts {
			t.Errorf("%s keeps the token of one of %d checkouts", name, checkouts)
		}
	}
	if len(digests) < 8 {
		t.Errorf("%d actions were found", len(digests))
	}
}

// TestIssueForms wants the forms to have what GitHub requires of them, and to ask for what repeats a report.
func TestIssueForms(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"false-finding", "missed-bug"} {
		var form struct {
			Name, Description string
			Labels            []string
			Body              []struct {
				Type, ID   string
				Attributes struct{ Label, Description, Value, Render string }
				// Validations has no other key for texts.
				Validations struct{ Required bool }
			}
		}
		if err := yaml.UnmarshalWithOptions(read(t, filepath.Join(".github", "ISSUE_TEMPLATE", name+".yml")), &form, yaml.Strict()); err != nil {
			t.Fatal(err)
		}
		required := map[string]bool{}
		for _, part := range form.Body {
			a := part.Attributes
			if required[part.ID] = part.Validations.Required; part.Type == "markdown" && (a.Value == "" || part.ID != "") || part.Type != "markdown" && (a.Label == "" || part.ID == "") {
				t.Errorf("%s has the part %+v", name, part)
			}
		}
		if form.Name == "" || form.Description == "" || !required["definition"] || !required["version"] {
			t.Errorf("%s is %+v", name, form)
		}
	}
}
