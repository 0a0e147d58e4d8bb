package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// errUnknownKinds is that nothing is left to judge.
var errUnknownKinds = errors.New("the webhook rejects every object of every definition, so it converts other kinds, or the URL is that of another webhook; give only definitions that it converts, or set their spec.conversion")

// isUnknown reports whether the webhook does not convert a kind, and notes it. That is asked only of one among several that no file names
// this webhook for: a folder has definitions with other webhooks, or none.
func (s *session) isUnknown(ctx context.Context, client *wire.Client, kind corpus.Corpus) bool {
	if len(s.kinds) < 2 || kind.Definition == nil {
		return false
	}
	if _, assumed := kind.Definition.CRD.Annotations[suites.Assumed]; !assumed {
		return false
	}
	said := ""
	for _, pair := range kind.Pairs() {
		objects := kind.Objects(pair.From)
		if len(objects) == 0 {
			objects = kind.Definition.Generator(pair.From, s.Seed(), nil).Objects(corpus.Plain, 1)
		}
		if len(objects) == 0 {
			return false
		}
		answer, rejected := rejection(ctx, client, kind, pair, objects[0])
		if !rejected {
			return false
		}
		said = answer
	}
	s.note(fmt.Sprintf("%s was left out: no file says that this webhook converts it, and the webhook rejects its objects at every version: %s", nameOf(kind), said))
	return true
}

// rejection returns what a webhook says of an object that it refuses to convert. Whatever else goes wrong is for specs to judge.
func rejection(ctx context.Context, client *wire.Client, kind corpus.Corpus, pair corpus.Pair, object *unstructured.Unstructured) (said string, rejected bool) {
	request := contract.Request{
		ReviewVersion: "v1", UID: uuid.NewString(), DesiredAPIVersion: kind.APIVersion(pair.To), Objects: corpus.JSON(object),
	}
	body, err := request.Body()
	if err != nil {
		return "", false
	}
	response := client.Send(ctx, body)
	if response.Err == nil && response.Status >= 400 && response.Status < 500 {
		return fmt.Sprintf("HTTP status %d", response.Status), true
	}
	judgement := request.Judge(response)
	v := judgement.Rejected()
	if v == nil || v.Requirement != requirement.WebhookFailureAvoided {
		return "", false
	}
	return judgement.Message, true
}
