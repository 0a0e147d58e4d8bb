// Package lint judges CustomResourceDefinitions by their files alone: without a cluster and without a webhook. It finds
// what API servers refuse, and what they accept and users suffer from later, such as fields that the None strategy loses.
package lint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// File is a file with definitions, as YAML or JSON.
type File struct {
	Name string // as findings are to show it
	Data []byte

	Kustomization *Kustomization // beside or above the file, nil if there is none
	InChart       bool           // in the folder crds of a chart, which Helm installs and never updates
}

// Level says how much a finding weighs.
type Level string

// The levels. An Error is refused by API servers, breaks conversion or loses data; a Warning is likely to hurt; a Note is
// worth knowing.
const (
	Error   Level = "error"
	Warning Level = "warning"
	Note    Level = "note"
)

// Diagnostic is something in a definition that will hurt, with where it is.
type Diagnostic struct {
	Rule       RuleID `json:"rule"`
	Level      Level  `json:"level"`
	File       string `json:"file"`       // the name of the file, as it was given
	Line       int    `json:"line"`       // from 1
	Column     int    `json:"column"`     // from 1
	Definition string `json:"definition"` // its name, such as widgets.example.com
	Path       string `json:"path"`       // of the field, such as spec.versions[1].deprecated
	Message    string `json:"message"`    // what is there, and what to do

	field string // of objects, where the definition says at the path which field it is
}

// mostNames is how many names a finding lists.
const mostNames = 5

// Options change what is checked. The zero value is fine.
type Options struct {
	Now      time.Time // when certificates must be valid; the present time when zero
	Old      []File    // the definitions that the files are to replace, for the rules about upgrades
	Partial  bool      // no old definition needs to be like a new one
	Whole    []File    // all files that take the place of the old ones, so that what these lack is gone; nil if there may be more
	Disabled []RuleID  // rules whose findings are left out

	Exceptions []Exception // to the levels of rules
}

// Report is what Check found.
type Report struct {
	Definitions int          // how many were judged
	Findings    []Diagnostic // by file, line and column
	Unused      []int        // exceptions that fit nothing in their definition, although it was judged
}

// Count returns how many findings have a level.
func (r *Report) Count(level Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Check judges every definition in the files. Documents of other kinds are passed over. It fails when a file is not YAML
// or JSON, when a definition cannot be decoded or has an API version other than apiextensions.k8s.io/v1, when there is no
// definition at all, when no old definition has the name, the group or the kind of a new one, and for rules that do not exist.
func Check(ctx context.Context, files []File, options Options) (*Report, error) {
	rules := slices.Clone(options.Disabled)
	for _, one := range options.Exceptions {
		rules = append(rules, one.Rule)
	}
	if err := known(rules); err != nil {
		return nil, err
	}
	if options.Now.IsZero() {
		options.Now = time.Now()
	}
	var definitions []*definition
	var err error
	if len(files) > 0 || len(options.Whole) == 0 {
		if definitions, err = readAll(files); err != nil {
			return nil, err
		}
	}
	old, err := readOld(options, definitions)
	if err != nil {
		return nil, err
	}
	report := &Report{Definitions: len(definitions)}
	exceptions := &exceptions{all: options.Exceptions, used: make([]bool, len(options.Exceptions))}
	var checkers []*checker
	for _, d := range definitions {
		c := &checker{definition: d, old: old[d.crd.Name], now: options.Now, exceptions: exceptions}
		if d.inChart && len(options.Old) > 0 {
			c.checkChart()
		}
		c.run(ctx)
		checkers = append(checkers, c)
	}
	gone, err := checkGone(old, checkers, options)
	if err != nil {
		return nil, err
	}
	for _, d := range gone {
		c := &checker{definition: d, now: options.Now, exceptions: exceptions}
		c.found(VersionRemovedStored, field.NewPath("metadata", "name"), "the definition is gone: Helm deletes a template that is gone with all its objects, GitOps tools do if they prune, and what stays is converted by nobody; "+
			"keep it until no cluster has objects of it")
		report.Findings = append(report.Findings, c.judged()...)
	}
	checkNamesOf(checkers)
	for _, c := range checkers {
		report.Findings = append(report.Findings, c.judged()...)
	}
	report.Unused = exceptions.unused(definitions, len(options.Old) > 0)
	report.Findings = slices.DeleteFunc(report.Findings, func(f Diagnostic) bool { return slices.Contains(options.Disabled, f.Rule) })
	slices.SortStableFunc(report.Findings, byPlace)
	report.Findings = slices.Compact(report.Findings)
	return report, nil
}

// known fails for rules that do not exist.
func known(ids []RuleID) error {
	var errs []error
	for _, id := range ids {
		if _, found := Lookup(id); !found {
			errs = append(errs, fmt.Errorf("%s: %s", id, Meant(string(id))))
		}
	}
	return errors.Join(errs...)
}

// Meant says that there is no rule of a name, and which rules share a word with it.
func Meant(name string) string {
	const text = "unknown rule"
	var similar []string
	words := strings.Split(name, "-")
	for _, rule := range Rules() {
		shares := func(word string) bool { return len(word) > 2 && strings.Contains(string(rule.ID), word) }
		if slices.ContainsFunc(words, shares) {
			similar = append(similar, string(rule.ID))
		}
	}
	if len(similar) == 0 {
		return text + "; \"crdconform lint --rules\" lists all rules"
	}
	return text + "; did you mean " + strings.Join(similar[:min(len(similar), 5)], ", ") + "?"
}

// checker judges one definition.
type checker struct {
	*definition
	old      *definition // nil when there is none
	now      time.Time
	findings []Diagnostic

	exceptions *exceptions
}

// run applies every rule. What API servers refuse comes last, so that it can leave out what was found already.
func (c *checker) run(ctx context.Context) {
	for _, rules := range []func(){
		c.checkBuilt, c.checkFields, c.checkIdentity, c.checkVersions, c.checkDeprecation, c.checkConversion, c.checkCABundle,
		c.checkSchemas, c.checkMetadata, c.checkVersionPairs, c.checkSubresources, c.checkColumns,
		c.checkSize, c.checkKubernetes, c.checkNames, c.checkOmitted, c.checkRelease, c.checkUpgrade, c.checkOldDefinition, c.checkOldSchemas,
	} {
		rules()
	}
	c.checkUpstream(ctx)
}

// found notes a finding at the level of its rule.
func (c *checker) found(id RuleID, path *field.Path, format string, arguments ...any) {
	rule, _ := Lookup(id)
	c.foundAs(rule.Level, id, path, format, arguments...)
}

// foundAs notes a finding at a level of its own.
func (c *checker) foundAs(level Level, id RuleID, path *field.Path, format string, arguments ...any) {
	at := c.place(path.String())
	c.findings = append(c.findings, Diagnostic{
		Rule: id, Level: level, File: at.file, Line: at.line, Column: at.column,
		Definition: c.crd.Name, Path: path.String(), Message: fmt.Sprintf(format, arguments...),
	})
}

// foundAt is found for a path of the definition with the JSONPath of a field.
func (c *checker) foundAt(jsonPath string, id RuleID, path *field.Path, format string, arguments ...any) {
	c.found(id, path, format, arguments...)
	c.findings[len(c.findings)-1].field = strings.TrimPrefix(jsonPath, ".")
}

// has reports whether a rule found something already.
func (c *checker) has(id RuleID) bool {
	return slices.ContainsFunc(c.findings, func(f Diagnostic) bool { return f.Rule == id })
}
