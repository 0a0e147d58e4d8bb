package suites

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/cluster/redact"
)

const (
	// shownObjects is how many objects of a definition are kept when a spec fails.
	shownObjects = 20

	// showTimeout is how long the API server may take to return what is kept. It may be what is broken.
	showTimeout = 5 * time.Second
)

// show attaches the definition to the result of the running spec if that has failed, and its objects: afterwards they are
// gone. If the run was stopped, this is skipped.
func (r *Resource) show() {
	select {
	case <-r.env.stopped:
		return
	default:
	}
	if !ginkgo.CurrentSpecReport().Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), showTimeout)
	defer cancel()
	r.env.Attach(r.Name()+".yaml", []byte(redact.Text(r.shown(ctx))))
}

// shown is the definition as the API server has it, and its objects in all namespaces, as YAML. Errors are shown as comments.
func (r *Resource) shown(ctx context.Context) string {
	definition, err := r.env.CRDs.Get(ctx, r.Name(), metav1.GetOptions{})
	if err != nil {
		return comment("The definition cannot be read: %v", err)
	}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	definition.ManagedFields = nil
	var text strings.Builder
	document(&text, definition)
	version := servedVersion(definition)
	if version == "" {
		return text.String() + comment("Its objects cannot be read: no version is served")
	}
	list, err := r.Everywhere(version).List(ctx, metav1.ListOptions{Limit: shownObjects})
	if err != nil {
		return text.String() + comment("Its objects cannot be read at %s: %v", version, err)
	}
	for _, object := range list.Items[:min(len(list.Items), shownObjects)] {
		document(&text, object.Object)
	}
	if list.GetContinue() != "" || len(list.Items) > shownObjects {
		text.WriteString(comment("There are more objects."))
	}
	return text.String()
}

// document adds a value to a text as a document of YAML.
func document(text *strings.Builder, value any) {
	data, err := yaml.Marshal(value)
	if err != nil {
		data = []byte(comment("It cannot be shown: %v", err))
	}
	fmt.Fprintf(text, "---\n%s", data)
}

// comment is a comment in YAML, of as many lines as the text has.
func comment(format string, arguments ...any) string {
	return "# " + strings.ReplaceAll(fmt.Sprintf(format, arguments...), "\n", "\n# ") + "\n"
}
