// Package requirement is the catalogue of what crdconform checks. It has one entry for each statement in the documents that binds an
// API server or a conversion webhook, with the level, the source, and the Kubernetes minor versions for which the statement holds.
package requirement

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed catalogue.yaml
var catalogueYAML []byte

// ID names a requirement: area.topic.rule, in lower case with dashes. The meaning of an ID never changes.
type ID string

// Area returns the first part of the ID: the chapter that the requirement belongs to.
func (id ID) Area() string {
	area, _, _ := strings.Cut(string(id), ".")
	return area
}

// Matches reports whether the ID matches a pattern: the ID itself, a beginning of it that ends before a dot, or a pattern in which
// each asterisk stands for any characters. It fails if the pattern is malformed.
func (id ID) Matches(pattern string) (bool, error) {
	if strings.ContainsAny(pattern, `*?[\`) {
		like, err := path.Match(pattern, string(id))
		if err != nil {
			return false, errors.New("malformed pattern; use * for any characters")
		}
		return like, nil
	}
	return string(id) == pattern || strings.HasPrefix(string(id), pattern+"."), nil
}

// Level says how strictly a requirement binds, in the words of RFC 2119.
type Level string

// The levels.
const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Party says whom a requirement binds.
type Party string

// The parties. A requirement that binds an author is advice: no server and no webhook can follow or break it, so at most a rule of
// lint checks it.
const (
	Server  Party = "server"
	Webhook Party = "webhook"
	Author  Party = "author"
)

// Requirement is one entry of the catalogue.
type Requirement struct {
	ID        ID       `json:"id"`
	Rows      []string `json:"rows"`               // rows in the survey of the documents that it comes from
	Level     Level    `json:"level"`              // MUST, SHOULD or MAY
	Binds     Party    `json:"binds"`              // server, webhook or author
	Statement string   `json:"statement"`          // what must hold
	Why       string   `json:"why,omitempty"`      // what a violation means for users of the API server; for requirements that bind webhooks
	Severity  Verdict  `json:"severity,omitzero"`  // Failed or Tolerated; Failed when absent
	Because   string   `json:"because,omitempty"`  // why it is Tolerated
	Parts     []Part   `json:"parts,omitempty"`    // violations with another severity
	Source    []Source `json:"source"`             // where it is stated; at least one
	Since     Minor    `json:"since,omitzero"`     // first Kubernetes minor that it holds for, 1.16 when absent
	Until     Minor    `json:"until,omitzero"`     // last Kubernetes minor that it holds for, open when absent
	Command   string   `json:"command,omitempty"`  // command that checks it, such as rehearse; empty for run, check and lint
	Untested  string   `json:"untested,omitempty"` // why nothing checks it
	Obsolete  bool     `json:"obsolete,omitempty"` // the documentation no longer applies; Untested says what holds today
	Note      string   `json:"note,omitempty"`     // contradictions among documents, or between documents and servers
}

// HoldsFor reports whether the requirement holds for a Kubernetes minor.
func (r Requirement) HoldsFor(m Minor) bool {
	return !m.Less(r.Since) && (r.Until == Minor{} || !r.Until.Less(m))
}

// Part is a way to violate a requirement whose severity differs from that of other violations.
type Part struct {
	Name     PartName `json:"name"`
	Severity Verdict  `json:"severity"` // Failed or Tolerated
	Because  string   `json:"because"`  // why it differs
}

// PartName names a part, in lower case with dashes. Several requirements may use the same name. The empty name stands for violations
// that belong to no part.
type PartName string

// violation is a part of a requirement.
type violation struct {
	id   ID
	part PartName
}

// SeverityOf returns the severity of a violation of a requirement: Failed or Tolerated. A part that the requirement does not have is
// as severe as the requirement.
func SeverityOf(id ID, part PartName) Verdict {
	for _, asked := range []violation{{id, part}, {id, ""}} {
		if severity, found := severities[asked]; found {
			return severity
		}
	}
	return Failed
}

// Document is one of the texts that requirements come from.
type Document struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Pages    []Page    `json:"pages,omitempty"`    // where the current edition is online, in order; none for "server"
	Headings []Heading `json:"headings,omitempty"` // all headings, in order; none for "server"
}

// Page is a web page with a document, or with the part of it that begins at a line.
type Page struct {
	Line int    `json:"line"` // from 1
	URL  string `json:"url"`
}

// Heading is a heading of a document.
type Heading struct {
	Line  int    `json:"line"` // from 1
	Title string `json:"title"`
}

// Source is a place in a document. In YAML, it is "document:line heading", or "server" for anything that is in no document.
type Source struct {
	Document string
	Line     int // from 1; 0 when the document is "server"
	Section  string
}

// String returns the source as it is written in the catalogue.
func (s Source) String() string {
	if s.Line == 0 {
		return s.Document
	}
	return fmt.Sprintf("%s:%d %s", s.Document, s.Line, s.Section)
}

// URL returns the address of the heading in the current edition of the document. If the edition no longer has the heading, the
// address leads to the top of the page. It is empty if the source is in no document of the catalogue.
func (s Source) URL() string {
	documents := load().documents
	i := slices.IndexFunc(documents, func(d Document) bool { return d.ID == s.Document })
	if i < 0 {
		return ""
	}
	url := ""
	for _, page := range documents[i].Pages {
		if url == "" || page.Line <= s.Line {
			url = page.URL
		}
	}
	if heading := slug(s.Section); url != "" && heading != "" {
		url += "#" + heading
	}
	return url
}

// slug returns what kubernetes.io and GitHub call a heading in addresses: its words in lower case, joined by dashes.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// MarshalText returns the source as it is written in the catalogue.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (s *Source) UnmarshalText(text []byte) error {
	place, section, _ := strings.Cut(string(text), " ")
	document, line, found := strings.Cut(place, ":")
	*s = Source{Document: document, Section: section}
	if !found {
		if section != "" {
			return fmt.Errorf("source %q: want \"document:line heading\"", text)
		}
		return nil
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 1 || section == "" {
		return fmt.Errorf("source %q: want \"document:line heading\"", text)
	}
	s.Line = n
	return nil
}

// Minor is a minor version of Kubernetes, such as 1.37. The zero value stands for no version.
type Minor struct{ Major, Minor int }

// ParseMinor parses the first two numbers of a Kubernetes version such as 1.37, v1.37.2 or 1.37+.
func ParseMinor(s string) (Minor, error) {
	var m Minor
	parts := strings.SplitN(strings.TrimPrefix(s, "v"), ".", 3)
	if len(parts) < 2 {
		return m, fmt.Errorf("%q is not a Kubernetes version, want for example 1.37", s)
	}
	var err1, err2 error
	m.Major, err1 = strconv.Atoi(parts[0])
	m.Minor, err2 = strconv.Atoi(strings.TrimSuffix(parts[1], "+"))
	if err1 != nil || err2 != nil || m.Major < 1 || m.Minor < 0 {
		return Minor{}, fmt.Errorf("%q is not a Kubernetes version, want for example 1.37", s)
	}
	return m, nil
}

// Less reports whether m comes before other.
func (m Minor) Less(other Minor) bool {
	return m.Major < other.Major || m.Major == other.Major && m.Minor < other.Minor
}

// String returns the version in the form 1.37, or "" for the zero value.
func (m Minor) String() string {
	if m == (Minor{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", m.Major, m.Minor)
}

// MarshalText returns the version in the form 1.37.
func (m Minor) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (m *Minor) UnmarshalText(text []byte) error {
	parsed, err := ParseMinor(string(text))
	*m = parsed
	return err
}

type catalogue struct {
	documents    []Document
	requirements []Requirement
	stating      map[string][]ID // requirements by the hash of each sentence that states them
}

// load parses the embedded catalogue once. A catalogue that cannot be parsed is a defect of the build, which the tests of this
// package detect.
var load = sync.OnceValue(func() catalogue {
	var file struct {
		Documents    []Document `json:"documents"`
		Requirements []struct {
			Requirement
			Sentences []string `json:"sentences"` // their hashes
		} `json:"requirements"`
	}
	if err := yaml.UnmarshalStrict(catalogueYAML, &file); err != nil {
		panic(fmt.Sprintf("requirement: catalogue.yaml: %v", err))
	}
	c := catalogue{documents: file.Documents, stating: map[string][]ID{}}
	for _, entry := range file.Requirements {
		r := entry.Requirement
		if r.Since == (Minor{}) {
			r.Since = Minor{Major: 1, Minor: 16}
		}
		if r.Severity == Unknown {
			r.Severity = Failed
		}
		c.requirements = append(c.requirements, r)
		for _, hash := range entry.Sentences {
			c.stating[hash] = append(c.stating[hash], r.ID)
		}
	}
	return c
})

// All returns every requirement, in the order of the catalogue.
func All() []Requirement { return slices.Clone(load().requirements) }

// Documents returns the documents that requirements come from.
func Documents() []Document { return slices.Clone(load().documents) }

// Lookup returns the requirement with an ID, and whether there is one.
func Lookup(id ID) (Requirement, bool) {
	all := load().requirements
	i := slices.IndexFunc(all, func(r Requirement) bool { return r.ID == id })
	if i < 0 {
		return Requirement{}, false
	}
	return all[i], true
}
