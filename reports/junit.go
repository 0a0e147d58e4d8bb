package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/requirement"
)

// The elements of JUnit's XML that GitHub, GitLab and Jenkins read.
type (
	testsuites struct {
		XMLName  xml.Name    `xml:"testsuites"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Suites   []testsuite `xml:"testsuite"`
	}
	testsuite struct {
		Name       string     `xml:"name,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Skipped    int        `xml:"skipped,attr"`
		Time       string     `xml:"time,attr"`
		Timestamp  string     `xml:"timestamp,attr"`
		Properties []property `xml:"properties>property,omitempty"`
		Cases      []testcase `xml:"testcase"`
	}
	testcase struct {
		Name       string     `xml:"name,attr"`
		Classname  string     `xml:"classname,attr"`
		Time       string     `xml:"time,attr"`
		Properties []property `xml:"properties>property,omitempty"`
		Skipped    *problem   `xml:"skipped,omitempty"`
		Error      *problem   `xml:"error,omitempty"`
		Failure    *problem   `xml:"failure,omitempty"`
		SystemOut  string     `xml:"system-out,omitempty"`
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit XML: a suite for each chapter, a case for each requirement.
func (r *Report) JUnit(w io.Writer) error {
	all := testsuites{Name: "crdconform", Time: seconds(r.Seconds)}
	add := func(suite testsuite) {
		for _, c := range suite.Cases {
			suite.Tests++
			switch {
			case c.Failure != nil:
				suite.Failures++
			case c.Error != nil:
				suite.Errors++
			case c.Skipped != nil:
				suite.Skipped++
			}
		}
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
		all.Skipped += suite.Skipped
		suite.Timestamp = r.Started.UTC().Format(time.RFC3339)
		suite.Properties = []property{{"seed", strconv.FormatInt(r.Seed, 10)}, {"crdconform", r.Tool}}
		if r.Cluster != nil {
			suite.Properties = append(suite.Properties, property{"kubernetes", r.Cluster.Version}, property{"cluster", r.Cluster.Name})
		}
		all.Suites = append(all.Suites, suite)
	}
	for _, chapter := range r.Chapters() {
		suite := testsuite{Name: chapter.Name}
		total := 0.0
		for _, result := range chapter.Results {
			suite.Cases = append(suite.Cases, r.testcase(result))
			total += result.Seconds
		}
		suite.Time = seconds(total)
		add(suite)
	}
	if r.Load != nil {
		add(testsuite{Name: "load", Time: seconds(r.Load.Seconds), Cases: []testcase{r.loadCase()}})
	}
	if r.Error != "" {
		add(testsuite{Name: "run", Time: seconds(r.Seconds), Cases: []testcase{{
			Name: "could judge", Classname: "run", Time: seconds(r.Seconds), Error: &problem{Message: firstLine(r.Error), Type: "Errored", Text: r.Error},
		}}})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Report) testcase(result Result) testcase {
	c := testcase{
		Name:      string(result.ID),
		Classname: result.ID.Area(),
		Time:      seconds(result.Seconds),
		Properties: []property{
			{"requirement", string(result.ID)},
			{"level", string(result.Level)},
			{"source", sources(result)},
			{"seed", strconv.FormatInt(r.Seed, 10)},
			{"statement", result.Statement},
			{"spec", result.Spec},
			{"verdict", result.Verdict.String()},
		},
	}
	p := &problem{Message: firstLine(result.Reason), Type: result.Verdict.String(), Text: details(result)}
	switch {
	case r.Failing(result):
		c.Failure = p
	case result.Verdict == requirement.Errored || result.Verdict == requirement.Unknown:
		c.Error = p
	case result.Verdict == requirement.NotApplicable || result.Verdict == requirement.KnownFailing:
		c.Skipped = p
	case result.Verdict == requirement.Tolerated:
		c.SystemOut = "Tolerated: " + result.Reason
	}
	return c
}

func (r *Report) loadCase() testcase {
	l := r.Load
	c := testcase{
		Name:      "every response is one that API servers accept",
		Classname: "load",
		Time:      seconds(l.Seconds),
		Properties: []property{
			{"requests", strconv.FormatUint(l.Requests, 10)},
			{"objects", strconv.FormatUint(l.Objects, 10)},
			{"rate", strconv.FormatFloat(l.Rate, 'f', -1, 64)},
			{"p50", milliseconds(l.Response.P50)},
			{"p99", milliseconds(l.Response.P99)},
			{"max", milliseconds(l.Response.Max)},
		},
	}
	switch {
	case l.Void:
		c.Error = &problem{Message: fmt.Sprintf("the generator was too busy: %d of %d requests were sent late", l.Late, l.Requests), Type: "Errored"}
	case l.Failed > 0:
		c.Failure = &problem{Message: fmt.Sprintf("%d of %d requests failed", l.Failed, l.Requests), Type: "Failed", Text: strings.Join(l.FirstFindings, "\n")}
	}
	return c
}

// details is all that a reader of a problem wants to know.
func details(result Result) string {
	parts := []string{result.Reason, "Requirement: " + result.Statement, "Source: " + sources(result), "Spec: " + result.Spec + " (" + result.Location + ")"}
	if result.Rerun != "" {
		parts = append(parts, "Run it again: "+result.Rerun)
	}
	if result.Curl != "" {
		parts = append(parts, "Send it again, in the report folder: "+result.Curl)
	}
	return strings.Join(parts, "\n")
}

func sources(result Result) string {
	texts := make([]string, 0, len(result.Source))
	for _, s := range result.Source {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, "; ")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

func milliseconds(m float64) string { return strconv.FormatFloat(m, 'f', 3, 64) + " ms" }
