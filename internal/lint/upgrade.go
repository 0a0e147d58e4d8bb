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

// goneFrom returns the old definitions that files do not have, sorted; none if there are no files.
func goneFrom(old map[string]*definition, files []File) ([]*definition, error) {
	if len(files) == 0 {
		return nil, nil
	}
	there, err := readAll(files)
	if err != nil {
		return nil, err
	}
	left := maps.Clone(old)
	for _, d := range there {
		delete(left, d.crd.Name)
	}
	var gone []*definition
	for _, name := range slices.Sorted(maps.Keys(left)) {
		gone = append(gone, left[name])
	}
	return gone, nil
}

// storedVersions returns the versions at which there may be objects: what the status says, or else the storage version.
func (d *definition) storedVersions() []string {
	if stored := d.crd.Status.StoredVersions; len(stored) > 0 {
		return stored
	}
	var stored []string
	for _, v := range d.crd.Spec.Versions {
		if v.Storage {
			stored = append(stored, v.Name)
		}
	}
	return stored
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
