package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// foreignFlag is a flag of kubectl or of other tools, for which commands here have another one, or none.
type foreignFlag struct {
	name, letter string // the letter is kubectl's
	here         string // the flag of a command that does the same; empty for any command
	says         string // what to do; empty to give that flag
}

// foreignFlags are the flags that no command here has, or not all. Of several with the same name, the first counts that a command has.
func foreignFlags() []foreignFlag {
	const (
		inNoNamespace = ": definitions are in no namespace; leave it out"
		folders       = ": folders are read with those in them; leave it out"
		reports       = ": each format is a file in the folder of --report-dir, such as report.json"
		seeTheList    = `: "crdconform list" shows what would be checked, and "crdconform config view" with which options`
	)
	return []foreignFlag{
		{"filename", "f", "crd", ""},
		{"filename", "f", "file", ""},
		{"kustomize", "k", "crd", ""},
		{"recursive", "R", "", folders},
		{"selector", "l", "filter", ""},
		{"selector", "l", "scenario", ""},
		{"field-selector", "", "filter", ""},
		{"field-selector", "", "scenario", ""},
		{"only", "", "filter", ""},
		{"only", "", "scenario", ""},
		{"exclude", "", "skip", ""},
		{"from", "", "old", ""},
		{"to", "", "old", "; did you mean --crd?"},
		{"new", "", "crd", ""},
		{"dry-run", "", "filter", seeTheList},
		{"dry-run", "", "scenario", seeTheList},
		{"server", "s", "api-server", ""},
		{"cluster", "", "api-server", ""},
		{"cluster", "", "context", ""},
		{"minor", "", "kubernetes", ""},
		{"minors", "", "embedded", ""},
		{"k8s-version", "", "kubernetes", ""},
		{"output-dir", "", "report-dir", ""},
		{"out", "", "report-dir", ""},
		{"format", "", "output", ""},
		{"format", "", "report-dir", reports},
		{"junit", "", "report-dir", reports},
		{"output", "o", "report-dir", reports},
		{"output", "o", "", ": its output has only one form"},
		{"namespace", "n", "", inNoNamespace},
		{"all-namespaces", "A", "", inNoNamespace},
		{"watch", "w", "watch", ""},
		{"v", "v", "verbose", ""},
		{"v", "v", "", ": it says all that it has to say; leave it out"},
		{"quiet", "q", "", ": it says only what it found; leave it out"},
		{"insecure-skip-tls-verify", "", "ca-file", ""},
		{"insecure-skip-tls-verify", "", "", ": certificates are always verified"},
	}
}

// kubectlName is the name of a flag of one letter in kubectl; the letter where kubectl has none.
func kubectlName(letter string) string {
	for _, flag := range foreignFlags() {
		if flag.letter == letter {
			return flag.name
		}
	}
	return letter
}

// insteadOf says, for a command without a flag of another tool, what to use in its place.
func insteadOf(cmd *cobra.Command, name string) string {
	arguments := strings.TrimPrefix(cmd.Use, cmd.Name())
	if files := strings.HasPrefix(arguments, " FILE") || strings.HasPrefix(arguments, " REPORT"); files && (name == "filename" || name == "kustomize") {
		return fmt.Sprintf(": files are given without a flag, as in %q", cmd.CommandPath()+arguments)
	}
	switch name {
	case "url", "webhook":
		if strings.Contains(arguments, "URL") {
			return fmt.Sprintf(": the URL is given without a flag, as in %q", cmd.CommandPath()+arguments)
		}
	case "program", "command":
		if strings.Contains(arguments, "PROGRAM") {
			return fmt.Sprintf(": the program is given after --, as in %q", cmd.CommandPath()+arguments)
		}
	}
	for _, flag := range foreignFlags() {
		if flag.name == name && (flag.here == "" || cmd.Flags().Lookup(flag.here) != nil) {
			return cmp.Or(flag.says, "; did you mean --"+flag.here+"?")
		}
	}
	var having []string
	for _, one := range cmd.Commands() {
		if one.Flags().Lookup(name) != nil {
			having = append(having, one.CommandPath())
		}
	}
	if len(having) > 0 {
		return ": it is one of " + strings.Join(having, ", ")
	}
	return ""
}

// notFile fails if there is a file where the URL of a webhook is expected.
func notFile(url string) error {
	if _, err := os.Stat(url); err == nil {
		return fmt.Errorf("%s is a file or a folder, not the URL of a webhook; give definitions by --crd, samples by --samples, and a program after --", url)
	}
	return nil
}

// suggestForKubectl has unknown commands answered with those that do what kubectl, or other tools, do by that name.
func suggestForKubectl(root *cobra.Command) {
	words := map[string]string{
		"check":    "verify validate test apply create",
		"lint":     "verify validate apply create",
		"explain":  "describe",
		"list":     "get",
		"doctor":   "get describe api-resources api-versions cluster-info",
		"storage":  "migrate status",
		"rehearse": "upgrade",
		"cleanup":  "delete",
		"report":   "compare merge history",
		"record":   "proxy",
		"config":   "options",
		"load":     "bench benchmark top",

		"storage status":       "get describe list plan inspect",
		"storage safe-to-drop": "drop delete",
		"config view":          "get show get-contexts current-context",
	}
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = strings.Fields(words[cmd.Name()])
		for _, below := range cmd.Commands() {
			below.SuggestFor = strings.Fields(words[cmd.Name()+" "+below.Name()])
		}
	}
}
