package main

import (
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

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
