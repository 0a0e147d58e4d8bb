package main

import (
	"io"
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
		for _, want := range []string{cmd.Long, "\nExamples:\n" + cmd.Example + "\n", "\nUsage:\n  " + name} {
			if strings.TrimSpace(want) == "" || !strings.Contains(text, want) {
				t.Errorf("%s --help lacks %q", name, want)
			}
		}
		if cmd.Short == "" || cmd.Example == "" || strings.HasSuffix(cmd.Short, ".") {
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
	}
}

// TestExamples reads the examples as the program would: their flags have to exist, and so does what they select.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, cmd := range commands() {
		for line := range strings.Lines(cmd.Example) {
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "crdconform" {
				continue
			}
			named, rest, err := newRoot(streams{}).Find(words[1:])
			if err != nil || !named.HasParent() {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if program := slices.Index(rest, "--"); program >= 0 {
				rest = rest[:program]
			}
			for i, word := range rest {
				flag, isFlag := strings.CutPrefix(word, "--")
				if !isFlag {
					continue
				}
				flag, _, _ = strings.Cut(flag, "=")
				if named.Flags().Lookup(flag) == nil {
					t.Errorf("%s: %s has no flag --%s", line, named.Name(), flag)
				}
				if flag == "filter" {
					for pattern := range strings.SplitSeq(rest[i+1], ",") {
						if _, err := selected([]string{pattern}, nil); err != nil {
							t.Errorf("%s: %v", line, err)
						}
					}
				}
			}
		}
	}
}

func TestFaultsAreListed(t *testing.T) {
	t.Parallel()
	text := inside(t, "serve", "--help")
	for _, fault := range webhook.Faults() {
		if !strings.Contains(text, "\n  "+fault.Name+" ") || !strings.Contains(text, " "+fault.Summary+"\n") {
			t.Errorf("serve --help lacks %s", fault.Name)
		}
	}
}

func TestRootAlone(t *testing.T) {
	t.Parallel()
	if got := inside(t); got != inside(t, "--help") || !strings.Contains(got, exitCodes) {
		t.Errorf("without arguments it says:\n%s", got)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	if script := inside(t, "completion", "bash"); !strings.Contains(script, "__start_crdconform") {
		t.Errorf("the script for bash is %.80q", script)
	}
	for args, want := range map[string][]string{
		"explain webhook.response.u":        {"webhook.response.uid"},
		"check --filter webhook.response.u": {"webhook.response.uid"},
		"run --skip webhook.response.u":     {"webhook.response.uid"},
		"list --filter webhook.response.u":  {"webhook.response.uid"},
		"explain no-such-thing":             nil,
		"serve --fault ":                    faultNames(),
	} {
		var out strings.Builder
		execute(t.Context(), append([]string{"__completeNoDesc"}, strings.Split(args, " ")...), streams{out: &out, err: io.Discard})
		var got []string
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, ":") && line != "" {
				got = append(got, line)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is completed by %v, want %v", args, got, want)
		}
	}
}

func faultNames() []string {
	var names []string
	for _, fault := range webhook.Faults() {
		names = append(names, fault.Name)
	}
	return names
}
