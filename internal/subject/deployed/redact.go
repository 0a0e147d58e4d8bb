package deployed

import (
	"encoding/base64"
	"regexp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/cluster/redact"
)

// redactor knows what is secret of a webhook.
type redactor struct{ redact.Redactor }

// secretName is what variables are called that are secret.
var secretName = regexp.MustCompile(`(?i)(password|passwd|secret|token|credential|api_?key|private_?key)`)

// environment adds the variables whose names say that they are secret.
func (r *redactor) environment(env map[string]string) {
	for name, value := range env {
		if secretName.MatchString(name) {
			r.Add(value)
		}
	}
}

// manifest adds what is secret in an object that is to be applied.
func (r *redactor) manifest(object *unstructured.Unstructured) {
	if object.GetKind() != "Secret" {
		return
	}
	values := map[string][]byte{}
	encoded, _, _ := unstructured.NestedStringMap(object.Object, "data")
	for key, text := range encoded {
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			values[key] = value
		}
	}
	r.Secret(values)
	plain, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
	values = map[string][]byte{}
	for key, text := range plain {
		values[key] = []byte(text)
	}
	r.Secret(values)
}

// hideEnvironment takes the values out of variables whose names say that they are secret, wherever they are in an object.
func hideEnvironment(node any) {
	switch node := node.(type) {
	case map[string]any:
		name, _ := node["name"].(string)
		if _, has := node["value"].(string); has && secretName.MatchString(name) {
			node["value"] = redact.Mark
		}
		for _, inner := range node {
			hideEnvironment(inner)
		}
	case []any:
		for _, inner := range node {
			hideEnvironment(inner)
		}
	}
}

func schemaResource(kind [3]string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: kind[0], Version: kind[1], Resource: kind[2]}
}
