package lint

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// codeScanning is what GitHub's code scanning reads of SARIF.
type codeScanning struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []struct {
		Tool struct {
			Driver struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				Rules   []struct {
					ID    string `json:"id"`
					Short struct {
						Text string `json:"text"`
					} `json:"shortDescription"`
					Full struct {
						Text string `json:"text"`
					} `json:"fullDescription"`
					Help struct {
						Text     string `json:"text"`
						Markdown string `json:"markdown"`
					} `json:"help"`
					Default struct {
						Level string `json:"level"`
					} `json:"defaultConfiguration"`
					Properties struct {
						Tags     []string `json:"tags"`
						Severity string   `json:"problem.severity"`
					} `json:"properties"`
				} `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		Results []struct {
			RuleID    string `json:"ruleId"`
			RuleIndex int    `json:"ruleIndex"`
			Level     string `json:"level"`
			Message   struct {
				Text string `json:"text"`
			} `json:"message"`
			Locations []struct {
				Physical struct {
					Artifact struct {
						URI string `json:"uri"`
					} `json:"artifactLocation"`
					Region struct {
						StartLine   int `json:"startLine"`
						StartColumn int `json:"startColumn"`
					} `json:"region"`
				} `json:"physicalLocation"`
			} `json:"locations"`
			Fingerprints map[string]string `json:"partialFingerprints"`
		} `json:"results"`
	} `json:"runs"`
}

func scan(t *testing.T, r *Report) codeScanning {
	t.Helper()
	var b bytes.Buffer
	if err := r.SARIF(&b, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	var log codeScanning
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || !strings.HasSuffix(log.Schema, "sarif-2.1.0.json") || len(log.Runs) != 1 || !strings.Contains(b.String(), `"results": [`) {
		t.Fatalf("not SARIF 2.1.0 with one run and its results:\n%s", b.String())
	}
	return log
}

// TestSARIF holds the output to what code scanning wants: https://docs.github.com/en/code-security/code-scanning.
func TestSARIF(t *testing.T) {
	t.Parallel()
	text := strings.Replace(plainWidgets, "default: big", "default: small", 1)
	text = strings.Replace(text, "kind: Widget\n", "kind: Widget\n    kind: Widget\n", 1)
	report, err := Check(t.Context(), []File{{Name: "config dir/ü%.yaml", Data: []byte(text)}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := scan(t, report).Runs[0]
	driver := run.Tool.Driver
	if driver.Name != "crdconform" || driver.Version != "v1.2.3" || len(driver.Rules) != len(Rules()) {
		t.Errorf("the tool is %s %s with %d rules", driver.Name, driver.Version, len(driver.Rules))
	}
	for _, rule := range driver.Rules {
		if rule.ID == "" || rule.Short.Text == "" || len(rule.Short.Text) > 1024 || rule.Full.Text == "" || len(rule.Full.Text) > 1024 || rule.Help.Text == "" || rule.Help.Markdown == "" {
			t.Errorf("%s lacks a text, or has a long one", rule.ID)
		}
		if !slices.Contains([]string{"error", "warning", "note"}, rule.Default.Level) || !slices.Contains([]string{"error", "warning", "recommendation"}, rule.Properties.Severity) || len(rule.Properties.Tags) == 0 {
			t.Errorf("%s has the level %s, the severity %s and the tags %v", rule.ID, rule.Default.Level, rule.Properties.Severity, rule.Properties.Tags)
		}
	}
	if len(run.Results) != len(report.Findings) || len(run.Results) != 2 {
		t.Fatalf("%d results of %d findings", len(run.Results), len(report.Findings))
	}
	for i, result := range run.Results {
		f := report.Findings[i]
		if result.RuleID != string(f.Rule) || driver.Rules[result.RuleIndex].ID != result.RuleID || result.Level != string(f.Level) || result.Message.Text != f.Message || len(result.Locations) != 1 {
			t.Errorf("%+v became %+v", f, result)
			continue
		}
		at := result.Locations[0].Physical
		if name, err := url.PathUnescape(at.Artifact.URI); err != nil || name != f.File || strings.Contains(at.Artifact.URI, " ") || at.Region.StartLine != f.Line || at.Region.StartColumn != f.Column {
			t.Errorf("%+v is at %+v", f, at)
		}
		if result.Fingerprints["primaryLocationLineHash"] == "" {
			t.Errorf("%+v has no fingerprint", f)
		}
	}
}

// TestSARIFFingerprints wants them to stay when lines move, and to differ between findings.
func TestSARIFFingerprints(t *testing.T) {
	t.Parallel()
	prints := func(findings ...Diagnostic) []string {
		var all []string
		for _, result := range scan(t, &Report{Findings: findings}).Runs[0].Results {
			all = append(all, result.Fingerprints["primaryLocationLineHash"])
		}
		return all
	}
	a := Diagnostic{Rule: Refused, Level: Error, File: "a", Line: 1, Column: 1, Definition: "a.example.com", Path: "spec"}
	moved, other, elsewhere := a, a, a
	moved.Line, other.Path, elsewhere.Definition = 9, "spec.names", "b.example.com"
	if got := prints(a); !slices.Equal(got, prints(moved)) {
		t.Error("the fingerprint changes with the line")
	}
	all := prints(a, a, other, elsewhere)
	if slices.Sort(all); len(slices.Compact(all)) != 4 {
		t.Errorf("findings share a fingerprint: %v", all)
	}
}

func TestSARIFOfNothing(t *testing.T) {
	t.Parallel()
	if run := scan(t, &Report{Definitions: 1}).Runs[0]; len(run.Results) != 0 || run.Results == nil {
		t.Errorf("results %+v, want a list of none", run.Results)
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.yaml": "a.yaml", "./a/../b.yaml": "b.yaml", "/home/me/a.yaml": "a.yaml", "../../a.yaml": "a.yaml",
		`crds\a.yaml`: "crds/a.yaml", `C:\crds\a.yaml`: "a.yaml", "a b.yaml": "a%20b.yaml", "a:b.yaml": "./a:b.yaml", "stdin": "stdin",
	} {
		if got := uri(name); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	findings := []Diagnostic{{Rule: Refused, Level: Error, Message: "a <b>"}, {Rule: ScaleDiffers, Level: Note}, {Rule: StatusDiffers, Level: Warning}, {Rule: CABundleLeaf, Level: Warning}}
	for _, report := range []*Report{{Definitions: 3, Findings: findings}, {Definitions: 1}} {
		var b bytes.Buffer
		if err := report.JSON(&b); err != nil {
			t.Fatal(err)
		}
		var got struct {
			Definitions int          `json:"definitions"`
			Errors      int          `json:"errors"`
			Warnings    int          `json:"warnings"`
			Notes       int          `json:"notes"`
			Findings    []Diagnostic `json:"findings"`
		}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Definitions != report.Definitions || got.Errors != report.Count(Error) || got.Warnings != report.Count(Warning) || got.Notes != report.Count(Note) || !slices.Equal(got.Findings, report.Findings) || got.Findings == nil {
			t.Errorf("%+v became\n%s", report, b.String())
		}
	}
}
