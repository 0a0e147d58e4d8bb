package lint

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/version"
)

// longestWarning is how many bytes a deprecationWarning may have.
const longestWarning = 256

func specPath() *field.Path     { return field.NewPath("spec") }
func versionsPath() *field.Path { return specPath().Child("versions") }

// checkFields notes what is written and does not exist, or exists twice.
func (c *checker) checkFields() {
	for _, err := range c.strict {
		name, found := strings.CutPrefix(err.Error(), "unknown field ")
		if !found {
			continue // keys that are there twice, found below with their line
		}
		name = strings.Trim(name, `"`)
		parent, last := "", name
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			parent, last = name[:i]+" ", name[i+1:]
		}
		c.found(UnknownField, field.NewPath(name), "%shas no field %q in apiextensions.k8s.io/v1; check its spelling and indentation", parent, last)
	}
	for _, d := range c.duplicate {
		steps := strings.Split(strings.TrimPrefix(d.path, c.prefix+separator), separator)
		c.found(DuplicateKey, field.NewPath(strings.Join(steps, ".")), "the key %q is duplicated in the same mapping; remove one of them", steps[len(steps)-1])
		last := &c.findings[len(c.findings)-1]
		last.Line, last.Column = d.line, d.column
	}
}

// checkIdentity looks at the name and the group.
func (c *checker) checkIdentity() {
	spec := c.crd.Spec
	if want := spec.Names.Plural + "." + spec.Group; c.crd.Name != want && spec.Names.Plural != "" && spec.Group != "" {
		c.found(DefinitionName, field.NewPath("metadata", "name"), "the name is %q; it must be %q, the plural and the group", c.crd.Name, want)
	}
	const annotation = apiextensionsv1.KubeAPIApprovedAnnotation
	if _, approved := c.crd.Annotations[annotation]; !approved && protected(spec.Group) {
		c.found(APIApproved, field.NewPath("metadata", "annotations").Key(annotation), "the group %s belongs to the Kubernetes community; use a domain of your own, or annotate %s with the URL of the approval", spec.Group, annotation)
	}
	if spec.PreserveUnknownFields {
		c.found(PreserveUnknown, specPath().Child("preserveUnknownFields"), "preserveUnknownFields is true; remove it, and set x-kubernetes-preserve-unknown-fields in the schema where it is needed")
	}
}

func protected(group string) bool {
	for _, domain := range []string{"k8s.io", "kubernetes.io"} {
		if group == domain || strings.HasSuffix(group, "."+domain) {
			return true
		}
	}
	return false
}

// checkVersions looks at which versions are served and stored.
func (c *checker) checkVersions() {
	versions := c.crd.Spec.Versions
	var storage, served []string
	for i, v := range versions {
		if v.Storage && !slices.Contains(storage, v.Name) {
			storage = append(storage, v.Name)
			if !v.Served && c.preferred() != "" {
				c.found(StorageVersionServed, versionsPath().Index(i).Child("served"), "%s is the storage version but not served; serve it, or make a served version the storage version", v.Name)
			}
		}
		if v.Served {
			served = append(served, v.Name)
		}
	}
	switch {
	case len(versions) == 0:
		c.found(StorageVersionCount, versionsPath(), "there is no version; add one, with storage: true")
	case len(storage) == 0:
		c.found(StorageVersionCount, versionsPath(), "no version is the storage version; set storage: true for one of them")
	case len(storage) > 1:
		c.found(StorageVersionCount, versionsPath(), "%s are all storage versions; set storage: true for only one of them", strings.Join(storage, ", "))
	}
	if len(served) == 0 && len(versions) > 0 {
		c.found(NoVersionServed, versionsPath(), "no version is served, so the resource does not exist for clients; set served: true for one of them")
	}
	for i, name := range c.crd.Status.StoredVersions {
		if _, found := c.version(name); !found {
			c.found(StoredVersionMissing, field.NewPath("status", "storedVersions").Index(i), "objects may be stored at %s, which is not in spec.versions; keep it there, not served, until they are rewritten", name)
		}
	}
}

// version returns the version of a name.
func (d *definition) version(name string) (apiextensionsv1.CustomResourceDefinitionVersion, bool) {
	i := slices.IndexFunc(d.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	if i < 0 {
		return apiextensionsv1.CustomResourceDefinitionVersion{}, false
	}
	return d.crd.Spec.Versions[i], true
}

// checkDeprecation checks deprecated versions and their warnings.
func (c *checker) checkDeprecation() {
	preferred, current := c.preferred(), c.current()
	for i, v := range c.crd.Spec.Versions {
		path := versionsPath().Index(i)
		if v.DeprecationWarning != nil {
			c.checkWarning(v, path.Child("deprecationWarning"), current)
		}
		if !v.Deprecated || current == "" {
			continue
		}
		if v.Storage {
			c.found(StorageDeprecated, path.Child("deprecated"), "the storage version %s is deprecated; use a storage version that is to stay, such as %s", v.Name, current)
		}
		if v.Name == preferred {
			c.found(PreferredDeprecated, path.Child("deprecated"), "%s is deprecated, but its name has the highest priority of the served versions, so clients that name none use it, not %s", v.Name, current)
		}
	}
}

// preferred returns the served version of the highest priority, or nothing.
func (c *checker) preferred() string {
	return best(c.crd.Spec.Versions)
}

// current returns the one of the highest priority of those that are not deprecated, or nothing.
func (c *checker) current() string {
	return best(slices.DeleteFunc(slices.Clone(c.crd.Spec.Versions), func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Deprecated }))
}

func best(versions []apiextensionsv1.CustomResourceDefinitionVersion) string {
	best := ""
	for _, v := range versions {
		if v.Served && (best == "" || version.CompareKubeAwareVersionStrings(v.Name, best) > 0) {
			best = v.Name
		}
	}
	return best
}

// checkWarning looks at the text of a deprecation warning. The version that is current is to be named in it, if there is
// one of a higher priority.
func (c *checker) checkWarning(v apiextensionsv1.CustomResourceDefinitionVersion, path *field.Path, current string) {
	text := *v.DeprecationWarning
	if !v.Deprecated {
		c.found(WarningUnused, path, "%s has a deprecationWarning but is not deprecated; set deprecated: true, or remove the text", v.Name)
		return
	}
	if problem := unprintable(text); problem != "" {
		c.found(WarningInvalid, path, "the deprecationWarning of %s %s; write one line of at most %d bytes", v.Name, problem, longestWarning)
		return
	}
	var missing []string
	level := Note // the group alone is easy to guess
	want := func(there bool, what string, lack Level) {
		if !there {
			missing = append(missing, what)
			level = heavier(level, lack)
		}
	}
	kind := c.crd.Spec.Names.Kind
	want(strings.Contains(text, c.crd.Spec.Group), "the group "+c.crd.Spec.Group, Note)
	want(mentions(text, v.Name), "the version "+v.Name, Warning)
	want(mentions(text, kind) || mentions(text, c.crd.Spec.Names.Plural), "the kind "+kind, Warning)
	better := current != "" && version.CompareKubeAwareVersionStrings(current, v.Name) > 0
	want(!better || mentions(text, current), "the version to use instead, "+current, Warning)
	if len(missing) > 0 {
		c.foundAs(level, WarningVague, path, "the deprecationWarning of %s does not name %s; name it, or leave the text out and let servers generate one", v.Name, strings.Join(missing, ", nor "))
	}
}

// heavier returns the one of two levels that weighs more, where neither is an Error.
func heavier(a, b Level) Level {
	if a == Warning || b == Warning {
		return Warning
	}
	return Note
}

// unprintable says what API servers have against a text, or nothing.
func unprintable(text string) string {
	switch {
	case text == "":
		return "is empty"
	case len(text) > longestWarning:
		return fmt.Sprintf("has %d bytes", len(text))
	case !utf8.ValidString(text):
		return "is not UTF-8"
	}
	for i, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("has a character that cannot be printed (%q) at byte %d", r, i)
		}
	}
	return ""
}

// mentions reports whether a word is in a text, in any case, by itself.
func mentions(text, word string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.Contains(words, strings.ToLower(word))
}
