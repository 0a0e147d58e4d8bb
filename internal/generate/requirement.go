package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// ids writes ids.go of package requirement: a constant for each ID of the catalogue, documented by its statement, a constant for each name
// of a part, and the severities.
func ids(all []requirement.Requirement) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from catalogue.yaml by \"make generate\". DO NOT EDIT.\n\npackage requirement\n\n")
	b.WriteString("// Every ID of the catalogue.\nconst (\n")
	for _, r := range all {
		fmt.Fprintf(&b, "\t%s ID = %q // %s\n", constant(r.ID), r.ID, r.Statement)
	}
	b.WriteString(")\n\n// Every name of a part in the catalogue.\nconst (\n")
	for _, name := range partNames(all) {
		fmt.Fprintf(&b, "\tPart%s PartName = %q\n", constant(name), name)
	}
	b.WriteString(")\n\n")
	severities(&b, all)
	return format.Source(b.Bytes())
}

// constant is the name of the Go constant for an ID or a part: conversion.response.uid has ConversionResponseUID.
func constant[T ~string](id T) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(string(id), func(r rune) bool { return r == '.' || r == '-' }) {
		switch word {
		case "api", "ca", "http", "id", "ip", "json", "uid", "url":
			b.WriteString(strings.ToUpper(word))
		default:
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// partNames returns the names of parts, each once, sorted.
func partNames(all []requirement.Requirement) []requirement.PartName {
	var names []requirement.PartName
	for _, r := range all {
		for _, part := range r.Parts {
			names = append(names, part.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// severities writes a table, which the judge can ask without an allocation and without the catalogue.
func severities(b *bytes.Buffer, all []requirement.Requirement) {
	b.WriteString("// severities are those that do not follow from the others: of requirements that are not Failed, and of parts.\n" +
		"var severities = map[violation]Verdict{\n")
	for _, r := range all {
		if r.Severity != requirement.Failed {
			fmt.Fprintf(b, "\t{%s, \"\"}: %s,\n", constant(r.ID), r.Severity)
		}
		for _, part := range r.Parts {
			fmt.Fprintf(b, "\t{%s, Part%s}: %s,\n", constant(r.ID), constant(part.Name), part.Severity)
		}
	}
	b.WriteString("}\n")
}

// row is a sentence at one of its places.
type row struct {
	requirement.Place
	requirement.Sentence
}

// sentences writes docs/sentences.md: a table for each document.
func sentences(documents []requirement.Document, all []requirement.Sentence) []byte {
	var b bytes.Buffer
	b.WriteString("# Sentences of the documents\n\n" +
		"Written by `make generate` from requirement/catalogue.yaml and sentences.yaml; a test keeps it up to date. Every sentence of the documents is here " +
		"with its requirements, or with the reason why it has none. The documents themselves are not in the repository: a sentence is named by its " +
		"lines and its first words.\n")
	for _, document := range documents {
		var rows []row
		for _, s := range all {
			for _, place := range s.At {
				if place.Document == document.ID {
					rows = append(rows, row{place, s})
				}
			}
		}
		if len(rows) == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b row) int { return cmp.Or(a.First-b.First, a.Last-b.Last) })
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| lines | sentence | requirements, or why there are none |\n| --- | --- | --- |\n", document.ID, document.Title)
		for _, r := range rows {
			what := r.None
			if what == "" {
				var ids []string
				for _, id := range r.Requirements {
					ids = append(ids, "`"+string(id)+"`")
				}
				what = strings.Join(ids, " ")
			}
			fmt.Fprintf(&b, "| %s | %s ... | %s |\n", strings.TrimPrefix(r.String(), document.ID+":"), strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "_", "\\_").Replace(r.Words), what)
		}
	}
	return b.Bytes()
}
