package reports

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// The elements of JUnit's XML. There are several schemas for it; these elements are the ones that both Ant's and Jenkins'
// have, with what either demands. Neither has room for the properties of a case, so they are properties of the suite, named
// after the case.
type (
	testsuites struct {
		XMLName xml.Name    `xml:"testsuites"`
		Suites  []testsuite `xml:"testsuite"`
	}
	testsuite struct {
		ID         int        `xml:"id,attr"`
		Package    string     `xml:"package,attr"`
		Name       string     `xml:"name,attr"`
		Timestamp  string     `xml:"timestamp,attr"` // without a zone, in UTC
		Hostname   string     `xml:"hostname,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Skipped    int        `xml:"skipped,attr"`
		Time       string     `xml:"time,attr"` // in seconds
		Properties []property `xml:"properties>property"`
		Cases      []testcase `xml:"testcase"`
		SystemOut  string     `xml:"system-out"`
		SystemErr  string     `xml:"system-err"`
	}
	testcase struct {
		Name      string   `xml:"name,attr"`
		Classname string   `xml:"classname,attr"`
		Time      string   `xml:"time,attr"` // in seconds
		Skipped   *problem `xml:"skipped"`
		Error     *problem `xml:"error"`
		Failure   *problem `xml:"failure"`
	}
	property struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	problem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"` // not of Skipped, where Ant has none
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as JUnit XML: a suite for each chapter, a case for each requirement.
func (r *Report) JUnit(w io.Writer) error {
	var all testsuites
	for _, suite := range r.suites() {
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
		suite.ID, suite.Package, suite.Hostname = len(all.Suites), "crdconform", "localhost"
		suite.Timestamp = r.Started.UTC().Format("2006-01-02T15:04:05")
		suite.Properties = append(r.properties(), suite.Properties...)
		all.Suites = append(all.Suites, suite)
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

// properties are those of every suite.
func (r *Report) properties() []property {
	properties := []property{{"crdconform", r.Tool}, {"seed", strconv.FormatInt(r.Seed, 10)}}
	if r.Cluster != nil {
		properties = append(properties, property{"cluster", r.Cluster.Name}, property{"kubernetes", r.Cluster.Version})
	}
	return properties
}

func (r *Report) suites() []testsuite {
	var suites []testsuite
	for _, chapter := range r.Chapters() {
		suite := testsuite{Name: chapter.Name}
		total := 0.0
		for _, result := range chapter.Results {
			suite.Cases = append(suite.Cases, r.testcase(result))
			suite.Properties = append(suite.Properties,
				property{string(result.ID) + ".requirement", result.Statement},
				property{string(result.ID) + ".level", string(result.Level)},
				property{string(result.ID) + ".source", sources(result)},
				property{string(result.ID) + ".verdict", result.Verdict.String()})
			if result.Verdict == requirement.Tolerated {
				suite.SystemOut += Visible(fmt.Sprintf("%s is tolerated: %s\n", result.ID, result.Reason))
			}
			total += result.Seconds
		}
		suite.Time = seconds(total)
		suites = append(suites, suite)
	}
	if r.Load != nil {
		suites = append(suites, r.loadSuite())
	}
	if r.Error != "" || r.Outcome == Interrupted || len(suites) == 0 {
		suites = append(suites, r.runSuite())
	}
	return suites
}

// runSuite says what kept the run from judging all that it was to, so that nobody takes what there is for all of it.
func (r *Report) runSuite() testsuite {
	text := r.Error
	if text == "" {
		text = r.Headline()
	}
	return testsuite{Name: "run", Time: seconds(r.Seconds), Cases: []testcase{{
		Name: "could judge", Classname: "run", Time: seconds(r.Seconds),
		Error: &problem{Message: brief(text), Type: requirement.Errored.String(), Text: Visible(text)},
	}}}
}

func (r *Report) testcase(result Result) testcase {
	c := testcase{Name: string(result.ID), Classname: result.ID.Area(), Time: seconds(result.Seconds)}
	p := &problem{Message: brief(result.Reason), Type: result.Verdict.String(), Text: details(result)}
	switch {
	case r.Failing(result):
		c.Failure = p
	case result.Verdict == requirement.Errored || result.Verdict == requirement.Unknown:
		c.Error = p
	case result.Verdict == requirement.NotApplicable || result.Verdict == requirement.KnownFailing:
		p.Type = ""
		c.Skipped = p
	}
	return c
}

func (r *Report) loadSuite() testsuite {
	l := r.Load
	c := testcase{Name: "load.responses", Classname: "load", Time: seconds(l.Seconds)}
	switch {
	case l.VoidReason != "":
		c.Error = &problem{Message: l.VoidReason, Type: requirement.Errored.String()}
	case l.Failed > 0:
		c.Failure = &problem{Message: fmt.Sprintf("%d of %d requests failed", l.Failed, l.Requests), Type: requirement.Failed.String(), Text: Visible(strings.Join(l.FirstFindings, "\n"))}
	}
	return testsuite{Name: "load", Time: seconds(l.Seconds), Cases: []testcase{c}, Properties: []property{
		{"load.responses.requirement", "Every response is one that API servers accept."},
		{"load.requests", strconv.FormatUint(l.Requests, 10)},
		{"load.objects", strconv.FormatUint(l.Objects, 10)},
		{"load.rate", strconv.FormatFloat(l.Rate, 'f', -1, 64)},
		{"load.p50", milliseconds(l.Response.P50)},
		{"load.p99", milliseconds(l.Response.P99)},
		{"load.max", milliseconds(l.Response.Max)},
	}}
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
	return Visible(strings.Join(parts, "\n"))
}

func sources(result Result) string {
	texts := make([]string, 0, len(result.Source))
	for _, s := range result.Source {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, "; ")
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

func milliseconds(m float64) string { return strconv.FormatFloat(m, 'f', 3, 64) + " ms" }
