package lint

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

// checkOldSchemas compares the schemas of the versions that the old definition served, or stored objects at, with those that they have
// now.
func (c *checker) checkOldSchemas() {
	if c.old == nil {
		return
	}
	u := &upgrade{checker: c}
	for i, v := range c.crd.Spec.Versions {
		was, there := c.old.version(v.Name)
		used := was.Served && v.Served || slices.Contains(c.old.storedVersions(), v.Name)
		if !there || !used || reflect.DeepEqual(was.Schema, v.Schema) || schemaOf(v) == nil || schemaOf(was) == nil {
			continue
		}
		if !u.compile() {
			return
		}
		u.compare(i, v, was)
	}
	u.report()
}

// upgrade compares a definition with the one that it replaces.
type upgrade struct {
	*checker

	before, after *corpus.Definition
	changes       []*change
}

// change is a difference between two schemas, at some versions.
type change struct {
	rule     RuleID
	level    Level
	path     string // of the field
	what     string // is different, with what follows
	object   string // that shows it, if there is one
	advice   string
	place    *field.Path
	versions []string
}

// compile compiles both definitions. It is false if that fails, which is noted: what API servers refuse is said elsewhere, and not of the
// old definition.
func (u *upgrade) compile() bool {
	if u.before != nil {
		return true
	}
	for _, one := range []struct {
		compiled **corpus.Definition
		from     *definition
		which    string
	}{{&u.before, u.old, "old"}, {&u.after, u.definition, "new"}} {
		var err error
		crd := one.from.crd.DeepCopy()
		crd.Spec.PreserveUnknownFields = false // what no schema names cannot be compared
		if *one.compiled, err = corpus.NewDefinition(crd); err != nil {
			u.found(SchemasNotCompared, versionsPath(), "the schemas are not compared with the old ones: the %s %s", one.which, err)
			return false
		}
	}
	return true
}

// seed is the one of the objects that show differences.
const seed = 1

func (u *upgrade) compare(i int, now, was apiextensionsv1.CustomResourceDefinitionVersion) {
	_, before := flatten(schemaOf(was), nil)
	all, after := flatten(schemaOf(now), schemaPath(i))
	stale, gaps := u.after.Generator(now.Name, seed, nil).Earlier(u.before)
	for _, s := range stale {
		one := judged(s, before[nodeName(s.Path)], after[nodeName(s.Path)])
		one.place = u.schemaPlace(i, s.Path)
		u.add(now.Name, one)
	}
	for _, gap := range gaps {
		u.add(now.Name, change{rule: DifferenceUnshown, level: Note, path: gap.Path, what: gap.Reason, place: u.schemaPlace(i, gap.Path)})
	}
	for _, n := range all {
		if old := before[n.name]; old != nil {
			for _, one := range slices.Concat(extended(n, old), fixed(n, old)) {
				one.path, one.place = n.String(), n.path
				u.add(now.Name, one)
			}
		}
	}
}

// judged says what follows from a difference, of which there is an object that shows it.
func judged(s corpus.Stale, before, after *node) change {
	one := change{path: s.Path, what: s.Change, object: shown(s)}
	within, whole := around(s)
	was, _ := first(s.Stored.Object, fieldpath.Split(s.Path))
	switch {
	case before != nil && after != nil && typesDiffer(before, after):
		one.rule, one.level = TypeChanged, Error
		one.advice = "stored values are not converted, and writes of the old type are refused; keep the type, or change it in a new version"
	case s.Effect == corpus.Dropped && was == nil:
		one.rule, one.level = StoredValuesDropped, Warning
		one.advice = "keep nullable: true, unless null means the same as no value"
	case s.Effect == corpus.Dropped:
		one.rule, one.level = StoredValuesDropped, Error
		one.advice = "stored objects and writes lose it; keep it, or remove it in a new version to which the webhook converts"
	case s.Effect == corpus.Kept:
		one.rule, one.level = DefaultChanged, Warning
		one.advice = "without the field, manifests and objects that were stored without it mean something else; keep the default at this version"
	case s.Creates:
		one.rule, one.level = ValuesRefused, Warning
		one.advice = "new objects like it are refused; those that are stored can be changed still"
	case whole && s.Named:
		one.rule, one.level = StoredObjectsRefused, Error
		one.advice = "a stored object keeps its name, so every change to it is refused from then on, also to its status and finalizers; let the rule pass what is stored (optionalOldSelf: true, and oldSelf.hasValue() || ...)"
	case whole:
		one.rule, one.level = StoredObjectsRefused, Error
		one.advice = fmt.Sprintf("stored objects can be read, but every change to %s is refused until it is mended, and so are new objects; allow it still, or give it a default", cmp.Or(listAround(after), within))
	default:
		one.rule, one.level = ValuesRefused, Error
		one.advice = fmt.Sprintf("writes with it are refused; stored objects keep it while %s does not change (before Kubernetes 1.30 no update passes); allow it still, or change it in a new version", cmp.Or(listAround(after), "the field"))
	}
	switch {
	case s.Effect != corpus.Refused || one.level != Error:
	case s.Free && before == nil: // nobody wrote what the schema did not name as another type
		one.level = Note
	case s.Free, before != nil && after != nil && onlyKeysDiffer(before.schema, after.schema): // perhaps nobody has such a value
		one.level = Warning
	}
	return one
}

// transition is in rules about changes.
var transition = regexp.MustCompile(`\boldSelf\b`)

// fixed returns the new rules about changes, which no object alone can break.
func fixed(now, old *node) (all []change) {
	for _, one := range now.schema.XValidations {
		known := slices.ContainsFunc(old.schema.XValidations, func(before apiextensionsv1.ValidationRule) bool {
			return visible.Line(before.Rule) == visible.Line(one.Rule)
		})
		if known || !transition.MatchString(one.Rule) || one.OptionalOldSelf != nil && *one.OptionalOldSelf {
			continue
		}
		all = append(all, change{
			rule: ValuesRefused, level: Warning, what: "a rule must hold now of what is changed: " + visible.Short(visible.Line(cmp.Or(one.Message, one.Rule)), 200),
			advice: "updates that break it are refused, and passed before; allow them still, or tell users",
		})
	}
	return all
}

// onlyKeysDiffer reports whether a list that was atomic has keys now, or is a set, and nothing else of it is stricter.
func onlyKeysDiffer(was, is *apiextensionsv1.JSONSchemaProps) bool {
	return is.Type == "array" && listType(was) == atomic && listType(is) != atomic && reflect.DeepEqual(was.MaxItems, is.MaxItems) && reflect.DeepEqual(was.MinItems, is.MinItems)
}

// around returns the object or the value that API servers refuse as a whole when anything in it changes, and whether that is an object
// with more fields.
func around(s corpus.Stale) (string, bool) {
	way := fieldpath.Split(s.Path)
	value, there := first(s.Object.Object, way)
	if !there && len(way) > 0 {
		way, value = way[:len(way)-1], map[string]any{}
	}
	name := "the object, also to its status,"
	if len(way) > 0 {
		name = fieldpath.Join(way)
	}
	_, whole := value.(map[string]any)
	return name, whole
}

// listAround names the uppermost list around a field whose items API servers cannot distinguish, so that they validate all of them when one
// changes. It is empty if there is none.
func listAround(n *node) string {
	list := ""
	for ; n != nil && n.parent != nil; n = n.parent {
		if above := n.parent; above.schema.Type == "array" && (above.schema.XListType == nil || *above.schema.XListType != "map") {
			list = above.name
		}
	}
	return list
}

// first returns the first value that a path of any item and any key leads to.
func first(value any, way []fieldpath.Step) (any, bool) {
	if len(way) == 0 {
		return value, true
	}
	switch container := value.(type) {
	case map[string]any:
		if inner, there := container[way[0].Key]; there {
			return first(inner, way[1:])
		}
		if way[0].Key != "<key>" {
			return nil, false
		}
		for _, key := range slices.Sorted(maps.Keys(container)) {
			if found, there := first(container[key], way[1:]); there {
				return found, true
			}
		}
	case []any:
		for _, inner := range container {
			if found, there := first(inner, way[1:]); way[0].List && there {
				return found, true
			}
		}
	}
	return nil, false
}

// shown is an object, without what every object has, as short JSON.
func shown(s corpus.Stale) string {
	fields := map[string]any{}
	for key, value := range s.Stored.Object {
		if key != "apiVersion" && key != "kind" && key != "metadata" {
			fields[key] = value
		}
	}
	if s.Named {
		fields["metadata"] = map[string]any{"name": s.Stored.GetName()}
	}
	text, _ := json.Marshal(fields) // it came from JSON
	return visible.Short(string(text), 300)
}

// extended returns what a schema allows and says besides what it did, which is new to those who read.
func extended(now, was *node) []change {
	var all []change
	add := func(rule RuleID, level Level, advice, format string, arguments ...any) {
		all = append(all, change{rule: rule, level: level, what: fmt.Sprintf(format, arguments...), advice: advice})
	}
	const readers = "clients that read get a value that they may not know"
	if was.fallback() == "" && now.fallback() != "" && !now.isZero() {
		add(DefaultChanged, Note, "objects without the field have it from then on, also stored ones", "there is a default now, %s", now.fallback())
	}
	if news := missing(now.schema.Enum, was.schema.Enum); len(was.schema.Enum) > 0 && len(now.schema.Enum) > 0 && len(news) > 0 {
		add(ValuesExtended, Note, readers, "new values are allowed: %s", visible.First(news, mostNames))
	}
	if len(was.schema.Enum) > 0 && len(now.schema.Enum) == 0 {
		add(ValuesExtended, Note, readers, "any value is allowed now")
	}
	if now.schema.Nullable && !was.schema.Nullable {
		add(ValuesExtended, Note, readers, "null is allowed now")
	}
	if a, b := listType(was.schema), listType(now.schema); a != b && was.schema.Type == "array" && now.schema.Type == "array" {
		level, advice := Warning, "who applies the list removes the items that others applied; keep it, or change it in a new version"
		if a == atomic {
			level, advice = Note, "who applied the list before owns all items, and those who apply only some from then on share them"
		}
		add(ListTypeChanged, level, advice, "the list was %s and is %s now", a, b)
	}
	return all
}

// missing returns the values of one list that another does not have.
func missing(of, in []apiextensionsv1.JSON) []string {
	known := map[string]bool{}
	for _, value := range in {
		known[canonical(value.Raw)] = true
	}
	var all []string
	for _, value := range of {
		if text := canonical(value.Raw); !known[text] {
			all = append(all, text)
		}
	}
	return all
}

// atomic is how server-side apply merges a list of no type.
const atomic = "atomic"

// listType says how server-side apply merges a list.
func listType(s *apiextensionsv1.JSONSchemaProps) string {
	if s.XListType == nil {
		return atomic
	}
	if *s.XListType == "map" {
		return "a map by " + strings.Join(s.XListMapKeys, " and ")
	}
	return strings.Replace(*s.XListType, "set", "a set", 1)
}

// nodeName is the name of the node at a path of a field.
func nodeName(path string) string {
	name := ""
	for _, step := range fieldpath.Split(path) {
		switch {
		case step.List:
			name += "[]"
		case step.Key == "<key>":
			name += ".*"
		case name == "":
			name = step.Key
		default:
			name += "." + step.Key
		}
	}
	return name
}

// schemaPlace returns where the schema of a version has a field, or else what is nearest above it.
func (c *checker) schemaPlace(i int, path string) *field.Path {
	at, s := schemaPath(i), schemaOf(c.crd.Spec.Versions[i])
	for _, step := range fieldpath.Split(path) {
		property, named := s.Properties[step.Key]
		switch {
		case step.List && s.Items != nil && s.Items.Schema != nil:
			at, s = at.Child("items"), s.Items.Schema
		case !step.List && named:
			at, s = at.Child("properties").Key(step.Key), &property
		case !step.List && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
			at, s = at.Child("additionalProperties"), s.AdditionalProperties.Schema
		default:
			return at
		}
	}
	return at
}

// add adds a change of a version. The same at several versions is one.
func (u *upgrade) add(version string, one change) {
	for _, known := range u.changes {
		if known.rule == one.rule && known.path == one.path && known.what == one.what {
			known.versions = append(known.versions, version)
			return
		}
	}
	one.versions = []string{version}
	u.changes = append(u.changes, &one)
}

func (u *upgrade) report() {
	for _, one := range u.changes {
		text := one.what
		if one.path != "" {
			text = one.path + ": " + text
		}
		if one.object != "" {
			text += ", such as in " + one.object
		}
		if one.advice != "" {
			text += "; " + one.advice
		}
		u.foundAs(one.level, one.rule, one.place, "at %s, %s", strings.Join(one.versions, " and "), text)
	}
}
