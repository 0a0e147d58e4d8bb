package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// commands returns the root command and all below it.
func commands() []*cobra.Command {
	all := []*cobra.Command{newRoot(streams{})}
	for i := 0; i < len(all); i++ {
		all = append(all, all[i].Commands()...)
	}
	return all
}

// TestHelp wants every command to explain itself, every flag included.
func TestHelp(t *testing.T) {
	t.Parallel()
	if n := len(commands()); n != 31 {
		t.Errorf("there are %d commands", n)
	}
	for _, cmd := range commands() {
		name := cmd.CommandPath()
		text := inside(t, append(strings.Fields(name)[1:], "--help", "--all")...)
		has(t, text, "\nExamples:\n", "\nUsage:\n  "+name)
		text = unbroken(text)
		has(t, text, unbroken(cmd.Long), unbroken(cmd.Example))
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s is summed up as %q, with the example %q", name, cmd.Short, cmd.Example)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") || !strings.Contains(text, "--"+f.Name+" ") || !strings.Contains(text, unbroken(f.Usage)) {
				t.Errorf("%s --help says of --%s: %q", name, f.Name, f.Usage)
			}
		})
		for line := range strings.Lines(cmd.Long) {
			if len(strings.TrimSpace(line)) > 130 {
				t.Errorf("%s --help has a long line: %s", name, line)
			}
		}
		for line := range strings.Lines(cmd.Example) {
			words, _, _ := strings.Cut(line, " -- ")
			if words := strings.Fields(words); len(words) > 0 && words[0] == "crdconform" {
				example := usable(t, words[1:])
				if filter, err := example.Flags().GetStringSlice("filter"); err == nil {
					_, err = selected(filter, nil) // what it selects has to exist
					check(t, err)
				}
			}
		}
	}
}

func TestFaultsAreListed(t *testing.T) {
	t.Parallel()
	help := strings.Join(strings.Fields(inside(t, "serve", "--help")), " ") // lines end where a terminal does
	var completed strings.Builder
	for _, fault := range webhook.Faults() {
		completed.WriteString(fault.Name + "\n")
		has(t, help, " "+fault.Name+" "+fault.Summary+" ")
	}
	var out, errs strings.Builder
	execute(t.Context(), []string{"__completeNoDesc", "serve", "--fault", ""}, streams{out: &out, err: &errs})
	if got, found := strings.CutPrefix(out.String(), completed.String()); !found || !strings.HasPrefix(got, ":") {
		t.Errorf("faults are completed by %s, want %s", out.String(), completed.String())
	}
}

// TestKeysAreCompleted completes --set wherever a command has it by the keys of that command, with an equals sign to go on after.
func TestKeysAreCompleted(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{"check": "generate.coverage=", "load": "load.judgeContent=", "storage status": "connection.server=", "rehearse": "rehearse.install="} {
		var out, errs strings.Builder
		execute(t.Context(), append(append([]string{"__completeNoDesc"}, strings.Fields(command)...), "--set", ""), streams{out: &out, err: &errs})
		if lines := strings.Split(out.String(), "\n"); !slices.Contains(lines, want) || !slices.Contains(lines, ":6") {
			t.Errorf("%s: --set is completed by %s, want %s", command, out.String(), want)
		}
	}
}

func TestIsPlugin(t *testing.T) {
	for program, want := range map[string]bool{
		"/home/me/.krew/bin/kubectl-crdconform": true, "kubectl-crdconform.exe": true,
		"crdconform": false, "/opt/kubectl-crdconform/crdconform": false,
	} {
		if isPlugin(program) != want {
			t.Errorf("%s is taken for a plugin: %v", program, !want)
		}
	}
}

// TestManualPages wants a page for every command, with the date that was asked for.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1000000000")
	inside(t, "man", dir)
	for _, cmd := range commands() {
		if !cmd.Hidden {
			has(t, string(read(t, filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))), `"Sep 2001"`, "\n.SH NAME\n")
		}
	}
}

// inside runs a command line in this process, for commands that only print, and returns what it prints.
func inside(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs strings.Builder
	if code := execute(t.Context(), args, streams{out: &out, err: &errs}); code != exitConforms || errs.String() != "" {
		t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
	}
	return out.String()
}

// TestPrinted has commands that only print do so.
func TestPrinted(t *testing.T) {
	t.Parallel()
	all := requirement.All()
	var explanations []explanation.Explanation
	specs := suites.Preview(append(areas(), resource.Area))
	for _, r := range all {
		explanations = append(explanations, explained(r, specs))
	}
	one := slices.IndexFunc(explanations, func(e explanation.Explanation) bool { return e.ID == requirement.WebhookResponseUID })
	if e := explanations[one]; len(e.Specs) != 1 || len(e.Faults) != 2 || e.Run == "" {
		t.Errorf("got %+v", e)
	}
	asJSON := func(value any) string {
		var text strings.Builder
		check(t, writeJSON(&text, value))
		return text.String()
	}
	for line, want := range map[string]string{
		"list":                              explanation.List(all),
		"list --output json":                asJSON(all),
		"list --output markdown":            explanation.ListMarkdown(all),
		"list --coverage":                   explanation.CoverageText(all),
		"list --coverage --output json":     asJSON(explanation.Covered(all)),
		"list --coverage --output markdown": explanation.CoverageMarkdown(all),
		"explain webhook.response.uid":      explanations[one].Text(),
		"explain --all --output json":       asJSON(explanations),
		"lint --rules --output json":        asJSON(lint.Rules()),
		"--version":                         "crdconform " + toolVersion() + "\n",
		"version": fmt.Sprintf("crdconform %s\nKubernetes %s (embedded API server)\n%s %s/%s\n",
			toolVersion(), embedded.Release(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
	} {
		if got := inside(t, strings.Fields(line)...); got != want || strings.Contains(got, `\u003c`) {
			t.Errorf("%s prints\n%s\nand not\n%s", line, got, want)
		}
	}
	rules := strings.Split(inside(t, "lint", "--rules"), "\n")
	for i, rule := range lint.Rules() {
		if got := rules[i]; !slices.Equal(strings.Fields(got)[:2], []string{string(rule.ID), string(rule.Level)}) || !strings.HasSuffix(got, "  "+rule.Summary) {
			t.Errorf("%s is listed as %q", rule.ID, got)
		}
	}
}

// TestCommandsOfRequirements holds the commands that the catalogue names to those that there are, and to what they check.
func TestCommandsOfRequirements(t *testing.T) {
	t.Parallel()
	all := map[string][]requirement.ID{}
	for _, r := range requirement.All() {
		if r.Command != "" {
			all[r.Command] = append(all[r.Command], r.ID)
		}
	}
	root := newRoot(streams{})
	for command := range all {
		if found, rest, err := root.Find(strings.Fields(command)); err != nil || len(rest) > 0 || found.CommandPath() != "crdconform "+command {
			t.Errorf("the catalogue names crdconform %s: %v", command, err)
		}
	}
	for command, checks := range map[string][]requirement.ID{"rehearse": rehearsal.IDs(), "disrupt": disruption.IDs()} {
		if got, want := slices.Sorted(slices.Values(all[command])), slices.Sorted(slices.Values(checks)); !slices.Equal(got, want) {
			t.Errorf("by the catalogue crdconform %s checks %v, want %v", command, got, want)
		}
	}
}

// TestLibrariesNameNoFlags wants messages of packages to name no flag of this program: users of the Go API have none, and others may have
// said it by crdconform.yaml. Whole commands to run are fine, and so are arguments of other programs, which are no sentences.
func TestLibrariesNameNoFlags(t *testing.T) {
	t.Parallel()
	flags := map[string]bool{}
	for _, cmd := range commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	named := regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
	command := regexp.MustCompile(`\b(crdconform|kubectl|kind|docker) [a-z]+ |\b(crdconform|kubectl) (--|[a-z]+)|\./bin/manager|^[^ ]+$`)
	// The commands, the table of options itself, programs for tests, and folders of others.
	others := regexp.MustCompile(`^(cmd|internal/options|internal/test|\.[^.].*|.*/\.[^/]*)$`)
	root, files := os.DirFS("../.."), 0
	check(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if others.MatchString(name) {
				return fs.SkipDir
			}
			return err
		} else if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		files++
		source, err1 := fs.ReadFile(root, name)
		file, err2 := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		ast.Inspect(file, func(n ast.Node) bool {
			if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING && !command.MatchString(text.Value) {
				for _, flag := range named.FindAllStringSubmatch(text.Value, -1) {
					if flags[flag[1]] {
						t.Errorf("%s names --%s: %s", name, flag[1], text.Value)
					}
				}
			}
			return true
		})
		return errors.Join(err1, err2)
	}))
	if files < 200 {
		t.Errorf("there are only %d files", files)
	}
}

// TestHelpOfATerminal has no line be wider than the terminal, or than 80 columns where there is none, and no word broken.
func TestHelpOfATerminal(t *testing.T) {
	t.Parallel()
	for _, command := range commands() {
		name := strings.TrimPrefix(command.CommandPath(), "crdconform")
		wide := unbroken(helpOf(t, streams{terminal: true, width: 500}, name))
		for columns, s := range map[int]streams{80: {}, 100: {terminal: true, width: 100}} {
			narrow := helpOf(t, s, name)
			if unbroken(narrow) != wide {
				t.Errorf("%s: the narrow help has other words", name)
			}
			for line := range strings.Lines(narrow) {
				whole := strings.HasSuffix(line, " [flags]\n") || strings.HasPrefix(line, `Use "crdconform `) // which are cobra's
				if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > columns && len(shellWord.FindAllString(strings.TrimSuffix(line, ` \`), -1)) > 1 && !whole {
					t.Errorf("%s: %d columns: %s", name, utf8.RuneCountInString(line), line)
				}
			}
		}
	}
}

// TestContinued breaks command lines where a shell reads on.
func TestContinued(t *testing.T) {
	t.Parallel()
	for example, want := range map[string]string{
		"  a --b c":                       "  a --b c",
		"  a --bbbbbb 'c d e' --ffffff g": "  a \\\n    --bbbbbb 'c d e' \\\n    --ffffff g",
		"  a --b \\\n    c --d -e f -- g": "  a --b c --d \\\n    -e f -- g",
		"  a --one-long-word-that-stays":  "  a \\\n    --one-long-word-that-stays",
	} {
		if got := continued(example, 18); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// unbroken is a text in one line, without the backslashes before ends of lines.
func unbroken(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", "\n")), " ")
}

// helpOf is what --help shows of a command.
func helpOf(t *testing.T, s streams, command string) string {
	t.Helper()
	var out strings.Builder
	s.out, s.err = &out, &out
	root := newRoot(s)
	root.SetArgs(append(strings.Fields(command), "--help"))
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
