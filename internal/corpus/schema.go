package corpus

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Schema is what one version of a definition says of its objects. It can be used by several goroutines at once. Nil is a
// schema of which nothing is known: it allows everything.
type Schema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil when there are none
	root       *node
	nodes      int  // how many there are under root, with root
	unsure     bool // only validation shows whether a generated object is valid
	doubt      bool // only validation shows that for any object
	defaults   bool // there are any

	learn sync.Once
	ruled map[string]*ruling // by path, once they are learned
}

// ProblemSort is what is wrong with a value.
type ProblemSort string

// The kinds of problems.
const (
	WrongType ProblemSort = "WrongType" // a JSON type that the schema does not allow
	Unknown   ProblemSort = "Unknown"   // what API servers drop: a field that the schema does not have, or null where it allows none
	Invalid   ProblemSort = "Invalid"   // the right type, but against the schema: enum, pattern, limits, format, required, oneOf, list types, embedded metadata
	Rule      ProblemSort = "Rule"      // against a rule in CEL
)

// Problem is what API servers would not keep as it is.
type Problem struct {
	Path    string // as in Loss; empty for the object itself
	Message string
	Sort    ProblemSort
}

// MaySolve reports whether an object with problems might have none with another value at a path: each is there, above or below, or
// may depend on anything.
func MaySolve(problems []Problem, path string) bool {
	way := fieldpath.Split(path)
	return !slices.ContainsFunc(problems, func(p Problem) bool {
		place := fieldpath.Split(p.Path)
		// What is said of an item may be due to the other items.
		if first := slices.IndexFunc(place, func(s fieldpath.Step) bool { return s.List }); first >= 0 {
			place = place[:first]
		}
		shared := min(len(place), len(way))
		return p.Sort != Rule && !slices.Equal(place[:shared], way[:shared])
	})
}

// String says where the problem is, and what it is.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

func newSchema(v1 *apiextensionsv1.JSONSchemaProps) (*Schema, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	structural = structural.DeepCopy() // it shares defaults with internal
	if err = defaulting.PruneDefaults(structural); err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	s := &Schema{structural: structural, validator: validator, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}
	s.compile()
	return s, nil
}

// Prepare does to an object what API servers do to one that is sent to them: it drops fields that the schema does not have,
// and nulls where it allows none, and fills in defaults. Metadata that cannot be decoded is left as it is, and Problems
// reports it where it is embedded.
func (s *Schema) Prepare(object map[string]any) {
	if s == nil {
		return
	}
	if !s.certain(object) { // or nothing would be dropped
		s.prune(object)
	}
	defaulting.Default(object, s.structural)
}

// prune drops what API servers drop, and returns the paths of it.
func (s *Schema) prune(object map[string]any) []string {
	tracked := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	dropped := pruning.PruneWithOptions(object, s.structural, true, tracked)
	dropped = append(dropped, nulls(s.root, "", object)...)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	if _, unknown := objectmeta.CoerceWithOptions(nil, object, s.structural, false, objectmeta.CoerceOptions{ReturnUnknownFieldPaths: true}); len(unknown) > 0 {
		dropped = append(dropped, unknown...)
	}
	slices.Sort(dropped) // objects are gone through in any order, and a run with the same seed says the same
	return dropped
}

// Problems returns what API servers would not keep or would refuse in an object that is sent to them, in no special
// order; nil when there is nothing. The metadata of the object itself is judged only as far as the schema limits it.
// Values are validated as they are after dropping, and rules only when the rest is fine, as API servers do.
func (s *Schema) Problems(object map[string]any) []Problem {
	return s.problems(context.Background(), object)
}

func (s *Schema) problems(ctx context.Context, object map[string]any) []Problem {
	switch {
	case s == nil:
		return nil
	case s.certain(object):
		return s.unruly(ctx, object)
	}
	return s.validated(ctx, object)
}

// validated returns what upstream's validation finds.
func (s *Schema) validated(ctx context.Context, object map[string]any) []Problem {
	var problems []Problem
	whole := object
	object = runtime.DeepCopyJSON(object)
	for _, path := range s.prune(object) {
		problems = append(problems, Problem{quotedIn(whole, path), "API servers drop this: the schema does not contain it, or does not allow null there", Unknown})
	}
	return append(problems, s.invalid(ctx, object)...)
}

// quotedIn is upstream's path of a field that an object has, with quotes around keys that have dots in them. Other paths stay as they are.
func quotedIn(object map[string]any, path string) string {
	var found func(value any, path, before string) (string, bool)
	found = func(value any, path, before string) (string, bool) {
		if path == "" {
			return before, true
		}
		switch value := value.(type) {
		case map[string]any:
			rest := strings.TrimPrefix(path, ".")
			for _, key := range slices.Sorted(maps.Keys(value)) {
				end, is := strings.CutPrefix(rest, key)
				if !is || key == "" || end != "" && end[0] != '.' && end[0] != '[' {
					continue
				}
				if whole, is := found(value[key], end, fieldpath.Child(before, key)); is {
					return whole, true
				}
			}
		case []any:
			for i, inner := range value {
				item := fieldpath.Item("", i)
				if end, is := strings.CutPrefix(path, item); is {
					return found(inner, end, before+item)
				}
			}
		}
		return "", false
	}
	if whole, is := found(object, path, ""); is {
		return whole
	}
	return path
}

// invalid returns the problems of an object that was pruned.
func (s *Schema) invalid(ctx context.Context, object map[string]any) []Problem {
	errs := validation.ValidateCustomResource(nil, object, s.validator)
	errs = append(errs, objectmeta.Validate(ctx, nil, object, s.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if problems := translated(errs, Invalid); len(problems) > 0 {
		for i := range problems {
			problems[i].Path = quotedIn(object, problems[i].Path)
		}
		return problems
	}
	return s.unruly(ctx, object)
}

// unruly returns what an object breaks of the rules in CEL.
func (s *Schema) unruly(ctx context.Context, object map[string]any) []Problem {
	if s.rules == nil {
		return nil
	}
	broken, _ := s.rules.Validate(ctx, nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	for _, err := range broken {
		if value, found := Value(object, err.Field); found {
			err.BadValue = value // upstream's lacks what is in it
		}
	}
	return translated(broken, Rule)
}

// translated returns upstream's errors as problems of a kind, unless they are about a wrong type.
func translated(errs field.ErrorList, sort ProblemSort) []Problem {
	var problems []Problem
	for _, err := range errs {
		problem := Problem{Path: err.Field, Message: message(err), Sort: sort}
		if err.Type == field.ErrorTypeTypeInvalid && !isFormat(err.Detail) {
			problem.Sort = WrongType
		}
		if problem.Path == "<nil>" || problem.Path == "" {
			problem.Path = named(err.Detail)
		}
		problems = append(problems, problem)
	}
	return problems
}

// isFormat reports whether it is a message on a format, which upstream takes for a type.
func isFormat(detail string) bool {
	_, wanted, ok := strings.Cut(detail, "must be of type ")
	wanted, _, _ = strings.Cut(wanted, ":")
	return ok && strfmt.Default.ContainsName(wanted)
}

// named is the path that upstream's messages on anyOf, oneOf and not begin with, in quotation marks, and that those on the format of
// numbers end with.
func named(detail string) string {
	if !strings.HasPrefix(detail, `"`) {
		_, path, _ := strings.Cut(detail, " in ")
		if !strings.HasPrefix(detail, "Checked value must be of type ") {
			return ""
		}
		return path
	}
	path, _, closed := strings.Cut(detail[1:], `" must `)
	if !closed {
		return ""
	}
	return path
}

// message is upstream's without the path, which may be long and is kept apart, and with a value that is cut.
func message(err *field.Error) string {
	text := strings.ToLower(err.Type.String())
	if err.BadValue != nil && err.BadValue != "" {
		text += " " + shown(err.BadValue)
	}
	if err.Detail != "" {
		text += ": " + err.Detail
	}
	return text
}
