package recording

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/corpus"
)

// Question is a request that both sides are asked.
type Question struct {
	Line     int // of the recording; 0 when it is from none
	Body     []byte
	Request  contract.Request  // what Body says
	Recorded contract.Response // what the recording has as the answer
	Withheld string            // why the recording does not have the body of that; empty when it does
	Redacted []string          // paths at which the request was redacted after it was answered
}

// Recorded returns the questions of a recording.
func Recorded(r *Recording) []Question {
	questions := make([]Question, 0, len(r.Exchanges))
	for _, x := range r.Exchanges {
		questions = append(questions, Question{x.Line, x.Body, x.Request, x.Response, x.Withheld, x.Redacted})
	}
	return questions
}

// styles are those of the objects that questions are about. Objects of the largest size would take long and show little more.
func styles() []corpus.Style {
	return []corpus.Style{corpus.Plain, corpus.Text, corpus.Integers, corpus.Zeros, corpus.Nulls}
}

// About returns questions about the samples of a corpus and, if it has a definition and n is not 0, about n generated objects of each
// version and about its singles, as Generator.Singles makes them: one request for each object and each version that it can be
// converted to, as API servers ask. The version is that of ConversionReview. The same seed makes the same questions. It fails
// when the context ends before all are made.
func About(ctx context.Context, c corpus.Corpus, reviewVersion string, n int, seed int64) ([]Question, error) {
	var questions []Question
	for _, from := range c.Versions {
		objects := c.Objects(from)
		if c.Definition != nil && n > 0 {
			made, err := generated(ctx, c.Definition.Generator(from, seed, objects), n)
			if err != nil {
				return nil, err
			}
			objects = append(objects, made...)
		}
		raw := corpus.JSON(objects...)
		for _, pair := range c.Pairs() {
			if pair.From != from {
				continue
			}
			for i := range raw {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				request := contract.Request{
					ReviewVersion:     reviewVersion,
					UID:               fmt.Sprintf("d1ff0000-0000-4000-8000-%012x", len(questions)),
					DesiredAPIVersion: c.APIVersion(pair.To),
					Objects:           raw[i : i+1],
				}
				body, err := request.Body()
				if err != nil {
					return nil, err
				}
				questions = append(questions, Question{Body: body, Request: request})
			}
		}
	}
	return questions, nil
}

// generated returns n objects of all styles, or fewer if the schema allows no more, and after them the singles.
func generated(ctx context.Context, g *corpus.Generator, n int) ([]*unstructured.Unstructured, error) {
	all := styles()
	objects := make([][]*unstructured.Unstructured, len(all))
	// A schema may have nothing that a style is about, such as null. The styles before it make up for that, at last Plain, which all
	// schemas have.
	for i, style := range slices.Backward(all) {
		objects[i] = g.Objects(style, n/(i+1))
		n -= len(objects[i])
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	made := slices.Concat(objects...)
	for _, single := range g.Singles() {
		if single.Style != corpus.Large { // there are huge ones already
			made = append(made, single.Object)
		}
	}
	return made, ctx.Err()
}
