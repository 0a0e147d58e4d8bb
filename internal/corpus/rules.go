package corpus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	gocel "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// ruling is what holds at a place by rules in CEL.
type ruling struct {
	checker *cel.Validator // of these rules and of all below
	rules   []*rule
}

// rule is what a rule in CEL talks about.
type rule struct {
	text, message string
	elsewhere     bool // its failures are reported at another path
	fields        []*node
	texts         []string            // strings that it has
	numbers       []int64             // integers that it has
	functions     map[string][]string // functions that it calls, each with the strings that it is given
}

// rulings returns the rules of a schema by the path of the place where they are.
func (s *Schema) rulings() map[string]*ruling {
	s.learn.Do(func() {
		s.ruled = map[string]*ruling{}
		if s.rules == nil {
			return
		}
		env, err := gocel.NewEnv(gocel.ClearMacros(), gocel.OptionalTypes())
		if err != nil {
			return // then rules are met by luck
		}
		s.study(env, s.root, s.rules)
	})
	return s.ruled
}

// study reads the rules of a place and of all below.
func (s *Schema) study(env *gocel.Env, n *node, checker *cel.Validator) {
	if n == nil || checker == nil {
		return
	}
	if len(n.rules) > 0 {
		known := &ruling{checker: checker}
		for _, one := range n.rules {
			read := &rule{text: strings.TrimSpace(one.Rule), message: one.Message, elsewhere: one.FieldPath != "", functions: map[string][]string{}}
			if parsed, issues := env.Parse(one.Rule); issues.Err() == nil {
				(&reader{rule: read}).read(parsed.NativeRep().Expr(), map[string]*node{cel.ScopedVarName: n})
			}
			known.rules = append(known.rules, read)
		}
		s.ruled[n.path] = known
	}
	for _, p := range n.properties {
		if inner, there := checker.Properties[p.name]; there {
			s.study(env, p.node, &inner)
		}
	}
	s.study(env, n.items, checker.Items)
	s.study(env, n.entries, checker.AdditionalProperties)
}

// reader walks through the expression of a rule.
type reader struct{ rule *rule }

// read notes what an expression talks about, and returns the place in the schema that it stands for, if it is one. The variables
// are places too.
func (r *reader) read(e ast.Expr, variables map[string]*node) *node {
	switch e.Kind() {
	case ast.IdentKind:
		return variables[e.AsIdent()]
	case ast.LiteralKind:
		r.literal(e)
	case ast.SelectKind:
		name := e.AsSelect().FieldName()
		if plain, ok := apiservercel.Unescape(name); ok {
			name = plain
		}
		return r.mention(r.read(e.AsSelect().Operand(), variables).child(name))
	case ast.CallKind:
		return r.call(e.AsCall(), variables)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.read(element, variables)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key(), variables)
			r.read(entry.AsMapEntry().Value(), variables)
		}
	case ast.ComprehensionKind, ast.StructKind, ast.UnspecifiedExprKind: // there are none without macros, but for bind
	}
	return nil
}

func (r *reader) mention(n *node) *node {
	if n != nil && !slices.Contains(r.rule.fields, n) {
		r.rule.fields = append(r.rule.fields, n)
	}
	return n
}

func (r *reader) literal(e ast.Expr) {
	switch value := e.AsLiteral().Value().(type) {
	case string:
		if !slices.Contains(r.rule.texts, value) {
			r.rule.texts = append(r.rule.texts, value)
		}
	case int64:
		r.rule.numbers = append(r.rule.numbers, value)
	case float64:
		r.rule.numbers = append(r.rule.numbers, int64(value))
	}
}

// call reads a call of a function. Of operators, the indexing ones lead to a place, and so does a condition whose branches do.
func (r *reader) call(call ast.CallExpr, variables map[string]*node) *node {
	var on *node
	if call.IsMemberFunction() {
		on = r.mention(r.read(call.Target(), variables))
	}
	args, name := call.Args(), call.FunctionName()
	inner := variables
	if call.IsMemberFunction() && len(args) > 1 && args[0].Kind() == ast.IdentKind {
		inner = bound(variables, on, args)
	}
	places := make([]*node, len(args))
	for i, arg := range args {
		places[i] = r.read(arg, inner)
		if arg.Kind() == ast.LiteralKind {
			if text, ok := arg.AsLiteral().Value().(string); ok {
				r.rule.functions[name] = append(r.rule.functions[name], text)
			}
		}
		if i == 0 || name == "_?_:_" {
			r.mention(places[i])
		}
	}
	if _, known := r.rule.functions[name]; !known {
		r.rule.functions[name] = nil
	}
	switch name {
	case "_[_]", "_[?_]":
		if place := places[0]; place != nil && place.items != nil {
			return r.mention(place.items)
		} else if place != nil {
			return r.mention(place.entries)
		}
	case "_?._":
		if args[1].Kind() == ast.LiteralKind {
			return r.mention(places[0].child(fmt.Sprint(args[1].AsLiteral().Value())))
		}
	case "_?_:_":
		if places[1] != nil {
			return places[1]
		}
		return places[2]
	case "orValue", "value", "filter", "flatten", "distinct", "sort", "reverse", "slice", "or", "lowerAscii", "trim":
		return on
	}
	return nil
}

// bound returns the variables of an expression that is about each part of a place.
func bound(variables map[string]*node, on *node, args []ast.Expr) map[string]*node {
	inner := make(map[string]*node, len(variables)+2)
	maps.Copy(inner, variables)
	part := on.item()
	if on != nil && on.items == nil {
		part = nil // these are keys
		if len(args) > 2 && args[1].Kind() == ast.IdentKind {
			inner[args[1].AsIdent()] = on.entries
		}
	} else if len(args) > 2 && args[1].Kind() == ast.IdentKind {
		inner[args[1].AsIdent()] = part
	}
	inner[args[0].AsIdent()] = part
	return inner
}

// broken returns how many rules a value breaks, here and below, and those that are of this place.
func (r *ruling) broken(value any) (int, []*rule) {
	at := field.NewPath("self")
	failures, _ := r.checker.Validate(context.Background(), at, nil, value, nil, celconfig.RuntimeCELCostBudget)
	var broken []*rule
	for _, one := range r.rules {
		if slices.ContainsFunc(failures, func(failure *field.Error) bool {
			return (one.elsewhere || failure.Field == "self") && (one.message != "" && strings.Contains(failure.Detail, one.message) || strings.Contains(failure.Detail, one.text))
		}) {
			broken = append(broken, one)
		}
	}
	if len(broken) == 0 && slices.ContainsFunc(failures, func(failure *field.Error) bool { return failure.Field == "self" }) {
		broken = r.rules // its message is made by another rule
	}
	return len(failures), broken
}
