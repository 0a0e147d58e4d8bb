package kube

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestTaken names the definitions that have the names of another one.
func TestTaken(t *testing.T) {
	t.Parallel()
	named := func(group, plural, kind string, short ...string) *apiextensionsv1.CustomResourceDefinition {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		crd.Name, crd.Spec.Group = plural+"."+group, group
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ShortNames: short}
		crd.Status.AcceptedNames = crd.Spec.Names
		return crd
	}
	refused := named("example.com", "tabs", "Tab", "ct", "t")
	refused.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{}
	for name, test := range map[string]struct {
		others []runtime.Object
		want   string
	}{
		"nobody":                {nil, "its names are taken"},
		"of another group":      {[]runtime.Object{named("example.org", "others", "Tab", "ct")}, "its names are taken"},
		"a short name":          {[]runtime.Object{named("example.com", "crontabs", "CronTab", "ct")}, "its names are taken: crontabs.example.com has the short name ct"},
		"a plural for a short":  {[]runtime.Object{named("example.com", "ct", "CronTab")}, "its names are taken: ct.example.com has the short name ct"},
		"a kind":                {[]runtime.Object{named("example.com", "sheets", "Tab")}, "its names are taken: sheets.example.com has the singular tab and the kind Tab and the kind of lists TabList"},
		"the kind of its lists": {[]runtime.Object{named("example.com", "sheets", "TabList")}, "its names are taken: sheets.example.com has the kind of lists TabList"},
		"two definitions": {
			[]runtime.Object{named("example.com", "crontabs", "CronTab", "ct"), named("example.com", "times", "Time", "t")},
			"its names are taken: crontabs.example.com has the short name ct, times.example.com has the short name t",
		},
	} {
		d, _ := in(append(test.others, refused)...)
		if err := d.Taken(t.Context(), refused); err.Error() != test.want {
			t.Errorf("%s: got %q, want %q", name, err, test.want)
		}
	}
}
