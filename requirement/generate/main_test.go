package main

import (
	"bytes"
	"go/format"
	"os"
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

func TestIDsAreUpToDate(t *testing.T) {
	want, err := format.Source(render(requirement.All()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../ids.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("ids.go does not follow from catalogue.yaml; run \"go generate ./requirement\"")
	}
}

func TestSentencesAreUpToDate(t *testing.T) {
	got, err := os.ReadFile("../../docs/sentences.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, renderSentences(requirement.Documents(), requirement.Sentences())) {
		t.Error("docs/sentences.md does not follow from sentences.yaml; run \"go generate ./requirement\"")
	}
}

func TestConstant(t *testing.T) {
	for id, want := range map[requirement.ID]string{
		"conversion.client.ca-bundle-wrong": "ConversionClientCABundleWrong",
		"webhook.response.http-status":      "WebhookResponseHTTPStatus",
		"conversion.none.only-api-version":  "ConversionNoneOnlyAPIVersion",
	} {
		if got := constant(id); got != want {
			t.Errorf("%s: got %s, want %s", id, got, want)
		}
	}
}
