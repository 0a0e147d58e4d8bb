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
	"net/url"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/history"
)

const (
	// namespace is where namespaced objects are created.
	namespace = "default"

	// written is the annotation that writers write: whatever converts an object has to keep it.
	written = "crdconform.dev/written"

	// patience is how long a client waits for an answer: longer than API servers wait for a webhook, which is 30 s.
	patience = 40 * time.Second

	mergePatch = "application/merge-patch+json"
	applyPatch = "application/apply-patch+yaml" // of which JSON is a subset
)

// annotating is a merge patch that writes a value.
func annotating(value string) []byte {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{written: value}}}) // of strings only
	return patch
}

// api is what clients know of an API server: where the objects of a definition are.
type api struct {
	http      *http.Client
	host      string
	group     string
	kind      string
	plural    string
	namespace string // empty for objects outside of namespaces
}

func newAPI(config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition) (*api, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	a := &api{http: client, host: strings.TrimSuffix(config.Host, "/"), group: crd.Spec.Group, kind: crd.Spec.Names.Kind, plural: crd.Spec.Names.Plural}
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		a.namespace = namespace
	}
	return a, nil
}

func (a *api) close() { a.http.CloseIdleConnections() }

// path is that of all objects at a version or, with a name, of one.
func (a *api) path(version, name string) string {
	path := "/apis/" + a.group + "/" + version
	if a.namespace != "" {
		path += "/namespaces/" + a.namespace
	}
	path += "/" + a.plural
	if name != "" {
		path += "/" + name
	}
	return path
}

// key identifies an object in a history.
func (a *api) key(name string) string { return strings.TrimPrefix(a.namespace+"/"+name, "/") }

// ask is a request.
type ask struct {
	method      string
	path        string
	query       url.Values
	contentType string // of the body
	body        []byte
}

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
func (a *api) open(ctx context.Context, q ask) (*http.Response, answer) {
	address := a.host + q.path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, q.method, address, bytes.NewReader(q.body))
	if err != nil {
		return nil, broken(ctx, err)
	}
	request.Header.Set("Accept", "application/json")
	if q.body != nil {
		request.Header.Set("Content-Type", q.contentType)
	}
	response, err := a.http.Do(request)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if response.StatusCode < http.StatusMultipleChoices {
		return response, answer{code: response.StatusCode}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, broken(ctx, err)
	}
	return nil, refusal(response.StatusCode, body)
}

// do makes a request and reads the answer.
func (a *api) do(ctx context.Context, q ask) answer {
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

// refusal is an answer that is no success.
func refusal(code int, body []byte) answer {
	status := metav1.Status{Message: strings.TrimSpace(string(body))}
	_ = json.Unmarshal(body, &status) // of proxies, say, it is text
	return answer{code: code, error: refusalKind(code, status), text: status.Message, continues: status.Continue}
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
