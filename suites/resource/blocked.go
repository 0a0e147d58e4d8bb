package resource

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// leave notes that the spec cannot be judged because of what the spec of another requirement reports.
func (r *round) leave(other requirement.ID) {
	if r.blocked == "" {
		r.blocked = fmt.Sprintf("cannot be judged while %s fails: the webhook does not convert objects without any fields of their own", other)
	}
}

// blockerOfSample returns the requirement whose spec, which runs too, reports that the webhook does not convert an object that is like a
// sample without any fields of its own. It is empty for other objects.
func (r *round) blockerOfSample(ctx context.Context, o *object) requirement.ID {
	if r.silent != "" || !isBare(o.sent) {
		return ""
	}
	for _, pair := range r.env.Subject.Corpus.Pairs() {
		for _, sample := range r.env.Subject.Corpus.Objects(pair.From) {
			if pair.From != o.version || !isBare(sample) {
				continue
			}
			if other := requirement.ID(r.refusal(ctx, pair, sample)); other != "" && r.env.Checks(other) {
				return other
			}
		}
	}
	return ""
}

// blockerOfParts returns the requirement whose spec, which runs too, reports that the webhook does not convert objects without any fields of
// their own, if that is why an API server failed. It is asked for such objects, and for the same with all fields: only if those are
// converted, and it says of the others what the API server passes on, is that the reason.
func (r *round) blockerOfParts(ctx context.Context, failed error) requirement.ID {
	if failed == nil || r.silent != "" || !r.env.Checks(requirement.WebhookRequestPartialObjects) || !r.env.Checks(requirement.WebhookFailureAvoided) {
		return ""
	}
	for _, pair := range r.env.Subject.Corpus.Pairs() {
		if !strings.Contains(failed.Error(), "conversion webhook for "+r.crd.APIVersion(pair.From)+",") || r.env.Subject.Corpus.OneWay(pair) {
			continue
		}
		whole := r.known(ctx, pair.From)
		for _, sample := range whole[:min(len(whole), most)] {
			part := bare(sample)
			request, response := r.ask(ctx, pair.To, part)
			judgement := request.Judge(response)
			if judgement.Rejected() == nil || !passesOn(failed, response, judgement) || isBare(sample) || r.refusal(ctx, pair, sample) != "" {
				continue
			}
			// One that clients could create is an object like others, unless the webhook refuses it in good order.
			isAllowed := r.env.Subject.Objects >= 0 && len(r.definition.Schema(pair.From).Problems(part.Object)) == 0
			if isAllowed && suites.Crashed(response, judgement) {
				return requirement.WebhookFailureAvoided
			}
			return requirement.WebhookRequestPartialObjects
		}
	}
	return ""
}

// refusal is what API servers say of a response that they refuse, or that ends early, behind the kind of what was to be converted.
type refusal struct {
	begins, has string
	violates    requirement.ID
}

// refusals are in the words of
// https://github.com/kubernetes/apiextensions-apiserver/blob/v0.36.0/pkg/apiserver/conversion/webhook_converter.go
func refusals() []refusal {
	const invalid, failed = "returned invalid ", "failed: "
	return []refusal{
		{invalid, ": must have the same UID: ", requirement.WebhookMetadataUID},
		{invalid, ": must have the same name: ", requirement.WebhookMetadataName},
		{invalid, ": must have the same namespace: ", requirement.WebhookMetadataNamespace},
		{invalid, ": invalid kind (expected ", requirement.WebhookResponseKind},
		{invalid, ": invalid groupVersion (expected ", requirement.WebhookResponseAPIVersion},
		{"returned invalid metadata", "", requirement.WebhookMetadataLabelsValid},
		{"returned ", " objects, expected ", requirement.WebhookResponseAllObjects},
		{failed + "expected response.uid=", "", requirement.WebhookResponseUID},
		{failed + "expected webhook response of ", "", requirement.WebhookResponseReviewVersion},
		{failed + "no response provided", "", requirement.WebhookResponseStanza},
		{failed + "Post ", ": stream error: ", requirement.WebhookFailureAvoided},
		{failed + "Post ", ": EOF", requirement.WebhookFailureAvoided},
		{failed + "Post ", ": connection reset", requirement.WebhookFailureAvoided},
	}
}

// conversionOf matches what an API server was about to convert, in its words.
var conversionOf = regexp.MustCompile(`conversion webhook for [^ ]*/([^ /]+), Kind=[^ ]+ `)

// answered returns what the webhook answered, if an API server says which requirement that violates. It does not say to which version.
func (v *violation) answered() []reports.FieldFinding {
	at := conversionOf.FindStringSubmatchIndex(v.message)
	if at == nil {
		return nil
	}
	from, said := v.message[at[2]:at[3]], v.message[at[1]:]
	for _, one := range refusals() {
		if strings.HasPrefix(said, one.begins) && strings.Contains(said, one.has) {
			return []reports.FieldFinding{{Effect: "refused", From: from, Message: v.message, Violates: one.violates}}
		}
	}
	return nil
}

// passesOn reports whether the error of an API server has what the webhook said.
func passesOn(failed error, response contract.Response, judgement contract.Judgement) bool {
	if response.Err != nil {
		return !response.TimedOut && strings.Contains(failed.Error(), ": Post ")
	}
	said := judgement.Message
	if said == "" {
		said = string(response.Body)
	}
	const enough = 80
	said, _, _ = strings.Cut(strings.TrimSpace(said), "\n")
	said = plain(said[:min(len(said), enough)])
	return said != "" && strings.Contains(plain(failed.Error()), said)
}

// plain is a text without what quoting adds.
func plain(text string) string { return strings.NewReplacer(`\`, "", `"`, "").Replace(text) }

// bare returns what an object is without any fields of its own.
func bare(object *unstructured.Unstructured) *unstructured.Unstructured {
	part := object.DeepCopy()
	for field := range part.Object {
		if field != "apiVersion" && field != "kind" && field != "metadata" {
			delete(part.Object, field)
		}
	}
	return part
}

func isBare(object *unstructured.Unstructured) bool {
	return len(bare(object).Object) == len(object.Object)
}
