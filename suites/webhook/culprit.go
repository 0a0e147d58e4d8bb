package webhook

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// failOver fails the spec with an exchange that violates a requirement. Where the response as a whole is rejected, it says over
// which objects.
func (rs *responses) failOver(ctx context.Context, x exchange, id requirement.ID) {
	GinkgoHelper()
	alone, who := rs.culprits(ctx, x, id)
	text := described(alone, alone.judgement.Of(id))
	if who != "" {
		text = who + ": " + text
		rs.env.Attach("object.yaml", corpus.YAML(rs.exhibits.sent(&alone)[0]))
	}
	rs.exhibits.fail(alone, text)
}

// culprits asks for each object of a rejected request alone. It returns the exchange of the first that is rejected in the same way, and
// names those that are. The exchange is returned as it is, without names, where the objects do not show it or the webhook has ended.
func (rs *responses) culprits(ctx context.Context, x exchange, id requirement.ID) (exchange, string) {
	objects := rs.exhibits.sent(&x)
	if x.judgement.Stopped != id || rs.connection.isSilent() || rs.connection.ended != nil || len(objects) == 0 {
		return x, ""
	}
	var first exchange
	var culprits []*unstructured.Unstructured
	for _, object := range objects {
		pair := corpus.Pair{From: object.GroupVersionKind().Version, To: x.to}
		again := rs.talk.ask(ctx, x.request.ReviewVersion, pair, object)
		if again.judgement.Stopped != id {
			continue
		}
		if culprits = append(culprits, object); len(culprits) == 1 {
			first = again
		}
	}
	switch {
	case len(culprits) == 0:
		return x, ""
	case len(culprits) == len(objects) && len(objects) > 1:
		return first, fmt.Sprintf("each of %d objects, such as %s", len(objects), rs.exhibits.named(culprits[:1]))
	default:
		return first, rs.exhibits.named(culprits)
	}
}
