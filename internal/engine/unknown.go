package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

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

// notJudged is that the webhook converts no object of some definitions, although nothing says that it need not.
func notJudged(definitions []string) error {
	return fmt.Errorf("the webhook rejects every object of %s, and no file says whether it is to convert them; set spec.conversion, or give only definitions that it converts", strings.Join(definitions, ", "))
}

// isUnknown reports whether the webhook does not convert a kind, and notes it. That is asked only of one among several that no file names
// this webhook for: a folder has definitions with other webhooks, or none.
func (s *session) isUnknown(ctx context.Context, client *wire.Client, kind corpus.Corpus) bool {
	if len(s.kinds) < 2 || kind.Definition == nil {
		return false
	}
	if _, assumed := kind.Definition.CRD.Annotations[suites.Assumed]; !assumed {
		return false
	}
	const few = 3
	said := ""
	for _, pair := range kind.Pairs() {
		objects := kind.Objects(pair.From)
		objects = objects[:min(len(objects), few)]
		if len(objects) == 0 {
			generator := kind.Definition.Generator(pair.From, s.Seed(), nil)
			objects = generator.Objects(corpus.Plain, few)
			// With the fewest fields, it has few that the webhook may want to be something else, such as a duration that the schema calls text.
			if least := generator.Minimal(); least != nil {
				objects = append(objects, least)
			}
		}
		if len(objects) == 0 {
			return false
		}
		for _, object := range objects {
			answer, rejected := rejection(ctx, client, kind, pair, object)
			if !rejected {
				return false
			}
			said = answer
		}
	}
	note := fmt.Sprintf("%s was left out: no file says that this webhook converts it, and the webhook rejects its objects at every version: %s", nameOf(kind), said)
	s.note(note)
	s.say(note)
	s.unknown = append(s.unknown, nameOf(kind))
	return true
}

// rejection returns what a webhook says of an object that it refuses to convert in any version of ConversionReview. A webhook that
// breaks down may say the same by an HTTP status, with a text that names the kind. Whatever else goes wrong is for specs to judge.
func rejection(ctx context.Context, client *wire.Client, kind corpus.Corpus, pair corpus.Pair, object *unstructured.Unstructured) (said string, rejected bool) {
	response, judgement, err := asked(ctx, client, kind, "v1", pair.To, object)
	if v := judgement.Rejected(); err != nil || response.Err != nil || v == nil {
		return "", false
	}
	if _, older, err := asked(ctx, client, kind, "v1beta1", pair.To, object); err != nil || older.Rejected() == nil {
		return "", false
	}
	switch {
	case response.Status >= 400 && response.Status < 500, response.Status >= 500 && strings.Contains(string(response.Body), kind.Kind):
		return fmt.Sprintf("HTTP status %d, %.200q", response.Status, response.Body), true
	}
	return judgement.Message, judgement.Stopped == requirement.WebhookFailureAvoided
}

// asked has a webhook convert an object of a kind to a version.
func asked(ctx context.Context, client *wire.Client, kind corpus.Corpus, reviewVersion, to string, object *unstructured.Unstructured) (contract.Response, contract.Judgement, error) {
	request := contract.Request{
		ReviewVersion: reviewVersion, UID: uuid.NewString(), DesiredAPIVersion: kind.APIVersion(to), Objects: corpus.JSON(object),
	}
	body, err := request.Body()
	if err != nil {
		return contract.Response{}, contract.Judgement{}, err
	}
	response := client.Send(ctx, body)
	return response, request.Judge(response), nil
}
