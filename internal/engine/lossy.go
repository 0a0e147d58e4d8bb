package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/options"
)

// noteIdleLosses adds a note for each declared loss that is about no field of the objects to check: its path, kind or version may be
// misspelt. That is no error, because one configuration may serve checks of several definitions.
func (p *Plan) noteIdleLosses() {
	for i, l := range p.want.Lossy {
		if !slices.ContainsFunc(p.kinds, func(kind corpus.Corpus) bool { return concerns(l, kind) }) {
			p.notes = append(p.notes, fmt.Sprintf("lossy[%d] declares the loss of %s, which is not a field of the objects to check%s", i, l.Path, about(l)))
		}
	}
}

// noteIdleMeanings adds a note for each field that is declared to have other values at another version and is no field of the objects to check.
func (p *Plan) noteIdleMeanings() {
	idle := func(key string, path config.Pattern, group, kind string) {
		l := config.Lossy{Path: path, Group: group, Kind: kind}
		if !slices.ContainsFunc(p.kinds, func(kind corpus.Corpus) bool { return concerns(l, kind) }) {
			p.notes = append(p.notes, fmt.Sprintf("%s names %s, which is not a field of the objects to check%s", key, path, about(l)))
		}
	}
	for i, m := range p.want.Moved {
		idle(options.Item("moved", i), m.Path, m.Group, m.Kind)
	}
	for i, r := range p.want.RenamedValues {
		idle(options.Item("renamedValues", i), r.Path, r.Group, r.Kind)
	}
}

// about names what a declared loss is limited to.
func about(l config.Lossy) string {
	var parts []string
	for _, part := range [][2]string{{"group", l.Group}, {"kind", l.Kind}, {"from", l.From}, {"through", l.Through}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// concerns reports whether a declared loss may be one of a kind. Without a schema any path may be.
func concerns(l config.Lossy, kind corpus.Corpus) bool {
	if l.Group != "" && l.Group != kind.Group || l.Kind != "" && l.Kind != kind.Kind || l.Through != "" && !slices.Contains(kind.Versions, l.Through) {
		return false
	}
	return slices.ContainsFunc(kind.Versions, func(version string) bool {
		return (l.From == "" || l.From == version) && (kind.Definition == nil || mayHave(kind.Definition.Schema(version), l.Path.String()))
	})
}

// mayHave reports whether a schema has a field at a path with wildcards. Of what is below * in place of a field it knows nothing.
func mayHave(schema *corpus.Schema, path string) bool {
	known, _, _ := strings.Cut("."+path, ".*")
	return schema == nil || schema.Has(known)
}
