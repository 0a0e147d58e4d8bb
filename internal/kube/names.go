package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrNamesTaken is that an API server does not accept the names of a definition.
var ErrNamesTaken = errors.New("its names are taken")

// Taken returns the error of a definition whose names an API server does not accept, with the definitions that have them if it may list these.
func (d Definitions) Taken(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	all, err := d.Client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return ErrNamesTaken // what else there is, only the server knows
	}
	var holders []string
	for i := range all.Items {
		if holder := Holder(crd, &all.Items[i]); holder != "" {
			holders = append(holders, holder)
		}
	}
	if len(holders) == 0 {
		return ErrNamesTaken
	}
	return fmt.Errorf("%w: %s", ErrNamesTaken, strings.Join(holders, ", "))
}

// Holder says which names of a definition another one has; it is empty if that has none. API servers keep apart what the definitions of a
// group are called: plurals, singulars and short names, and kinds and kinds of lists.
func Holder(crd, other *apiextensionsv1.CustomResourceDefinition) string {
	if other.Name == crd.Name || other.Spec.Group != crd.Spec.Group {
		return ""
	}
	has := map[name]bool{}
	for _, n := range namesOf(other.Status.AcceptedNames) {
		has[name{"", n.text, n.kind}] = true
	}
	var taken []string
	for _, n := range namesOf(crd.Spec.Names) {
		if key := (name{"", n.text, n.kind}); has[key] {
			taken, has[key] = append(taken, "the "+n.role+" "+n.text), false
		}
	}
	if len(taken) == 0 {
		return ""
	}
	return other.Name + " has " + strings.Join(taken, " and ")
}

// name is a name of a resource or of a kind.
type name struct {
	role string // such as plural
	text string
	kind bool
}

// namesOf returns the names of a definition, with those that API servers fill in.
func namesOf(names apiextensionsv1.CustomResourceDefinitionNames) []name {
	all := []name{
		{"plural", names.Plural, false},
		{"singular", cmp.Or(names.Singular, strings.ToLower(names.Kind)), false},
		{"kind", names.Kind, true},
		{"kind of lists", cmp.Or(names.ListKind, names.Kind+"List"), true},
	}
	for _, short := range names.ShortNames {
		all = append(all, name{"short name", short, false})
	}
	return all
}
