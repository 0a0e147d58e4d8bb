package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/visible"
)

// allFlags is the flag that has --help show all flags.
const allFlags = "all"

// common returns the flags that the help of a command shows, of those that have too many for a screen. The others are shown with --all.
func common(command string) []string {
	const webhook = "ca-file from-crd address "
	flags := map[string]string{
		"check": webhook + "crd samples old expect record-expected filter skip known-failing strict api-server seed report-dir history hold set",
		"load":  webhook + "crd samples profile rate batch clients duration objective repeat baseline max-regress through-api-server report-dir set",
		"run": "filter skip known-failing strict seed report-dir history api-server kubernetes context read-only " +
			"load-duration load-rate load-profile webhook-image webhook-manifests set",
		"disrupt":  "crd samples scenario objective old-program rate known-failing strict seed report-dir history api-server context webhook-image webhook-manifests disrupt-pods judge set",
		"rehearse": "crd old old-program objects from-context generate redact ca-file filter skip known-failing strict api-server seed report-dir history set",
	}
	return strings.Fields(flags[command])
}

// limitHelp has --help show the flags that most people need, and --help --all the others as well. Lines end between words, where the
// terminal does: where there is none, someone reads it in a pager or a file.
func limitHelp(root *cobra.Command, s streams) {
	columns := 80
	if s.terminal && s.width > 0 {
		columns = s.width
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", columns)))
	root.PersistentFlags().Bool(allFlags, false, "with --help: show all flags")
	// It fails for flags that do not exist only.
	_ = root.PersistentFlags().MarkHidden(allFlags)
	usual := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		rare := rareFlags(cmd)
		for _, flag := range rare {
			flag.Hidden = true
		}
		long, example := cmd.Long, cmd.Example
		cmd.Long, cmd.Example = reflowed(long, columns), continued(example, columns)
		usual(cmd, args)
		cmd.Long, cmd.Example = long, example
		for _, flag := range rare {
			flag.Hidden = false
		}
		if len(rare) > 0 {
			fmt.Fprintf(cmd.OutOrStdout(), "\n%d more flags: %s --help --all\n", len(rare), cmd.CommandPath())
		}
	})
}

// nameOf is what a line of a list begins with, up to the text about it.
var nameOf = regexp.MustCompile(`^ +(?:\S.*?  +)?`)

// reflowed breaks the paragraphs of a text anew, into lines of so many columns. Lines of a list stay in their column.
func reflowed(text string, columns int) string {
	var lines []string
	before, margin := "", 0 // the line that the next may go on with, and the column in which its text begins
	write := func() {
		name := before[:margin]
		for _, part := range visible.Wrapped(before[margin:], max(columns-margin, 1)) {
			lines, name = append(lines, name+part), strings.Repeat(" ", margin)
		}
	}
	for i, line := range strings.Split(text, "\n") {
		name := nameOf.FindString(line)
		if blank := strings.TrimSpace(name) == ""; i > 0 && line != "" && before != "" && blank && len(name) == margin {
			before += " " + line[margin:]
			continue
		}
		if i > 0 {
			write()
		}
		before, margin = line, len(name)
	}
	write()
	return strings.Join(lines, "\n")
}

var (
	// shellWord is a word of a command line, with what is quoted in it, and the value that stands behind a flag.
	shellWord = regexp.MustCompile(`--?[a-z-]* +(?:[^\s'-]|'[^']*')(?:[^\s']|'[^']*')*|(?:[^\s']|'[^']*')+`)

	// shellBreak is where a shell reads on in the next line.
	shellBreak = regexp.MustCompile(` \\\n +`)
)

// continued breaks the command lines of an example anew, into lines of so many columns.
func continued(example string, columns int) string {
	var lines []string
	for line := range strings.SplitSeq(shellBreak.ReplaceAllString(example, " "), "\n") {
		words := shellWord.FindAllString(line, -1)
		for len(line) > columns && len(words) > 1 {
			head := line[:strings.Index(line, words[0])] + words[0]
			for words = words[1:]; len(words) > 1 && len(head+" "+words[0]+` \`) <= columns; words = words[1:] {
				head += " " + words[0]
			}
			lines, line = append(lines, head+` \`), "    "+strings.Join(words, " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// commandOf is the name of a command in the options, such as storage migrate: it is empty for the program itself.
func commandOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().CommandPath()), " ")
}

// rareFlags returns the flags that the help of a command leaves out.
func rareFlags(cmd *cobra.Command) []*pflag.Flag {
	path := commandOf(cmd)
	shown := common(path)
	if all, err := cmd.Flags().GetBool(allFlags); len(shown) == 0 || err == nil && all {
		return nil
	}
	var rare []*pflag.Flag
	cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden && flag.Name != "help" && !slices.Contains(shown, flag.Name) {
			rare = append(rare, flag)
		}
	})
	return rare
}
