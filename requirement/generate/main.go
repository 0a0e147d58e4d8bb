// Command generate writes ids.go of package requirement: a constant for each ID of the catalogue, documented by its
// statement, a constant for each name of a part, and the severities. Run it by "go generate ./requirement".
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

func main() {
	source, err := format.Source(render(requirement.All()))
	if err == nil {
		err = os.WriteFile("ids.go", source, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func render(all []requirement.Requirement) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from catalogue.yaml by \"go generate ./requirement\". DO NOT EDIT.\n\npackage requirement\n\n")
	b.WriteString("// Every ID of the catalogue.\nconst (\n")
	for _, r := range all {
		fmt.Fprintf(&b, "\t%s ID = %q // %s\n", r.ID.Constant(), r.ID, r.Statement)
	}
	b.WriteString(")\n\n// Every name of a part in the catalogue.\nconst (\n")
	for _, name := range partNames(all) {
		fmt.Fprintf(&b, "\tPart%s PartName = %q\n", requirement.ID(name).Constant(), name)
	}
	b.WriteString(")\n\n")
	renderSeverities(&b, all)
	return b.Bytes()
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

// renderSeverities writes a table, which the judge can ask without an allocation and without the catalogue.
func renderSeverities(b *bytes.Buffer, all []requirement.Requirement) {
	b.WriteString("// severities are those that do not follow from the others: of requirements that are not Failed, and of parts.\n" +
		"var severities = map[violation]Verdict{\n")
	for _, r := range all {
		if r.Severity != requirement.Failed {
			fmt.Fprintf(b, "\t{%s, \"\"}: %s,\n", r.ID.Constant(), r.Severity)
		}
		for _, part := range r.Parts {
			fmt.Fprintf(b, "\t{%s, Part%s}: %s,\n", r.ID.Constant(), requirement.ID(part.Name).Constant(), part.Severity)
		}
	}
	b.WriteString("}\n")
}
