package corpus

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/visible"
)

// transition is in rules about what may be changed. They say nothing of an object that is not.
var transition = regexp.MustCompile(`\boldSelf\b`)

func (d *differing) rules(old, now *node) {
	for _, one := range now.rules {
		if slices.ContainsFunc(old.rules, func(before apiextensionsv1.ValidationRule) bool {
			return visible.Line(before.Rule) == visible.Line(one.Rule)
		}) {
			continue
		}
		if transition.MatchString(one.Rule) && (one.OptionalOldSelf == nil || !*one.OptionalOldSelf) {
			continue
		}
		change := "a rule must hold now: " + visible.Short(visible.Line(one.Rule), 200)
		if one.Message != "" {
			change = fmt.Sprintf("a rule must hold now: %s (%s)", strings.TrimSpace(one.Message), visible.Short(visible.Line(one.Rule), 200))
		}
		named := old.path == "" && strings.Contains(one.Rule, "metadata.name")
		d.add(difference{
			path: old.path, change: change, effect: Refused, at: old, unmet: d.unknown(old, now, one),
			named: named, free: named, creates: one.OptionalOldSelf != nil && *one.OptionalOldSelf && strings.Contains(one.Rule, "oldSelf.hasValue()"),
			values: func(m, _ *maker) []any { return m.against(old, newLone(d.now, now, one)) },
			sign:   func(p Problem) bool { return p.Sort == Rule && isOf(p.Message, one) },
		})
	}
}

// unknown says that a rule is about fields that an earlier schema did not have, if it is.
func (d *differing) unknown(old, now *node, one apiextensionsv1.ValidationRule) string {
	read := d.now.rulings()[now.path].read(one)
	if read == nil {
		return ""
	}
	var names []string
	for _, n := range read.fields {
		if rest, below := strings.CutPrefix(n.path, now.path); below && old.at(fieldpath.Split(rest)) == nil {
			names = append(names, n.path)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("no value was found that was allowed and is not now; the rule is about %s, which the schema did not have", strings.Join(names, ", "))
}

// isOf reports whether a message is that of a rule, or may be.
func isOf(message string, one apiextensionsv1.ValidationRule) bool {
	message = visible.Line(message)
	return one.MessageExpression != "" || one.Message != "" && strings.Contains(message, visible.Line(one.Message)) || strings.Contains(message, visible.Line(one.Rule))
}

// read returns what is known of a rule, nil if that is nothing.
func (r *ruling) read(one apiextensionsv1.ValidationRule) *rule {
	if r == nil {
		return nil
	}
	at := slices.IndexFunc(r.rules, func(known *rule) bool { return visible.Line(known.text) == visible.Line(one.Rule) })
	if at < 0 {
		return nil
	}
	return r.rules[at]
}

// lone evaluates one rule, without those around it and below it.
type lone struct {
	about   *rule
	checker *cel.Validator
}

// newLone returns what evaluates a rule at a place of a schema, nil if it cannot be evaluated alone.
func newLone(s *Schema, n *node, one apiextensionsv1.ValidationRule) *lone {
	structural := structuralAt(s.structural, fieldpath.Split(n.path))
	about := s.rulings()[n.path].read(one)
	if structural == nil || about == nil {
		return nil
	}
	alone := withoutRules(structural.DeepCopy())
	alone.XValidations = apiextensionsv1.ValidationRules{one}
	return &lone{about, cel.NewValidator(alone, n.path == "", celconfig.PerCallLimit)}
}

// structuralAt is the schema at a path of a node.
func structuralAt(s *structuralschema.Structural, way []fieldpath.Step) *structuralschema.Structural {
	for _, next := range way {
		switch inner, known := s.Properties[next.Key]; {
		case next.List && s.Items != nil:
			s = s.Items
		case known:
			s = &inner
		case s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
			s = s.AdditionalProperties.Structural
		default:
			return nil
		}
	}
	return s
}

// withoutRules takes all rules away from a schema, and what only validates, but for formats, which are types to rules.
func withoutRules(s *structuralschema.Structural) *structuralschema.Structural {
	s.XValidations = nil
	if v := s.ValueValidation; v != nil {
		s.ValueValidation = &structuralschema.ValueValidation{Format: v.Format}
	}
	for name, inner := range s.Properties {
		s.Properties[name] = *withoutRules(&inner)
	}
	if s.Items != nil {
		s.Items = withoutRules(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		s.AdditionalProperties.Structural = withoutRules(s.AdditionalProperties.Structural)
	}
	return s
}

// breaks reports whether a value breaks the rule.
func (l *lone) breaks(value any) bool {
	failures, _ := l.checker.Validate(context.Background(), field.NewPath("self"), nil, value, nil, celconfig.RuntimeCELCostBudget)
	return len(failures) > 0
}

// How many values are tried at most to break a rule, by how many changes each, and how many are enough.
const (
	mostBreaking = 24
	breakSteps   = 12
	mostBroken   = 4
)

// against makes values for a place that keep to its own rules and break another.
func (m *maker) against(n *node, other *lone) []any {
	if other == nil || other.checker == nil || m.g.places[n.id].broken {
		return m.several(n)
	}
	var breaking []any
	holds := func(value any) bool {
		own := m.g.rulings[n.path]
		if own == nil {
			return true
		}
		count, _ := own.broken(value)
		return count == 0
	}
	at := &node{kind: object, mapping: mapping{byName: map[string]*node{"self": n}}, limits: limits{required: map[string]bool{"self": true}}}
	for i := range mostBreaking {
		quick := m.g.maker(Plain, i, 1)
		quick.sparse, quick.minimal = i%3 == 1, i == 0
		quick.solving = unsolved
		trial := map[string]any{"self": quick.value(n)}
		for range breakSteps {
			value := trial["self"]
			if value == nil || len(breaking) == mostBroken {
				break
			}
			if other.breaks(value) && holds(value) {
				breaking = append(breaking, k8sruntime.DeepCopyJSONValue(value))
				break
			}
			quick.step(at, n, trial, other.about)
		}
	}
	return breaking
}
