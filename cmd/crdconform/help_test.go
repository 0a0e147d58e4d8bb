package main

import (
	"path/filepath"
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
