package resource

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
)

// The ways in which clients write fields.
const (
	creates     = "create"
	updates     = "update"
	applies     = "apply"
	writeStatus = "status"
	scales      = "scale"
)

// write is a way to write at a version.
type write struct{ version, verb string }

// wrote counts fields that an API server took. What a trial writes was written before.
func (r *round) wrote(verb, version string, fields map[string]any) {
	if r.env.Subject.Written == nil || r.trial != nil {
		return
	}
	key := write{version, verb}
	if r.written[key] == nil {
		r.written[key] = corpus.NewCoverage(r.definition.Schema(version))
	}
	r.written[key].Add(&unstructured.Unstructured{Object: fields})
}

// reportWritten reports what has been written so far, for each version and verb.
func (c *chapter) reportWritten() {
	if c.env.Subject.Written == nil {
		return
	}
	var all []reports.Coverage
	for _, version := range c.env.Subject.Corpus.Definition.CRD.Spec.Versions {
		hasStatus := version.Subresources != nil && version.Subresources.Status != nil
		for _, verb := range []string{creates, updates, jsonPatch().verb(), mergePatch().verb(), applies, writeStatus, scales} {
			counted := c.written[write{version.Name, verb}]
			if counted == nil {
				continue
			}
			of := counted.Result(nil)
			of.From, of.Verb, of.Metadata = version.Name, verb, map[string]int{}
			all = append(all, only(of, func(path string) bool {
				isStatus := path == "status" || strings.HasPrefix(path, "status.")
				switch verb {
				case writeStatus:
					return isStatus
				case scales:
					return path == strings.TrimPrefix(version.Subresources.Scale.SpecReplicasPath, ".")
				}
				return !isStatus || !hasStatus
			}))
		}
	}
	c.env.Subject.Written(all)
}

// only is what was counted of the fields that can be written.
func only(of reports.Coverage, can func(path string) bool) reports.Coverage {
	cannot := func(note reports.FieldNote) bool { return !can(note.Path) }
	of.Never, of.Impossible = slices.DeleteFunc(of.Never, cannot), slices.DeleteFunc(of.Impossible, cannot)
	of.Fields = slices.DeleteFunc(of.Fields, func(f reports.FieldCoverage) bool { return !can(f.Path) })
	of.Total = len(of.Fields)
	of.Exercised = of.Total - len(of.Never)
	return of
}
