package resource

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
)

// journal is what a spec did, as commands for a shell.
type journal []entry

// entry is one command. It belongs to an object, or to all when the name is empty.
type entry struct {
	name, command string
	version       string // of the object that the command reads from its standard input
	input         []byte // the object as JSON, which becomes YAML only for a report; nil where the command reads nothing
}

func (j *journal) add(name, format string, arguments ...any) {
	*j = append(*j, entry{name: name, command: fmt.Sprintf(format, arguments...)})
}

// addWith adds a command for an object that reads it, as it was sent at a version, from its standard input.
func (j *journal) addWith(version string, sent *unstructured.Unstructured, name, format string, arguments ...any) {
	*j = append(*j, entry{name, fmt.Sprintf(format, arguments...), version, corpus.JSON(sent)[0]})
}

// script returns what was done to an object.
func (r *round) script(name string) []byte {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n# What was done, in order. The definition must be installed, with the webhook running.\nset -x\n")
	for _, entry := range r.journal {
		if entry.name == "" || entry.name == name {
			b.WriteString(entry.command)
			if entry.input != nil {
				sent := &unstructured.Unstructured{}
				r.require(utiljson.Unmarshal(entry.input, &sent.Object), "reading what was sent")
				b.WriteString(" -f - <<'EOF'\n" + r.manifest(entry.version, sent) + "EOF")
			}
			b.WriteString("\n")
		}
	}
	return []byte(b.String())
}

// address is how kubectl refers to an object at a version.
func (r *round) address(version, name string) string {
	address := fmt.Sprintf("%s.%s.%s %s", r.definition.CRD.Spec.Names.Plural, version, r.crd.Group(), name)
	if r.definition.CRD.Spec.Scope == apiextensionsv1.NamespaceScoped {
		return address + " -n " + suites.Namespace
	}
	return address
}

// manifest is an object at a version as YAML, without what would keep a copy from being written: kubectl fills in what an update needs,
// and API servers keep the record of managers where it is left out.
func (r *round) manifest(version string, from *unstructured.Unstructured) string {
	written := r.crd.Object(version, r.placed(from))
	for _, field := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"} {
		unstructured.RemoveNestedField(written.Object, "metadata", field)
	}
	return string(corpus.YAML(written))
}

// placed is an object with its namespace, if it has one.
func (r *round) placed(from *unstructured.Unstructured) *unstructured.Unstructured {
	placed := from.DeepCopy()
	placed.SetNamespace(suites.Namespace) // the resource takes it away where there are none
	return placed
}

// attach attaches what was sent, what is stored, and how to do it again.
func (r *round) attach(ctx context.Context, o *object) {
	r.env.Attach("object.yaml", []byte(r.manifest(o.version, o.sent)))
	r.env.Attach("reproduce.sh", r.script(o.name))
	if _, ok := r.env.Cluster.(cluster.Storage); ok && r.crd.InStorage(ctx, o.name) {
		r.env.Attach("stored.json", r.crd.Stored(ctx, o.name).Data)
	}
}
