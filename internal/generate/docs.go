package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/crdconform/crdconform/internal/chapters"
	"github.com/crdconform/crdconform/internal/disruption"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/visible"
)

// configurationPage writes docs/configuration.md: every key of the configuration, with the flags that override it.
func configurationPage() ([]byte, error) {
	schema, err := configuration()
	if err != nil {
		return nil, err
	}
	t := &visible.Table{Head: []string{"key", "flag", "meaning"}}
	addKeys(t, schema, schema, "")
	return []byte("# crdconform.yaml\n\n" +
		"Written by `make generate` from the types of package config and the table of options; a test keeps it up to date.\n\n" +
		"All keys of crdconform.yaml, with the flags that override them and the commands that have these. Any key can also be given as KEY=VALUE: `crdconform COMMAND --help` describes that and the flags. " +
		"File names are relative to the folder of the file. An unknown key is an error. [check.md](check.md#crdconformyaml) says more.\n\n" + t.Markdown()), nil
}

// addKeys adds the keys of a section, which is below a key.
func addKeys(t *visible.Table, schema, section *jsonschema.Schema, below string) {
	for pair := section.Properties.Oldest(); pair != nil; pair = pair.Next() {
		key, of := below+pair.Key, pair.Value
		t.Add(visible.Raw("`"+key+"`"), visible.Raw(flagsOf(key)), of.Description)
		if of.Items != nil {
			key, of = key+"[*]", of.Items
		}
		if name, is := strings.CutPrefix(of.Ref, "#/$defs/"); is {
			addKeys(t, schema, schema.Definitions[name], key+".")
		}
	}
}

// flagsOf lists the flags that override a key.
func flagsOf(key string) string {
	var flags []string
	commands := map[string][]string{}
	for _, o := range options.All() {
		if o.Flag == "" || strings.ReplaceAll(o.Key, "[0]", "[*]") != key && o.Key != key+"[0]" {
			continue
		}
		if commands[o.Flag] == nil {
			flags = append(flags, o.Flag)
		}
		commands[o.Flag] = append(commands[o.Flag], o.Commands...)
	}
	for i, flag := range flags {
		visible := slices.DeleteFunc(commands[flag], func(command string) bool { return command == "column" })
		flags[i] = fmt.Sprintf("`--%s` (%s)", flag, strings.Join(visible, ", "))
	}
	return strings.Join(flags, ", ")
}

// readme writes README.md with the numbers of requirements that run and check judge.
func readme() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	for pattern, format := range map[string]string{`\[\d+/\d+\]`: "[%[1]d/%[1]d]", `(\[ +\d+)/\d+\]`: "${1}/%d]", `of \d+ requirements failed`: "of %d requirements failed"} {
		areas := chapters.Run()
		if strings.HasPrefix(format, "of") {
			areas = chapters.Check()
		}
		counted := regexp.MustCompile(pattern)
		if !counted.Match(text) && err == nil {
			err = fmt.Errorf("README.md has nothing like %q", format)
		}
		text = counted.ReplaceAll(text, []byte(fmt.Sprintf(format, len(suites.Preview(areas)))))
	}
	return text, err
}

// scenariosPage writes docs/scenarios.md: what each scenario of disrupt does.
func scenariosPage() ([]byte, error) {
	t := &visible.Table{Head: []string{"scenario", "a program", "pods", "lasts"}}
	for _, s := range disruption.Scenarios() {
		pods, lasts := s.ForPods(), ""
		if !pods.Applies() {
			pods.Title = ""
		}
		if s.Hold > 0 {
			lasts = s.Hold.String()
		}
		t.Add(strings.TrimPrefix(string(s.ID), disruption.Area+"."), s.Title, pods.Title, lasts)
	}
	return []byte("# Scenarios of disrupt\n\n" +
		"Written by `make generate` from package disruption; a test keeps it up to date.\n\n" +
		"What [`disrupt`](disruption.md) does to a program, and to [pods](disruption.md#pods). Scenarios without an entry for pods are NotApplicable there.\n\n" + t.Markdown()), nil
}
