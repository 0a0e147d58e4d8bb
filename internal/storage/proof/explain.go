package proof

import (
	"cmp"
	"context"
	"strings"

	"github.com/crdconform/crdconform/internal/kube"
)

// maxExplained is of how many objects that differ it is said in what.
const maxExplained = 20

// explain says of the first objects that differ in which fields they do. Hashes do not show that, but the API server remembers objects
// as they were for some minutes.
func (p *Proof) explain(ctx context.Context, e *evidence) {
	for n, of := range e.different {
		finding := &e.findings[of.finding]
		then, err1 := p.read(ctx, of.version, finding, p.before.revision)
		now, err2 := p.read(ctx, of.version, finding, "")
		if then == nil || now == nil {
			if n == 0 && ctx.Err() == nil {
				why := "the API server does not remember how objects were"
				if err := cmp.Or(err1, err2); err != nil {
					why = "the API server does not list objects as they were: " + err.Error()
				}
				e.weaker = append(e.weaker, why+", so it is not known in which fields they differ")
			}
			return
		}
		var in []string
		for _, d := range kube.Differences("", then, now) {
			in = append(in, d.String())
		}
		if len(in) > 0 {
			finding.Actual = other + " in " + names(in, len(in)) + strings.TrimPrefix(finding.Actual, other)
		}
	}
}

// read reads the object of a finding at a version, as it was at a revision unless that is empty. It returns nil if that is forgotten.
func (p *Proof) read(ctx context.Context, version string, of *Finding, revision string) (map[string]any, error) {
	object, err := p.remembered(ctx, version, of.Namespace, of.Name, revision)
	if object == nil {
		return nil, err
	}
	return content(p.filled(version, object), p.annotation()), nil
}
