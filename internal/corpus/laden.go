package corpus

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// How large the parts of a laden object are, and how large it is at most, in bytes of JSON. API servers take 256 KiB of annotations, and some
// webhooks encode in base64 what they keep there.
const (
	ladenPart = 48 << 10
	ladenMost = 180 << 10
)

// Laden returns an object with as much as there may be of what some other version has no field for, and with usual values elsewhere; nil if there
// is nothing of the kind, or if it cannot be made. What a webhook keeps of it in annotations is about as much as may be kept there.
func (g *Generator) Laden() *unstructured.Unstructured {
	g.mu.RLock()
	defer g.mu.RUnlock()
	growing := map[int]bool{}
	if g.places[g.schema.root.id].broken || !g.lacking(g.schema.root, growing) {
		return nil
	}
	for share := ladenPart; share > 0; share /= 2 {
		m := g.maker(Huge, 0, 0)
		m.share, m.growing, m.full = share, growing, g.schema.nodes <= fullNodes
		if fields := m.fields(); size(fields) <= ladenMost {
			return g.mended(m, 0, fields).object
		}
	}
	return nil
}

// lacking adds the nodes that some other version lacks, and the lists and maps with such nodes inside. It reports whether there are any.
func (g *Generator) lacking(n *node, growing map[int]bool) bool {
	found := n.path != "" && slices.ContainsFunc(g.definition.Versions(), func(version string) bool { return !g.definition.Schema(version).Has(n.path) })
	for _, inner := range n.inner() {
		if n.path != "" || !isMeta(inner.path) {
			found = g.lacking(inner, growing) || found
		}
	}
	if found {
		growing[n.id] = true
	}
	return found
}
