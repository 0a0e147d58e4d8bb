package lint

import (
	"slices"
	"strings"
)

// compareLists compares what server-side apply makes of the same lists and maps at two versions, and which optional fields have a default.
func (c *checker) compareLists(served, storage side) {
	same := func(here, there *node) bool {
		return mergesDiffer(here, there) && (!c.converts() || here.looksLike(there))
	}
	other := func(here, there *node) bool { return mergesDiffer(here, there) && !same(here, there) }
	const merges = "server-side apply merges differently at %s than at %s: %s"
	c.foundFields(ListTypeDiffers, pairs(served, storage, same), merges+"; who applies at one version removes what others applied at the other, without a conflict: use the same x-kubernetes-list-type, list-map-keys and map-type", served.version, storage.version)
	c.foundFieldsAs(Note, ListTypeDiffers, pairs(served, storage, other), merges+"; if the webhook takes them for the same, who applies at one version removes what others applied at the other", served.version, storage.version)
	const text = "default at %s, but none at %s: %s; the same manifest has another meaning there, and GitOps tools may show a difference: use the same default"
	c.foundFields(DefaultAtOne, pairs(served, storage, defaultsHereOnly), text, served.version, storage.version)
	c.foundFields(DefaultAtOne, pairs(storage, served, defaultsHereOnly), text, storage.version, served.version)
}

// mergesDiffer reports whether a list or a map has another type, which matters only where both are one.
func mergesDiffer(here, there *node) bool {
	if here.kind() != there.kind() {
		return false
	}
	return here.kind() == "array" && listType(here.schema) != listType(there.schema) || here.kind() == "object" && here.isAtomic() != there.isAtomic()
}

// looksLike reports whether two lists or maps consist of the same, so that a webhook hardly converts them to anything else.
func (n *node) looksLike(other *node) bool {
	names := func(of *node) []string {
		all, _ := flatten(of.schema, nil)
		var names []string
		for _, field := range all {
			names = append(names, field.name+" "+field.kind())
		}
		return names
	}
	return slices.Equal(names(n), names(other))
}

// isAtomic reports whether a map has one owner.
func (n *node) isAtomic() bool {
	return n.schema.XMapType != nil && strings.EqualFold(*n.schema.XMapType, "atomic")
}

// defaultsHereOnly is about optional fields. A default such as "", which Kubernetes' own types have, is like none.
func defaultsHereOnly(here, there *node) bool {
	if here.required && there.required || here.isZero() {
		return false
	}
	return here.fallback() != "" && there.fallback() == "" && !typesDiffer(here, there)
}

// isZero reports whether the default of a field says no more than none.
func (n *node) isZero() bool {
	return slices.Contains([]string{`""`, "0", "false", "[]", "{}", "null"}, n.fallback())
}
