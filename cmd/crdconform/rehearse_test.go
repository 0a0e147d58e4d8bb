package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/test/subjects"
)

// newUpgrade builds a program that converts the objects of an operator, and writes old.yaml and new.yaml to a folder: the definitions of
// two releases of it, which store at v1beta1 and at v1.
func newUpgrade(t *testing.T, dir string) *subjects.Program {
	t.Helper()
	program := subjects.Build(t, subjects.Kubebuilder)
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(read(t, program.CRD), &crd); err != nil {
		t.Fatal(err)
	}
	for file, stored := range map[string]string{"old.yaml": "v1beta1", "new.yaml": "v1"} {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == stored
		}
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, file), string(text))
	}
	return program
}

// upgrade does what newUpgrade does, in the folder of the script. The variable PROGRAM is the path of the program.
func upgrade(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PROGRAM", newUpgrade(testOf(ts), ts.MkAbs(".")).Serve()[0])
}

// executed is what a command line comes to.
func executed(t *testing.T, arguments ...string) (code int, out, errors string) {
	t.Helper()
	var written, said strings.Builder
	code = execute(t.Context(), arguments, streams{out: &written, err: &said})
	return code, written.String(), said.String()
}
