package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubeconfigs may name what it has
)

// pluginFile is the file that kubectl starts for "kubectl crdconform". Package managers link it to crdconform.
const pluginFile = "kubectl-crdconform"

// isPlugin reports whether the program was started by kubectl, or as kubectl does.
func isPlugin(program string) bool {
	return strings.TrimSuffix(filepath.Base(program), ".exe") == pluginFile
}

// asPlugin has the commands call themselves as users of kubectl do, and shows those first that only read a cluster.
func asPlugin(root *cobra.Command) {
	text := pluginText(root)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl crdconform"}
	root.AddGroup(&cobra.Group{ID: "cluster", Title: "Read a cluster:"}, &cobra.Group{ID: "other", Title: "Everything else:"})
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "doctor", "storage", "check":
			cmd.GroupID = "cluster"
		default:
			cmd.GroupID = "other"
		}
	}
	for all := []*cobra.Command{root}; len(all) > 0; all = all[1:] {
		cmd := all[0]
		cmd.Long, cmd.Example = text(cmd.Long), text(cmd.Example)
		cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = text(f.Usage) })
		all = append(all, cmd.Commands()...)
	}
}

// pluginText returns how a text reads for users of the plugin: with its command lines in place of those of crdconform.
func pluginText(root *cobra.Command) func(text string) string {
	names := []string{"help", "completion", "--[a-z]"}
	for _, cmd := range root.Commands() {
		names = append(names, cmd.Name())
	}
	line := regexp.MustCompile(`\b(crdconform (?:` + strings.Join(names, "|") + `))`)
	return func(text string) string { return line.ReplaceAllString(text, "kubectl $1") }
}
