package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
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
		text := inside(t, append(strings.Fields(name)[1:], "--help")...)
		has(t, text, cmd.Long, "\nExamples:\n"+cmd.Example+"\n", "\nUsage:\n  "+name)
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s is summed up as %q, with the example %q", name, cmd.Short, cmd.Example)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") || !strings.Contains(text, "--"+f.Name+" ") || !strings.Contains(text, f.Usage) {
				t.Errorf("%s --help says of --%s: %q", name, f.Name, f.Usage)
			}
		})
		for line := range strings.Lines(cmd.Long) {
			if len(strings.TrimSpace(line)) > 130 {
				t.Errorf("%s --help has a long line: %s", name, line)
			}
		}
		for line := range strings.Lines(cmd.Example) {
			exemplary(t, strings.TrimSpace(line))
		}
	}
}

// exemplary reads an example as the program would: its flags have to exist, and so does what they select.
func exemplary(t *testing.T, line string) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "crdconform" {
		return
	}
	named, rest, err := newRoot(streams{}).Find(words[1:])
	if err != nil || !named.HasParent() {
		t.Errorf("%s: %v", line, err)
		return
	}
	if program := slices.Index(rest, "--"); program >= 0 {
		rest = rest[:program]
	}
	for i, word := range rest {
		flag, isFlag := strings.CutPrefix(word, "--")
		if flag, _, _ = strings.Cut(flag, "="); isFlag && named.Flags().Lookup(flag) == nil {
			t.Errorf("%s: %s has no flag --%s", line, named.Name(), flag)
		}
		if isFlag && flag == "filter" {
			if _, err := selected(strings.Split(rest[i+1], ","), nil); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

func TestFaultsAreListed(t *testing.T) {
	t.Parallel()
	help := inside(t, "serve", "--help")
	var completed strings.Builder
	for _, fault := range webhook.Faults() {
		completed.WriteString(fault.Name + "\n")
		has(t, help, "\n  "+fault.Name+" ", " "+fault.Summary+"\n")
	}
	var out, errs strings.Builder
	execute(t.Context(), []string{"__completeNoDesc", "serve", "--fault", ""}, streams{out: &out, err: &errs})
	if got, found := strings.CutPrefix(out.String(), completed.String()); !found || !strings.HasPrefix(got, ":") {
		t.Errorf("faults are completed by %s, want %s", out.String(), completed.String())
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
