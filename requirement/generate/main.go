// Command generate writes ids.go of package requirement: a constant for each ID of the catalogue, documented by its
// statement. Run it by "go generate ./requirement".
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"

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
		fmt.Fprintf(&b, "\t// %s: %s\n\t%s ID = %q\n", r.ID.Constant(), r.Statement, r.ID.Constant(), r.ID)
	}
	b.WriteString(")\n")
	return b.Bytes()
}
