package resource

import (
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
)

// findings returns what happened to a field at a version. Of a field that is lost it is one for each version that has no field of that name, by
// which it may have been lost.
func (r *round) findings(version string, loss corpus.Loss) []reports.FieldFinding {
	schema := r.definition.Schema(version)
	found := reports.FieldFinding{Field: schema.Pattern(loss.Path), Effect: schema.Effect(loss), From: version, To: r.storage, Message: loss.String()}
	var findings []reports.FieldFinding
	for _, other := range r.definition.Versions() {
		if other != version && found.To == version {
			found.To = other
		}
		if lacks := r.definition.Schema(other).Lacks(loss.Path); found.Effect == "lost" && lacks != "" {
			lacking := found
			lacking.Field, lacking.To, lacking.Lacking = schema.Pattern(lacks), other, true
			findings = append(findings, lacking)
		}
	}
	if len(findings) > 0 {
		return findings
	}
	return []reports.FieldFinding{found}
}
