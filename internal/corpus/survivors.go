package corpus

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// Survivors are the places of a version from which values come back on a way, with all places around them.
type Survivors struct {
	schema *Schema
	places map[string]bool
}

// NewSurvivors returns the Survivors of a version with a schema, of which none is known yet.
func NewSurvivors(schema *Schema) *Survivors { return &Survivors{schema, map[string]bool{}} }

// Add adds the places of the leaves of an object that are the same in what came of it, and whose loss would be seen.
func (s *Survivors) Add(before *unstructured.Unstructured, after map[string]any) {
	lost := s.schema.Losses(before.Object, after)
	for _, path := range Leaves(before) {
		value, _ := Value(before.Object, path)
		n := s.schema.at(fieldpath.Split(path))
		isLost := slices.ContainsFunc(lost, func(l Loss) bool { return l.Path == path || isBelow(path, l.Path) })
		if n == nil || !noticed(n, value) || isLost {
			continue
		}
		for steps := fieldpath.Split(s.schema.Place(path)); len(steps) > 0 && !s.places[fieldpath.Join(steps)]; steps = steps[:len(steps)-1] {
			s.places[fieldpath.Join(steps)] = true
		}
	}
}

// Has reports whether a value came back from the place of a path.
func (s *Survivors) Has(path string) bool { return s.places[s.schema.Place(path)] }

// LostWhole returns the widest place around a path, from the field on that the other version lacks, from which nothing came back. It is empty
// if values of the field itself did: then the other version has it under another name, or the webhook keeps it elsewhere.
func (s *Survivors) LostWhole(lacks, path string) string {
	steps := fieldpath.Split(s.schema.Place(path))
	for n := len(fieldpath.Split(lacks)); n <= len(steps); n++ {
		if place := fieldpath.Join(steps[:n]); !s.places[place] {
			return place
		}
	}
	return ""
}
