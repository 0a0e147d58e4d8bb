package main

import (
	"bytes"
	"fmt"
	"go/format"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/requirement"
)

// related writes what package explanation has of rules and faults: reading a report needs their texts, and not the libraries that lint a
// definition or serve a webhook.
func related(rules []lint.Rule, faults []webhook.Fault) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated from the rules of lint and the faults of the reference webhook by \"make generate\". DO NOT EDIT.\n\n" +
		"package explanation\n\nimport \"github.com/crdconform/crdconform/requirement\"\n\n// rules are those of lint that check requirements.\nfunc rules() []related {\n\treturn []related{\n")
	for _, r := range rules {
		if len(r.Requirements) > 0 {
			fmt.Fprintf(&b, "{Named{%q, %q}, %q, %s},\n", r.ID, r.Summary, r.Help, constants(r.Requirements))
		}
	}
	b.WriteString("}\n}\n\n// faults are those of the reference webhook.\nfunc faults() []related {\n\treturn []related{\n")
	for _, f := range faults {
		fmt.Fprintf(&b, "{Named{%q, %q}, \"\", %s},\n", f.Name, f.Summary, constants(f.Breaks))
	}
	b.WriteString("}\n}\n")
	return format.Source(b.Bytes())
}

// constants is a list of IDs in Go.
func constants(ids []requirement.ID) string {
	var b bytes.Buffer
	b.WriteString("[]requirement.ID{")
	for i, id := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("requirement." + constant(id))
	}
	return b.String() + "}"
}
