package lint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
)

// toolURL is the page that describes the tool.
const toolURL = "https://github.com/crdconform/crdconform"

// The part of SARIF 2.1.0 that is written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string         `json:"id"`
		ShortDescription sarifText      `json:"shortDescription"`
		FullDescription  sarifText      `json:"fullDescription"`
		Help             sarifText      `json:"help"`
		Default          sarifDefault   `json:"defaultConfiguration"`
		Properties       sarifRuleNotes `json:"properties"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifDefault struct {
		Level Level `json:"level"`
	}
	sarifRuleNotes struct {
		Tags     []string `json:"tags"`
		Severity string   `json:"problem.severity"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        Level             `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// SARIF writes the findings as SARIF 2.1.0, in the form that code scanning takes: with every rule, paths relative to the
// working directory, and fingerprints that stay when lines move.
func (r *Report) SARIF(w io.Writer, toolVersion string) error {
	return WriteSARIF(w, toolVersion, Rules(), r.Findings)
}

// WriteSARIF writes findings by any rules as SARIF writes those of lint.
func WriteSARIF(w io.Writer, toolVersion string, rules []Rule, findings []Diagnostic) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "crdconform", Version: toolVersion, InformationURI: toolURL}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	index := map[RuleID]int{}
	for i, rule := range rules {
		index[rule.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, describe(rule))
	}
	sums := fingerprints(findings)
	for i, f := range findings {
		run.Results = append(run.Results, sarifResultOf(f, index[f.Rule], sums[i]))
	}
	return encode(w, sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// describe is a rule in SARIF.
func describe(rule Rule) sarifRule {
	tags := []string{"kubernetes", "crd"}
	for _, id := range rule.Requirements {
		tags = append(tags, string(id))
	}
	return sarifRule{
		ID:               string(rule.ID),
		ShortDescription: sarifText{Text: rule.Summary},
		FullDescription:  sarifText{Text: rule.Summary + " " + rule.Why},
		Help:             sarifText{Text: rule.Why + " " + rule.Help, Markdown: "**Why:** " + rule.Why + "\n\n**What to do:** " + rule.Help},
		Default:          sarifDefault{rule.Level},
		Properties:       sarifRuleNotes{Tags: tags, Severity: severity(rule.Level)},
	}
}

// severity is a level in the words of code scanning.
func severity(level Level) string {
	if level == Note {
		return "recommendation"
	}
	return string(level)
}

// sarifResultOf is a finding in SARIF.
func sarifResultOf(f Diagnostic, rule int, fingerprint string) sarifResult {
	name := f.Definition
	if f.Path != "" {
		name += ": " + f.Path
	}
	return sarifResult{
		RuleID: string(f.Rule), RuleIndex: rule, Level: f.Level, Message: sarifText{Text: f.Message},
		Locations: []sarifLocation{{
			Physical: sarifPhysical{
				Artifact: sarifArtifact{uri(f.File)},
				Region:   sarifRegion{StartLine: f.Line, StartColumn: f.Column},
			},
			Logical: []sarifLogical{{name}},
		}},
		Fingerprints: map[string]string{"primaryLocationLineHash": fingerprint},
	}
}

// fingerprints identify findings by their subjects, independent of the lines, and those with the same subject by their order.
func fingerprints(findings []Diagnostic) []string {
	var all []string
	seen := map[string]int{}
	for _, f := range findings {
		hash := sha256.Sum256([]byte(strings.Join([]string{string(f.Rule), f.Definition, f.Path}, "\n")))
		sum := hex.EncodeToString(hash[:8])
		seen[sum]++
		all = append(all, fmt.Sprintf("%s:%d", sum, seen[sum]))
	}
	return all
}

// uri is the name of a file for SARIF.
func uri(name string) string { return (&url.URL{Path: relative(name)}).String() }

// relative is the name of a file relative to the working directory. A file that is not below it has its last name only, because
// other machines have other directories.
func relative(name string) string {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") || len(name) > 1 && name[1] == ':' {
		name = path.Base(name)
	}
	return name
}
