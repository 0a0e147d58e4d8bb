package reporter

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

//go:embed requirements.html
var requirementTemplate string

// explainedVerdicts are those of the results whose requirements have pages in the folder: what somebody may have to act on. The others
// are explained by "crdconform explain".
func explainedVerdicts() []requirement.Verdict {
	return []requirement.Verdict{requirement.Failed, requirement.Tolerated, requirement.KnownFailing, requirement.Errored}
}

// plainID is an ID that every file system takes as a name, and that leads out of no folder.
var plainID = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}(\.[a-z0-9-]{1,63}){1,2}$`)

// requirementFile is the file in the folder that explains a requirement. It is empty for what is no ID, which reports from elsewhere may
// have.
func requirementFile(id requirement.ID) string {
	if !plainID.MatchString(string(id)) {
		return ""
	}
	return layout.Requirements + string(id) + ".html"
}

// requirementPage explains a requirement, and says what came of it.
type requirementPage struct {
	ID       requirement.ID
	Results  []reports.Result // with one of the verdicts that are explained
	Requests int              // that violated it under load

	of   requirement.Requirement
	file string
}

// requirementPages are the pages of a report, in the order in which the report has the requirements.
func requirementPages(r *reports.Report) []*requirementPage {
	var pages []*requirementPage
	of := func(one requirement.Requirement) *requirementPage {
		i := slices.IndexFunc(pages, func(p *requirementPage) bool { return p.ID == one.ID })
		if i < 0 {
			i, pages = len(pages), append(pages, &requirementPage{ID: one.ID, of: one, file: requirementFile(one.ID)})
		}
		return pages[i]
	}
	for _, result := range r.Results {
		if slices.Contains(explainedVerdicts(), result.Verdict) {
			page := of(result.Requirement)
			page.Results = append(page.Results, result)
		}
	}
	if r.Load != nil {
		for _, stage := range r.Load.Stages {
			for id, n := range stage.Violations {
				if known, found := requirement.Lookup(id); found {
					of(known).Requests += int(n) //nolint:gosec // requests were counted one by one
				}
			}
		}
	}
	return slices.DeleteFunc(pages, func(p *requirementPage) bool { return p.file == "" })
}

// explainedIn returns the paths of those pages, as long as the folder is beside the written form.
func explainedIn(r *reports.Report) map[requirement.ID]string {
	paths := map[requirement.ID]string{}
	if !r.Apart {
		for _, page := range requirementPages(r) {
			paths[page.ID] = page.file
		}
	}
	return paths
}

// Explanation is what "crdconform explain" says, with the specs and the command of this run.
func (p *requirementPage) Explanation() template.HTML {
	var specs []explanation.Named
	for _, result := range p.Results {
		if spec := (explanation.Named{Name: result.Spec, Summary: result.Location}); spec.Name != "" && !slices.Contains(specs, spec) {
			specs = append(specs, spec)
		}
	}
	e := explanation.Of(p.of, specs)
	if len(p.Results) > 0 && p.Results[0].Rerun != "" {
		e.Run = p.Results[0].Rerun
	}
	return template.HTML(e.HTML()) //nolint:gosec // all of it is escaped
}

// HTML writes the page. It loads nothing, and has no script.
func (p *requirementPage) HTML(w io.Writer) error {
	t, err := template.New("requirement").Funcs(pageFunctions()).Parse(requirementTemplate + style)
	if err != nil {
		return fmt.Errorf("page of %s: %w", p.ID, err)
	}
	return writePage(w, t, p)
}

// KnownFlaky begins the reason of the verdict on a requirement that is known to pass in some runs and to fail in others.
const KnownFlaky = "known to be flaky, and "

// flakyPass reports whether a requirement passed that is known to be flaky.
func flakyPass(r reports.Result) bool {
	return r.Verdict == requirement.Passed && strings.HasPrefix(r.Reason, KnownFlaky)
}
