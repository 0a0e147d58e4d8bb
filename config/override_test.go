package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/options"
)

// TestOverride puts a value of a flag in the place of one of the file: what is wrong with it is the flag's, and all else the file's.
func TestOverride(t *testing.T) {
	t.Parallel()
	c := parse(t, head+"crds: [a.yaml]\nwebhook: {url: https://localhost/, timeout: 3s}\nload: {profile: replay, recording: b.jsonl}\n")
	c.Override("webhook.url", Config{Webhook: Webhook{URL: "https://localhost:1/"}}, "webhook URL")
	c.Override("crds", Config{CRDs: []string{"c.yaml"}}, "--crd")
	here, err := filepath.Abs("c.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(c.CRDs, []string{here}) || c.Path(c.Load.Recording) != filepath.Join("dir", "b.jsonl") {
		t.Errorf("the definitions are %v, and the recording is %s", c.CRDs, c.Path(c.Load.Recording))
	}
	for key, want := range map[string]string{
		"crds[0]":         "--crd: no, see load.objects",
		"webhook.url":     "webhook URL: no, see load.objects",
		"webhook.timeout": "dir/crdconform.yaml:4:36: webhook.timeout: no, see load.objects",
	} {
		err := c.At(key, "no, see %s", options.Key("load.objects"))
		var problem *ProblemError
		if first, _, _ := strings.Cut(err.Error(), "\n"); first != want || !errors.As(err, &problem) || problem.Key != key {
			t.Errorf("got %q, want %q", first, want)
		}
	}
	if err := c.At("crds", "%w", os.ErrNotExist); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cause is lost: %v", err)
	}
	if c.Origin("crds") != "--crd" || c.Origin("load.recording") != "dir/crdconform.yaml:5" {
		t.Errorf("they are from %s and %s", c.Origin("crds"), c.Origin("load.recording"))
	}
}
