package reporter

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// The elements of JUnit's XML. There are several schemas for it; these elements are the ones that both Ant's and Jenkins'
// have, with what either demands, and with the totals of all suites, which other readers show. Neither has room for the properties
// of a case, and those of a suite are about the run: what a requirement says is in report.json, and with its failure.
type (
	testsuites struct {
		XMLName  xml.Name    `xml:"testsuites"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"` // this and the following count those of all suites
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"` // of the whole run, in seconds
		Suites   []testsuite `xml:"testsuite"`
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

// JUnit writes the report as JUnit XML: a suite for each chapter, a case for each requirement; and a suite for what has
// changed, if that is known. Readers distinguish cases by their class and name, so the class is derived from the chapter's name.
func JUnit(r *reports.Report, w io.Writer) error {
	all := testsuites{Name: "crdconform", Time: seconds(r.Seconds)}
	for _, suite := range suitesOf(r) {
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
		suite.Properties = append(runProperties(r), suite.Properties...)
		suite.clean()
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+suite.Tests, all.Failures+suite.Failures, all.Errors+suite.Errors, all.Skipped+suite.Skipped
		all.Suites = append(all.Suites, suite)
	}
	var b strings.Builder
	encoder := xml.NewEncoder(&b)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, xml.Header+b.String()+"\n")
	return err
}

// clean makes all text of the suite visible. XML would escape control characters, which hides them from readers.
func (s *testsuite) clean() {
	texts := []*string{&s.Name, &s.SystemOut}
	for i := range s.Properties {
		texts = append(texts, &s.Properties[i].Name, &s.Properties[i].Value)
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		texts = append(texts, &c.Name, &c.Classname)
		for _, p := range []*problem{c.Skipped, c.Error, c.Failure} {
			if p != nil {
				texts = append(texts, &p.Message, &p.Text)
			}
		}
	}
	for _, text := range texts {
		*text = visible.Text(*text)
	}
}

// runProperties are those of every suite.
func runProperties(r *reports.Report) []property {
	properties := []property{{"crdconform", r.Tool}, {"seed", strconv.FormatInt(r.Seed, 10)}, {"outcome", string(r.Outcome)}}
	if r.Cluster != nil {
		properties = append(properties, property{"cluster", r.Cluster.Name}, property{"kubernetes", r.Cluster.Version})
	}
	if r.Webhook != nil {
		properties = append(properties, property{"webhook", r.Webhook.URL})
		for _, fact := range webhookFacts(r.Webhook) {
			properties = append(properties, property{fact.Name, strings.Join(append([]string{fact.Value}, fact.More...), "\n")})
		}
	}
	for i, note := range r.Notes {
		properties = append(properties, property{fmt.Sprintf("note.%d", i+1), note})
	}
	return properties
}

func suitesOf(r *reports.Report) []testsuite {
	var suites []testsuite
	for _, chapter := range Chapters(r) {
		suite := testsuite{Name: chapter.Name}
		total := 0.0
		for _, result := range chapter.Results {
			suite.Cases = append(suite.Cases, resultCase(r, className(chapter.Name), result))
			if result.Verdict == requirement.Tolerated {
				suite.SystemOut += fmt.Sprintf("%s is tolerated: %s\n%s\n", result.ID, brief(result.Reason), details(result))
			}
			if flakyPass(result) {
				suite.SystemOut += fmt.Sprintf("%s passed: %s\n", result.ID, brief(result.Reason))
			}
			total += result.Seconds
		}
		suite.Time = seconds(total)
		suites = append(suites, suite)
	}
	if r.Load != nil {
		suites = append(suites, loadSuite(r))
	}
	if r.Changes != nil {
		suites = append(suites, changesSuite(r.Changes))
	}
	if r.Error != "" || r.Outcome == reports.Interrupted || len(suites) == 0 || r.Outcome == reports.Unjudged && idle(r) != nil {
		suites = append(suites, runSuite(r))
	}
	return suites
}

// className is the class of the cases of a chapter. Jenkins takes what is before the last dot for a package, so the dots in the name
// of a definition become underscores, which such names do not have: different chapters have different classes.
func className(chapter string) string { return strings.ReplaceAll(chapter, ".", "_") }

// runSuite says why the run could not judge everything, so that its results are not mistaken for all of them.
func runSuite(r *reports.Report) testsuite {
	text := r.Error
	if text == "" {
		text = Headline(r)
	}
	return testsuite{Name: "run", Time: seconds(r.Seconds), Cases: []testcase{{
		Name: "could judge", Classname: "run", Time: seconds(r.Seconds),
		Error: &problem{Message: brief(text), Type: requirement.Errored.String(), Text: text},
	}}}
}

func resultCase(r *reports.Report, class string, result reports.Result) testcase {
	c := testcase{Name: string(result.ID), Classname: class, Time: seconds(result.Seconds)}
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

// details returns everything about a problem as plain text. It may still contain invisible characters.
func details(result reports.Result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s (%s): %s\n", joined(string(result.ID), ", ", result.Subject), result.Level, result.Statement)
	for _, part := range resultParts(result) {
		text.WriteString(title(part.Name) + ":")
		for _, file := range part.Files {
			text.WriteString(" " + file.Path)
		}
		switch {
		case part.Text == "":
		case strings.Contains(part.Text, "\n") || len(part.Files) > 0:
			text.WriteString("\n" + indent(part.Text, "  "))
		default:
			text.WriteString(" " + part.Text)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }

func milliseconds(m float64) string { return strconv.FormatFloat(m, 'f', 3, 64) + " ms" }
