package lint

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crdconform/crdconform/internal/visible"
)

// oldestMinor is the minor of Kubernetes 1 from which on it is said what a definition needs.
const oldestMinor = 28

// need is something that API servers before a minor do not have.
type need struct {
	minor int
	what  string
	older string // what API servers do before
	path  *field.Path
}

// checkKubernetes notes from which minor of Kubernetes on the definition works.
func (c *checker) checkKubernetes() {
	if c.crd.UID != "" {
		return // it is installed
	}
	needs := map[string]need{}
	add := func(n need) {
		if _, known := needs[n.what]; !known && n.minor > oldestMinor {
			needs[n.what] = n
		}
	}
	for i, v := range c.crd.Spec.Versions {
		if len(v.SelectableFields) > 0 {
			add(need{31, "selectableFields", drop, versionsPath().Index(i).Child("selectableFields")})
		}
		if s := schemaOf(v); s != nil {
			all, _ := flatten(s, schemaPath(i))
			for _, n := range all {
				needsOf(n, add)
			}
		}
	}
	all := slices.SortedFunc(maps.Values(needs), func(a, b need) int {
		if a.minor != b.minor {
			return b.minor - a.minor
		}
		return strings.Compare(a.what, b.what)
	})
	if len(all) == 0 {
		return
	}
	var texts []string
	for _, n := range all {
		texts = append(texts, fmt.Sprintf("%s (1.%d; older servers %s)", n.what, n.minor, n.older))
	}
	c.found(NeedsKubernetes, all[0].path, "this needs Kubernetes 1.%d or newer: %s; say so where users see it, or do without", all[0].minor, visible.First(texts, mostNames))
}

// What API servers do with what they do not know.
const (
	drop   = "drop it without an error"
	ignore = "ignore it"
	refuse = "reject the definition"
)

// needsOf adds what a field needs.
func needsOf(n *node, add func(need)) {
	if format := n.schema.Format; strings.HasPrefix(format, "k8s-") {
		add(need{34, "the format " + format, ignore, n.path})
	}
	if len(n.schema.XValidations) == 0 {
		return
	}
	for i, rule := range n.schema.XValidations {
		if rule.OptionalOldSelf != nil && *rule.OptionalOldSelf {
			add(need{30, "optionalOldSelf", drop, n.path.Child("x-kubernetes-validations").Index(i)})
		}
	}
	var internal apiextensions.JSONSchemaProps
	if apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(n.schema, &internal, nil) != nil {
		return // API servers say why
	}
	structural, err := schema.NewStructural(&internal)
	if err != nil {
		return
	}
	for _, one := range append(rulesNeed(n, structural), namesNeed(n, structural)...) {
		add(one)
	}
}

// rulesNeed returns the functions that the rules of a field use and older API servers lack. An API server accepts in new definitions what
// the minor before it knew, so that it can be rolled back.
func rulesNeed(n *node, structural *schema.Structural) []need {
	var all []need
	var before []cel.CompilationResult // what the minor before says
	for minor := uint(oldestMinor - 1); ; minor++ {
		results := compiled(structural, model.SchemaDeclType(structural, n.parent == nil), minor)
		path := func(i int) *field.Path { return n.path.Child("x-kubernetes-validations").Index(i) }
		for i := range min(len(before), len(results)) {
			for _, name := range unknown(before[i], results[i]) {
				all = append(all, need{int(minor) + 1, name, refuse, path(i)})
			}
		}
		failing := slices.ContainsFunc(results, func(r cel.CompilationResult) bool { return r.Error != nil })
		if before = results; !failing || minor >= environment.DefaultCompatibilityVersion().Minor() {
			return all // what still fails the newest rejects too
		}
	}
}

// unknown returns what a minor does not know of a rule that the next one knows.
func unknown(before, after cel.CompilationResult) []string {
	if before.Error == nil {
		return nil
	}
	known := func(name string) bool {
		return after.Error == nil || !slices.Contains(undeclared(after.Error.Detail), name)
	}
	names := slices.DeleteFunc(undeclared(before.Error.Detail), func(name string) bool { return !known(name) })
	switch {
	case len(names) > 0:
		return []string{visible.First(names, mostNames) + " in rules"}
	case after.Error == nil:
		return []string{"the syntax of a rule"}
	}
	return nil
}

// undeclared returns the names that the compiler of rules does not know.
func undeclared(said string) []string {
	var names []string
	for _, match := range regexp.MustCompile(`undeclared reference to '([^']+)'`).FindAllStringSubmatch(said, -1) {
		if !slices.Contains(names, match[1]) {
			names = append(names, match[1])
		}
	}
	return names
}

// namesNeed returns the rules that cost too much for API servers before 1.37, which take names of objects for as long as a request may be,
// whatever the schema says.
func namesNeed(n *node, structural *schema.Structural) (all []need) {
	if n.parent != nil {
		return nil
	}
	text := schema.Structural{Generic: schema.Generic{Type: "string"}}
	before := structural.DeepCopy()
	properties := map[string]schema.Structural{"apiVersion": text, "kind": text}
	maps.Copy(properties, before.Properties)
	properties["metadata"] = schema.Structural{Generic: schema.Generic{Type: "object"}, Properties: map[string]schema.Structural{"name": text, "generateName": text}}
	before.Properties = properties
	newest := environment.DefaultCompatibilityVersion().Minor()
	now := compiled(structural, model.SchemaDeclType(structural, true), newest)
	for i, was := range compiled(before, model.SchemaDeclType(before, false), newest) {
		if i < len(now) && was.MaxCost > validation.StaticEstimatedCostLimit && now[i].MaxCost <= validation.StaticEstimatedCostLimit {
			all = append(all, need{37, "a rule about the name of objects that costs too much if it has no limit", refuse, n.path.Child("x-kubernetes-validations").Index(i)})
		}
	}
	return all
}

// compiled compiles the rules about a value of a type as API servers do that have the functions of a minor.
func compiled(s *schema.Structural, of *apiservercel.DeclType, minor uint) []cel.CompilationResult {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, minor))
	results, err := cel.Compile(s, of, celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	if err != nil {
		return nil // API servers say why
	}
	return results
}
