package main

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

func convertOne(object, desired string) (string, error) {
	spoil := each(func(string, *unstructured.Unstructured) {})
	converted, err := convertAll(program.Review{Desired: desired, Objects: []json.RawMessage{json.RawMessage(object)}}, spoil)
	if err != nil {
		return "", err
	}
	return string(converted[0]), nil
}

func TestConvert(t *testing.T) {
	t.Parallel()
	for v1beta1, v1 := range map[string]string{
		`{"hostPort":"localhost:80"}`:               `{"host":"localhost","port":"80"}`,
		`{"hostPort":"localhost:0080","x":1}`:       `{"host":"localhost","port":"0080","x":1}`,
		`{"hostPort":"localhost"}`:                  `{"host":"localhost"}`,
		`{"hostPort":":80"}`:                        `{"port":"80"}`,
		`{"cronSpec":"* * * * *"}`:                  `{"schedule":"* * * * *"}`,
		`{"retries":9007199254740993,"x":{"y":[]}}`: `{"retries":9007199254740993,"x":{"y":[]}}`,
		`{}`:   `{}`,
		`null`: `null`,
	} {
		whole := func(version, spec string) string {
			return `{"apiVersion":"cron.example.org/` + version + `","kind":"Job","spec":` + spec + `}`
		}
		there, err := convertOne(whole("v1beta1", v1beta1), newer)
		if err != nil || strings.TrimSpace(there) != whole("v1", v1) {
			t.Errorf("%s: got %s, %v, want %s", v1beta1, there, err, v1)
		}
		back, err := convertOne(whole("v1", v1), older)
		if err != nil || strings.TrimSpace(back) != whole("v1beta1", v1beta1) {
			t.Errorf("%s: got %s, %v, want %s", v1, back, err, v1beta1)
		}
	}
}

func TestWhatCannotBeConverted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ object, desired, want string }{
		"no kind":         {`{"apiVersion":"cron.example.org/v1"}`, older, "Kind"},
		"no object":       {`[]`, older, "object 0"},
		"text as spec":    {`{"apiVersion":"cron.example.org/v1","kind":"Job","spec":"x"}`, older, "spec is not an object"},
		"number as host":  {`{"apiVersion":"cron.example.org/v1","kind":"Job","spec":{"host":1}}`, older, "host"},
		"list as address": {`{"apiVersion":"cron.example.org/v1beta1","kind":"Job","spec":{"hostPort":[]}}`, newer, "hostPort"},
		"other group":     {`{"apiVersion":"example.org/v1","kind":"Job"}`, older, "cannot convert example.org/v1"},
		"unknown target":  {`{"apiVersion":"cron.example.org/v1","kind":"Job"}`, "cron.example.org/v7", "cannot convert"},
	} {
		if got, err := convertOne(test.object, test.desired); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %s, %v, want something with %q", name, got, err, test.want)
		}
	}
}
