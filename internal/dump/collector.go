package dump

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/internal/visible"
)

// place is where something was found.
type place struct {
	file string // or the key in etcd
	line int    // 0 if it has none
	item int    // of a list, from 1; 0 if it is in none
}

func (p place) String() string {
	name := visible.Graphic(p.file)
	switch {
	case p.line == 0:
		return name
	case p.item == 0:
		return fmt.Sprintf("%s:%d", name, p.line)
	}
	return fmt.Sprintf("%s:%d, item %d", name, p.line, p.item)
}

// identity is what no two objects have in common.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

// collector sorts out the objects that are wanted.
type collector struct {
	options Options
	visit   func(Object) error
	wanted  map[schema.GroupKind]schema.GroupKind // itself, so that objects share its text
	also    schema.GroupKind                      // that is wanted and does not count; empty for none
	summary Summary
	total   int
	seen    map[identity]place
	stored  bool  // the objects are as etcd has them
	left    int64 // bytes that may still be read
}

func newCollector(options Options, visit func(Object) error) *collector {
	options.Objects = cmp.Or(options.Objects, mostObjects)
	options.ObjectBytes = cmp.Or(options.ObjectBytes, mostObjectBytes)
	options.Bytes = cmp.Or(options.Bytes, mostBytes)
	return &collector{
		options: options, visit: visit, left: options.Bytes, seen: map[identity]place{}, wanted: map[schema.GroupKind]schema.GroupKind{},
		summary: Summary{Objects: map[schema.GroupVersionKind]int{}, Others: map[string]int{}},
	}
}

func (c *collector) wants(group, kind string) {
	gk := schema.GroupKind{Group: group, Kind: kind}
	c.wanted[gk] = gk
}

// header identifies an object.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
}

// take takes an object in JSON, which it copies.
func (c *collector) take(raw []byte, at place) error {
	if len(raw) == 0 || raw[0] != '{' {
		return fmt.Errorf("%s: it is %s, and not an object", at, visible.Cut(visible.Graphic(string(raw)), 40))
	}
	var head header
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &head); err != nil {
		return fmt.Errorf("%s: it is not an object of Kubernetes in JSON: %w", at, err)
	}
	if head.Kind == "" || head.APIVersion == "" {
		return fmt.Errorf("%s: the object has no kind or no apiVersion; leave it out, or write what it is", at)
	}
	version, err := schema.ParseGroupVersion(head.APIVersion)
	if err != nil {
		return fmt.Errorf("%s: the apiVersion %q is not of the form group/version", at, head.APIVersion)
	}
	kind, wanted := c.wanted[schema.GroupKind{Group: version.Group, Kind: head.Kind}]
	if is := (schema.GroupKind{Group: version.Group, Kind: head.Kind}); !wanted && is == c.also {
		return c.visit(Object{Group: is.Group, Version: version.Version, Kind: is.Kind, Name: head.Metadata.Name, JSON: bytes.Clone(raw), Stored: c.stored, From: at.String()})
	}
	if !wanted {
		c.summary.Others[schema.GroupKind{Group: version.Group, Kind: head.Kind}.String()]++
		return nil
	}
	if head.Metadata.Name == "" {
		return fmt.Errorf("%s: this %s has no metadata.name; leave it out, or give it a name", at, head.Kind)
	}
	this := identity{kind, head.Metadata.Namespace, head.Metadata.Name}
	if before, twice := c.seen[this]; twice {
		return fmt.Errorf("%s: %s %s is there already at %s; leave one of them out", at, head.Kind, named(this.namespace, this.name), before)
	}
	c.seen[this] = at
	if c.total++; c.total > c.options.Objects {
		return fmt.Errorf("%s: there are more than %d objects of these definitions; give fewer at a time", at, c.options.Objects)
	}
	c.summary.Objects[version.WithKind(kind.Kind)]++
	var compact bytes.Buffer
	compact.Grow(len(raw))
	if err := json.Compact(&compact, raw); err != nil {
		return fmt.Errorf("%s: it is not JSON: %w", at, err)
	}
	return c.visit(Object{
		Group: kind.Group, Version: version.Version, Kind: kind.Kind, Namespace: this.namespace, Name: this.name,
		JSON: compact.Bytes(), Stored: c.stored, From: at.String(),
	})
}

// named is a namespace and a name, as kubectl users write them.
func named(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// found returns an error that says what there is, unless there is something that is wanted.
func (c *collector) found(source string) error {
	if c.total > 0 {
		return nil
	}
	if source == "-" {
		source = "standard input"
	}
	if len(c.wanted) == 0 {
		return errors.New("there is no definition whose objects could be looked for")
	}
	wanted := slices.Sorted(slices.Values(visible.Strings(slices.Collect(maps.Keys(c.wanted)))))
	if len(c.summary.Others) == 0 {
		return fmt.Errorf("%s: there are no objects in it; it should have some of %s", source, strings.Join(wanted, ", "))
	}
	return fmt.Errorf("%s: there are no objects of %s in it; it has %s", source, strings.Join(wanted, ", "), c.summary.OtherKinds())
}

// OtherKinds says how many other objects there are, the most frequent kinds first.
func (s Summary) OtherKinds() string {
	const shown = 8
	names := slices.SortedFunc(maps.Keys(s.Others), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Others[b], s.Others[a]), strings.Compare(a, b))
	})
	var said []string
	for _, name := range names[:min(shown, len(names))] {
		said = append(said, fmt.Sprintf("%d of %s", s.Others[name], visible.Graphic(name)))
	}
	if len(names) > shown {
		said = append(said, fmt.Sprintf("some of %d other kinds", len(names)-shown))
	}
	return strings.Join(said, ", ")
}
