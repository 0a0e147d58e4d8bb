package lint

import (
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Off is the level of findings that are left out.
const Off Level = "off"

// Exception is the level of what a rule finds: everywhere, in a definition, or at a field.
type Exception struct {
	Rule       RuleID
	Definition string             // its name; any if empty
	Field      *fieldpath.Pattern // of objects, or of the definition; any if nil
	Level      Level
}

// exceptions are those of a run, with which of them fit a finding.
type exceptions struct {
	all  []Exception
	used []bool
}

// levelOf returns the level that a finding of a rule has at a path of the definition that is about a field. Of several exceptions, the last counts.
func (c *checker) levelOf(id RuleID, path, about string, level Level) Level {
	inDefinition := fieldpath.Join(fieldpath.Split(path)) // with quotes
	for i, one := range c.exceptions.all {
		here := one.Field == nil || one.Field.Matches(inDefinition) || one.Field.Matches(ofObjects(path)) || about != "" && one.Field.Matches(about)
		if here && one.Rule == id && (one.Definition == "" || one.Definition == c.crd.Name) {
			c.exceptions.used[i] = true
			level = one.Level
		}
	}
	return level
}

// unused returns the exceptions for definitions that were judged, which fit no finding there. Those of rules that were not applied, as they
// compare with old definitions, may fit another time.
func (e *exceptions) unused(judged []*definition, compared bool) []int {
	var unused []int
	for i, one := range e.all {
		ofUpgrades := slices.ContainsFunc(slices.Concat(upgradeRules(), schemaUpgradeRules(), definitionUpgradeRules()), func(r Rule) bool { return r.ID == one.Rule })
		was := slices.ContainsFunc(judged, func(d *definition) bool { return d.crd.Name == one.Definition })
		if !e.used[i] && was && (compared || !ofUpgrades) {
			unused = append(unused, i)
		}
	}
	return unused
}

// ofObjects is the path of objects that a path of a schema is about: spec.list[0].name of
// spec.versions[1].schema.openAPIV3Schema.properties[spec].properties[list].items.properties[name]. Others stay as they are.
func ofObjects(path string) string {
	_, inside, found := strings.Cut(path, ".schema.openAPIV3Schema")
	if !found {
		return path
	}
	result := ""
	for way := steps(strings.TrimPrefix(inside, ".")); len(way) > 0; way = way[1:] {
		switch {
		case way[0] == "items":
			result = fieldpath.Item(result, 0)
		case way[0] == "additionalProperties":
			result = fieldpath.Child(result, "key")
		case way[0] == "properties" && len(way) > 1:
			way = way[1:]
			result = fieldpath.Child(result, way[0])
		default:
			return result // a keyword of the field
		}
	}
	return result
}

// apart returns the fields that a finding is about in groups: those at which it has the same level.
func (c *checker) apart(id RuleID, level Level, fields []*node) [][]*node {
	var groups [][]*node
	at := map[Level]int{}
	for _, n := range fields {
		is := c.levelOf(id, n.path.String(), "", level)
		i, known := at[is]
		if !known {
			i, at[is] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}

// judged returns the findings at the levels that they are to have.
func (c *checker) judged() []Diagnostic {
	for i, f := range c.findings {
		c.findings[i].Level = c.levelOf(f.Rule, f.Path, f.field, f.Level)
	}
	return slices.DeleteFunc(c.findings, func(f Diagnostic) bool { return f.Level == Off })
}
