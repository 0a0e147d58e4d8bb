package reporter

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// ConformanceKind is the kind of a ConformanceReport, whose format has the version of a Report.
const ConformanceKind = "ConformanceReport"

// ConformanceReport is a summary of a run for publication, for instance next to a project's releases: who was judged, by what, the
// result of each profile, what was skipped and why, and how to reproduce it. It follows the reports of Gateway API.
type ConformanceReport struct {
	APIVersion     string            `yaml:"apiVersion"`
	Kind           string            `yaml:"kind"`
	Date           time.Time         `yaml:"date"`                     // when the run began, in UTC
	Implementation *Implementation   `yaml:"implementation,omitempty"` // absent when nobody said what it is
	Target         ConformanceTarget `yaml:"target"`
	Outcome        reports.Outcome   `yaml:"outcome"`
	Summary        string            `yaml:"summary"`
	Profiles       []Profile         `yaml:"profiles"` // a chapter each, for each definition
	Reproduce      Reproduction      `yaml:"reproduce"`
}

// Implementation describes who was judged, as given by those who publish the report.
type Implementation struct {
	Organization string `yaml:"organization,omitempty"`
	Project      string `yaml:"project,omitempty"`
	URL          string `yaml:"url,omitempty"` // of the project
	Version      string `yaml:"version,omitempty"`
	Contact      string `yaml:"contact,omitempty"`
}

// ConformanceTarget is what was asked.
type ConformanceTarget struct {
	Kubernetes string   `yaml:"kubernetes,omitempty"` // version, such as v1.37.2
	Cluster    string   `yaml:"cluster,omitempty"`    // kind of cluster, such as embedded
	Webhook    string   `yaml:"webhook,omitempty"`    // URL
	Kinds      []string `yaml:"kinds,omitempty"`      // that the webhook was judged with, such as "Widget of example.com at v1, v2"
}

// Reproduction is how to get the same again.
type Reproduction struct {
	Tool    string `yaml:"crdconform"` // version
	Command string `yaml:"command"`
	Seed    int64  `yaml:"seed,omitempty"`
}

// Profile is the result of a chapter. Core has the MUST requirements, Extended the SHOULD and MAY ones.
type Profile struct {
	Name     string  `yaml:"name"`
	Subject  string  `yaml:"subject,omitempty"` // definition, see Result
	Core     *Status `yaml:"core,omitempty"`
	Extended *Status `yaml:"extended,omitempty"`
}

// Status is what some requirements came to.
type Status struct {
	Result     string      `yaml:"result"` // success, partial when something was not judged, unjudged, or failure
	Statistics Statistics  `yaml:"statistics"`
	Failed     []Exception `yaml:"failedRequirements,omitempty"`
	Known      []Exception `yaml:"knownFailingRequirements,omitempty"`
	Tolerated  []Exception `yaml:"toleratedRequirements,omitempty"`
	Unjudged   []Exception `yaml:"unjudgedRequirements,omitempty"`
	Skipped    []Exception `yaml:"skippedRequirements,omitempty"`
}

// Statistics counts requirements by what they came to.
type Statistics struct {
	Passed       int `yaml:"passed"`
	Tolerated    int `yaml:"tolerated"` // 0 where --strict counts them as failed
	KnownFailing int `yaml:"knownFailing"`
	Failed       int `yaml:"failed"`
	Unjudged     int `yaml:"unjudged"`
	Skipped      int `yaml:"skipped"`
}

// Exception is a requirement that did not pass.
type Exception struct {
	ID     requirement.ID `yaml:"id"`
	Reason string         `yaml:"reason"`
}

// ParseImplementation parses the flags about an implementation, whose keys are those of Implementation.
func ParseImplementation(given map[string]string) (*Implementation, error) {
	if len(given) == 0 {
		return nil, nil //nolint:nilnil // nobody said what it is
	}
	var i Implementation
	for key, value := range given {
		field, known := map[string]*string{
			"organization": &i.Organization, "project": &i.Project, "url": &i.URL, "version": &i.Version, "contact": &i.Contact,
		}[key]
		if !known {
			return nil, fmt.Errorf("unknown key %q (want organization, project, url, version or contact)", key)
		}
		*field = value
	}
	return &i, nil
}

// Conformance returns a summary of the report for publication. The implementation may be nil.
func Conformance(r *reports.Report, i *Implementation) *ConformanceReport {
	c := &ConformanceReport{
		APIVersion: reports.APIVersion, Kind: ConformanceKind, Date: r.Started.UTC().Truncate(time.Second), Implementation: i,
		Outcome: r.Outcome, Summary: visible.Text(Headline(r)), Profiles: []Profile{},
		Reproduce: Reproduction{visible.Text(r.Tool), visible.Text(r.Command), r.Seed},
	}
	if r.Cluster != nil {
		c.Target.Kubernetes, c.Target.Cluster = visible.Text(r.Cluster.Version), visible.Text(r.Cluster.Name)
	}
	if r.Webhook != nil {
		c.Target.Webhook = visible.Text(r.Webhook.URL)
		for _, kind := range r.Webhook.Kinds {
			c.Target.Kinds = append(c.Target.Kinds, visible.Text(fmt.Sprintf("%s of %s at %s", kind.Kind, kind.Group, strings.Join(kind.Versions, ", "))))
		}
	}
	for _, chapter := range Chapters(r) {
		p := Profile{Name: chapter.Area, Subject: visible.Text(chapter.Subject)}
		for _, result := range chapter.Results {
			if result.Level == requirement.Must {
				p.Core = p.Core.with(r, result)
			} else {
				p.Extended = p.Extended.with(r, result)
			}
		}
		c.Profiles = append(c.Profiles, p)
	}
	return c
}

// with is a status with one result more.
func (s *Status) with(r *reports.Report, result reports.Result) *Status {
	if s == nil {
		s = &Status{Result: success}
	}
	results := []string{success, partial, unjudged, failure} // from good to bad
	worse := func(than string) {
		if slices.Index(results, than) > slices.Index(results, s.Result) {
			s.Result = than
		}
	}
	e, n := Exception{ID: result.ID, Reason: visible.Cut(flat(result.Reason), 300)}, &s.Statistics
	switch {
	case r.Failing(result):
		n.Failed++
		s.Failed = append(s.Failed, e)
		worse(failure)
	case result.Verdict == requirement.KnownFailing:
		n.KnownFailing++
		s.Known = append(s.Known, e)
		worse(partial)
	case result.Verdict == requirement.Tolerated:
		n.Tolerated++
		s.Tolerated = append(s.Tolerated, e)
	case result.Verdict == requirement.NotApplicable:
		n.Skipped++
		s.Skipped = append(s.Skipped, e)
		if !result.Immaterial {
			worse(partial)
		}
	case result.Verdict == requirement.Passed:
		n.Passed++
	default:
		n.Unjudged++
		s.Unjudged = append(s.Unjudged, e)
		worse(unjudged)
	}
	return s
}

// What the requirements of a profile come to.
const (
	success  = "success"
	partial  = "partial"
	unjudged = "unjudged"
	failure  = "failure"
)

// YAML writes it.
func (c *ConformanceReport) YAML(w io.Writer) error {
	text, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
