package lint

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkUpgrade compares the definition with the one that it is to replace.
func (c *checker) checkUpgrade() {
	if c.old == nil {
		return
	}
	was, is := c.old.crd.Spec, c.crd.Spec
	if was.Scope != is.Scope {
		c.found(IdentityChanged, specPath().Child("scope"), "the scope was %s and is immutable; keep it", was.Scope)
	}
	if was.Names.Kind != is.Names.Kind {
		c.found(IdentityChanged, specPath().Child("names", "kind"), "the kind was %s and is immutable; keep it", was.Names.Kind)
	}
	stored := c.old.storedVersions()
	for _, v := range was.Versions {
		now, there := c.version(v.Name)
		switch {
		case !there && slices.Contains(stored, v.Name):
			c.found(VersionRemovedStored, versionsPath(), "the old definition stored objects at %s, which is missing; keep it with served: false until they are rewritten and status.storedVersions no longer contains it", v.Name)
		case v.Served && !there:
			c.found(VersionNoLongerServed, versionsPath(), "the old definition served %s, which is missing; its clients get a not found error", v.Name)
		case v.Served && !now.Served:
			c.found(VersionNoLongerServed, c.pathOf(v.Name).Child("served"), "%s is no longer served; its clients get a not found error", v.Name)
		}
	}
}

// checkGone finds the old definitions, by name, that have another name now, and returns those that are gone. What there is now is judged by
// checkers, and in options.Whole if that is all that there is.
func checkGone(old map[string]*definition, judged []*checker, options Options) ([]*definition, error) {
	left, whole := maps.Clone(old), !options.Partial // where nothing has the name of an old definition, nothing else takes its place
	for _, c := range judged {
		whole = whole && c.old == nil
		delete(left, c.crd.Name)
	}
	if len(options.Whole) > 0 {
		there, err := readAll(options.Whole)
		if err != nil {
			return nil, err
		}
		whole = true
		for _, d := range there {
			delete(left, d.crd.Name)
		}
	}
	var gone []*definition
	for _, name := range slices.Sorted(maps.Keys(left)) {
		was := left[name]
		i := slices.IndexFunc(judged, func(c *checker) bool {
			return c.old == nil && c.crd.Spec.Names.Kind == was.crd.Spec.Names.Kind && (whole || c.crd.Spec.Group == was.crd.Spec.Group)
		})
		switch {
		case i >= 0:
			judged[i].renamed(was)
		case whole:
			gone = append(gone, was)
		}
	}
	return gone, nil
}

// renamed finds that the definition has another name than the old one of its kind, and so is another definition.
func (c *checker) renamed(was *definition) {
	path, before, after := specPath().Child("group"), was.crd.Spec.Group, c.crd.Spec.Group
	advice := "keep the group, or copy the objects before the old definition is deleted"
	if before == after {
		path, before, after = specPath().Child("names", "plural"), was.crd.Spec.Names.Plural, c.crd.Spec.Names.Plural
		advice = "API servers do not even accept the kind of this one until the old one is deleted, with all its objects; keep the plural"
	}
	c.found(IdentityChanged, path, "this was %s and is %s now, which makes it another definition than %s, with none of its objects; %s", before, after, was.crd.Name, advice)
}

// storedVersions returns the versions at which there may be objects: what the status says, or else the storage version.
func (d *definition) storedVersions() []string {
	if stored := d.crd.Status.StoredVersions; len(stored) > 0 {
		return stored
	}
	return d.storageVersions()
}

// pathOf returns the path of a version that is there.
func (c *checker) pathOf(name string) *field.Path {
	for i, v := range c.crd.Spec.Versions {
		if v.Name == name {
			return versionsPath().Index(i)
		}
	}
	return versionsPath()
}
