package disruption

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// namespace is where namespaced objects are created.
	namespace = "default"

	// written is the annotation that writers write: whatever converts an object has to keep it.
	written = "crdconform.dev/written"

	// patience is how long a client waits for an answer: longer than API servers wait for a webhook, which is 30 s.
	patience = 40 * time.Second
)

// annotating is a merge patch that writes a value.
func annotating(value string) []byte {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{written: value}}}) // of strings only
	return patch
}

// api is what clients know of an API server: where the objects of a definition are.
type api struct {
	kube.Resource
	*kube.Once

	kind string
}

func newAPI(config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) (*api, error) {
	once, err := kube.NewOnce(config)
	return &api{kube.ResourceOf(crd, namespace), once, crd.Spec.Names.Kind}, err
}

// key identifies an object in a history.
func (a *api) key(name string) string { return strings.TrimPrefix(a.Namespace+"/"+name, "/") }

// answer is what came of a request.
type answer struct {
	code  int // 0 if there was none
	body  []byte
	error record.Error
	text  string // of the error

	// continues is where the list goes on after its snapshot has expired.
	continues string
}

// open makes a request, and returns the response if it is a success.
func (a *api) open(ctx context.Context, q kube.Request) (*http.Response, answer) {
	response, err := a.Open(ctx, q)
	if err != nil {
		return nil, failed(ctx, err)
	}
	return response, answer{code: response.StatusCode}
}

// do makes a request and reads the answer.
func (a *api) do(ctx context.Context, q kube.Request) answer {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	response, got := a.open(ctx, q)
	if response == nil {
		return got
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return broken(ctx, err)
	}
	got.body = body
	return got
}

// failed is an answer that is no success, or a request without one.
func failed(ctx context.Context, err error) answer {
	refused, is := errors.AsType[*kube.RefusedError](err)
	if !is {
		return broken(ctx, err)
	}
	return answer{code: refused.Code, error: refusalKind(refused.Code, refused.Status), text: refused.Status.Message, continues: refused.Status.Continue}
}

// outcome is what a client knows after an answer.
func (a answer) outcome(writes bool) history.Outcome {
	switch {
	case a.error == "":
		return history.Acknowledged
	case a.error == record.NotThere:
		return history.NotFound
	case a.error == record.There:
		return history.Exists
	case writes && (a.code == 0 && a.error != record.Refused || a.code >= http.StatusInternalServerError):
		return history.Unknown // what was written may be there, and only the answer could not be converted
	}
	return history.Refused
}

// seen is what a client takes from an object. The digest leaves annotations out: clients write one, and webhooks keep in others what a
// version has no field for, which depends on who wrote last.
type seen struct {
	name   string
	state  history.State
	digest string
}

// decode decodes an object of an answer, and returns its metadata too.
func decode(raw []byte) (o, metadata map[string]any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&o); err != nil {
		return nil, nil, fmt.Errorf("the answer is not an object: %w", err)
	}
	metadata, is := o["metadata"].(map[string]any)
	if !is {
		return nil, nil, errors.New("the answer is not an object: it has no metadata")
	}
	return o, metadata, nil
}

// rewritten is an object of an answer with another value written to it.
func rewritten(raw []byte, value string) ([]byte, error) {
	o, metadata, err := decode(raw)
	if err != nil {
		return nil, err
	}
	annotations, is := metadata["annotations"].(map[string]any)
	if !is {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[written] = value
	return json.Marshal(o)
}

// object reads an object of an answer.
func object(raw []byte) (seen, error) {
	o, metadata, err := decode(raw)
	if err != nil {
		return seen{}, err
	}
	s := seen{state: history.State{Exists: true}}
	s.name, _ = metadata["name"].(string)
	s.state.UID, _ = metadata["uid"].(string)
	if annotations, is := metadata["annotations"].(map[string]any); is {
		s.state.Content, _ = annotations[written].(string)
	}
	for _, changing := range []string{"resourceVersion", "managedFields", "generation", "annotations"} {
		delete(metadata, changing)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return seen{}, err
	}
	sum := sha256.Sum256(text)
	s.digest = hex.EncodeToString(sum[:8])
	return s, nil
}

// list is what matters of a list.
type list struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}
