package proof

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/crdconform/crdconform/internal/kube"
)

// maxExplained is of how many objects that differ it is said in what.
const maxExplained = 20

// explain says of the first objects that differ in which fields they do. Hashes do not show that, but the API server remembers objects
// as they were for some minutes.
func (p *Proof) explain(ctx context.Context, e *evidence) {
	for n, of := range e.different {
		finding := &e.findings[of.finding]
		then := p.read(ctx, of.version, finding, p.before.revision)
		now := p.read(ctx, of.version, finding, "")
		if then == nil || now == nil {
			if n == 0 && ctx.Err() == nil {
				e.weaker = append(e.weaker, "the API server does not remember how objects were, so it is not known in which fields they differ")
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
func (p *Proof) read(ctx context.Context, version string, of *Finding, revision string) map[string]any {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", of.Name).String()}
	if revision != "" {
		options.ResourceVersion, options.ResourceVersionMatch = revision, metav1.ResourceVersionMatchExact
	}
	list, err := p.at(version).Namespace(of.Namespace).List(ctx, options)
	if err != nil || len(list.Items) != 1 {
		return nil
	}
	return content(p.filled(version, &list.Items[0]), p.annotation())
}
