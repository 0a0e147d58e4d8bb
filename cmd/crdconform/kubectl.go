package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// kubectlFlags are flags of kubectl that no command here has, or not all: the letter that kubectl has for one, the flags here that do the
// same, and what to say where a command has none of these.
func kubectlFlags() []struct{ name, letter, here, otherwise string } {
	const noNamespace = ": definitions are in no namespace; leave it out"
	return []struct{ name, letter, here, otherwise string }{
		{"filename", "f", "crd file", ""},
		{"kustomize", "k", "crd", ""},
		{"selector", "l", "filter scenario", ""},
		{"field-selector", "", "filter scenario", ""},
		{"output", "o", "report-dir", ": its output has only one form"},
		{"namespace", "n", "", noNamespace},
		{"all-namespaces", "A", "", noNamespace},
		{"watch", "w", "watch", ""},
		{"v", "v", "verbose", ""},
		{"insecure-skip-tls-verify", "", "ca-file", ": certificates are always verified"},
	}
}

// kubectlName is the name of a flag of one letter in kubectl; the letter where kubectl has none.
func kubectlName(letter string) string {
	for _, flag := range kubectlFlags() {
		if flag.letter == letter {
			return flag.name
		}
	}
	return letter
}

// insteadOf says, for a command without a flag of kubectl, what to use in its place.
func insteadOf(cmd *cobra.Command, name string) string {
	for _, flag := range kubectlFlags() {
		if flag.name != name {
			continue
		}
		arguments := strings.TrimPrefix(cmd.Use, cmd.Name())
		if files := strings.HasPrefix(arguments, " FILE") || strings.HasPrefix(arguments, " REPORT"); files && strings.HasPrefix(flag.here, "crd") {
			return fmt.Sprintf(": files are given without a flag, as in %q", cmd.CommandPath()+arguments)
		}
		for here := range strings.FieldsSeq(flag.here) {
			if cmd.Flags().Lookup(here) != nil {
				return "; did you mean --" + here + "?"
			}
		}
		return flag.otherwise
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
	}
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = strings.Fields(words[cmd.Name()])
	}
}
