package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/requirement"
)

// TestCulprits gives a webhook samples of which it breaks down over one, or over each: the finding names the sample and its file.
func TestCulprits(t *testing.T) {
	t.Parallel()
	const sample = "{apiVersion: example.com/v1, kind: CronTab, metadata: {name: %s}, host: localhost, port: \"1234\"}\n---\n"
	file := put(t, fmt.Sprintf(sample, "good")+fmt.Sprintf(sample, "bad")+fmt.Sprintf(sample, "worse"))
	for name, test := range map[string]struct {
		over  []string
		with  func(w http.ResponseWriter)
		fails requirement.ID
		want  string
	}{
		"by status": {
			over: []string{"bad"}, with: func(w http.ResponseWriter) { http.Error(w, "TypeError", http.StatusInternalServerError) },
			fails: requirement.WebhookResponseHTTPStatus, want: fmt.Sprintf("sample \"bad\" (%s): v1 -> ", file),
		},
		"by the end of the connection": {
			over: []string{"bad", "worse"}, with: func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
			fails: requirement.WebhookResponseInTime, want: fmt.Sprintf("sample \"bad\" (%s), sample \"worse\" (%s): v1 -> ", file, file),
		},
		"over each": {
			over: []string{"good", "bad", "worse"}, with: func(w http.ResponseWriter) { http.Error(w, "TypeError", http.StatusInternalServerError) },
			fails: requirement.WebhookResponseHTTPStatus, want: fmt.Sprintf("each of 3 objects, such as sample \"good\" (%s): v1 -> ", file),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config.Config{Filter: []string{"webhook.response"}, CRDs: []string{crontabs}, Samples: []string{file}}
			report := checked(t, Description{Config: c, Handler: breaking(test.over, test.with)})
			failed := report.With(requirement.Failed)
			if len(failed) != 1 || failed[0].ID != test.fails || !strings.HasPrefix(failed[0].Reason, test.want) {
				t.Fatalf("failed: %+v, want %s for %s", failed, test.fails, test.want)
			}
		})
	}
}

// TestLastWords has a program end over a sample: it is started again, so the finding names what it was asked to convert and how it ended, the
// other requirements are judged, and the report says how often it ended.
func TestLastWords(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const sample = "{apiVersion: example.com/v1, kind: CronTab, metadata: {name: %s}, host: localhost, port: \"1234\"}\n---\n"
	file := put(t, fmt.Sprintf(sample, "good")+fmt.Sprintf(sample, "bad"))
	c := config.Config{
		Filter: []string{"webhook.response", "webhook.conversion.round-trip"}, CRDs: []string{crontabs}, Samples: []string{file},
		Webhook: config.Webhook{Command: &config.Command{Args: []string{self, "fragile", "{port}", "{certs}"}}},
	}
	report := checked(t, Description{Config: c})
	failed := report.With(requirement.Failed)
	want := fmt.Sprintf("sample \"bad\" (%s): v1 -> ", file)
	if len(failed) != 1 || !strings.HasPrefix(failed[0].Reason, want) || !strings.Contains(failed[0].Reason, "it exited: exit status 3; its last output:\nbad came") {
		t.Errorf("failed: %+v, want one that begins with %s", failed, want)
	}
	if !strings.Contains(strings.Join(report.Notes, "\n"), " times and was started again. The first time: webhook program ") {
		t.Errorf("notes: %q", report.Notes)
	}
	if report.Error != "" {
		t.Error(report.Error)
	}
}

// TestEndsForAnAPIServer has a program end when an API server asks it for an object: that is found where the object was read, and whatever else
// clients do is judged, because the program is started again and the requests that it could not answer are sent again.
func TestEndsForAnAPIServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a chapter on an API server, and a program that is started several times")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Description{Config: config.Config{
		Filter: []string{"resource"}, CRDs: []string{crontabs}, APIServer: config.Embedded, Generate: config.Generate{Objects: 3, Seed: 5},
		Webhook: config.Webhook{Command: &config.Command{Args: []string{self, "fragile", "{port}", "{certs}"}}},
	}}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Run(t.Context(), quiet{}, nil)
	failed := report.With(requirement.Failed, requirement.Errored)
	if len(failed) != 1 || failed[0].ID != requirement.ResourceReadEveryVersion || strings.Contains(failed[0].Reason, "connection refused") {
		t.Errorf("failed: %+v", failed)
	}
	if passed := len(report.With(requirement.Passed)); passed < 10 || report.Error != "" {
		t.Errorf("%d passed; %s", passed, report.Error)
	}
}

// breaking is the reference webhook, but for requests with an object of one of the names, which it treats in another way.
func breaking(names []string, with func(w http.ResponseWriter)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		for _, name := range names {
			if strings.Contains(string(body), fmt.Sprintf(`"name":%q`, name)) {
				with(w)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
}
