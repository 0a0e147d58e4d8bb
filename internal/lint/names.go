package lint

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkNames looks at short names that cannot be used, and at which version clients get that name none.
func (c *checker) checkNames() {
	names := c.crd.Spec.Names
	singular := cmp.Or(names.Singular, strings.ToLower(names.Kind))
	seen := map[string]bool{}
	for i, short := range names.ShortNames {
		path := specPath().Child("names", "shortNames").Index(i)
		switch {
		case short == singular || short == names.Plural:
			c.found(NameTaken, path, "the short name %s is the name of the resource itself, which kubectl knows anyway: an update that adds it makes API servers say NamesAccepted: False; remove it", short)
		case seen[short]:
			c.found(NameTaken, path, "the short name %s is there twice; remove one", short)
		case slices.Contains(builtIn(), short):
			c.found(NameTaken, path, "the short name %s belongs to a resource of Kubernetes, which kubectl prefers; choose another", short)
		}
		seen[short] = true
	}
	c.checkPriority()
}

// builtIn returns the short names of the resources of Kubernetes.
func builtIn() []string {
	return []string{
		"cj", "cm", "crd", "crds", "cs", "csr", "deploy", "ds", "ep", "ev", "hpa", "ing", "limits", "netpol", "no", "ns", "pc", "pdb", "po", "pv",
		"pvc", "quota", "rc", "rs", "sa", "sc", "sts", "svc", "vac",
	}
}

// checkPriority notes that clients which name no version get another than the storage version, only because that has a name without a
// place in the order of Kubernetes.
func (c *checker) checkPriority() {
	usual := regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	preferred := c.preferred()
	for i, v := range c.crd.Spec.Versions {
		if v.Storage && v.Served && v.Name != preferred && !usual.MatchString(v.Name) {
			c.found(VersionOrder, versionsPath().Index(i).Child("name"), "clients that name no version, such as kubectl get, get %s and not the storage version %s: names other than v1, v1beta1 and v1alpha1 come last, in the order of the alphabet; name it like these, or stop serving %[1]s", preferred, v.Name)
		}
	}
}

// checkNamesOf compares the names of definitions of one group, which API servers keep apart.
func checkNamesOf(all []*checker) {
	for i, c := range all {
		for _, other := range all[:i] {
			if c.crd.Spec.Group == other.crd.Spec.Group && c.crd.Name != other.crd.Name {
				c.compareNamesWith(other)
			}
		}
	}
}

func (c *checker) compareNamesWith(other *checker) {
	path := specPath().Child("names")
	taken := map[string]bool{}
	for _, name := range other.resourceNames() {
		taken[name.text] = true
	}
	for _, name := range c.resourceNames() {
		if taken[name.text] {
			c.foundAs(Error, NameTaken, name.path, "%s is a name of %s too (%s): API servers keep it for the one that was there first, and the other is not served (NamesAccepted: False); choose another", name.text, other.crd.Name, other.place("spec.names").file)
		}
	}
	if c.crd.Spec.Names.Kind == other.crd.Spec.Names.Kind {
		c.foundAs(Error, NameTaken, path.Child("kind"), "%s is the kind of %s too (%s): API servers keep it for the one that was there first, and the other is not served (NamesAccepted: False); choose another", c.crd.Spec.Names.Kind, other.crd.Name, other.place("spec.names").file)
	}
}

// name is a name of a resource, and where it is.
type name struct {
	text string
	path *field.Path
}

func (c *checker) resourceNames() []name {
	names, path := c.crd.Spec.Names, specPath().Child("names")
	all := []name{{names.Plural, path.Child("plural")}, {cmp.Or(names.Singular, strings.ToLower(names.Kind)), path.Child("singular")}}
	for i, short := range names.ShortNames {
		all = append(all, name{short, path.Child("shortNames").Index(i)})
	}
	return all
}
