package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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
			report := checked(t, Description{Config: c, Handler: breaking(having(test.over), test.with)})
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

// TestGreed has a program allocate without bound for an empty host, on a machine that is said to have little memory: it is killed and started again, the
// finding has the field and how much memory it took, and all else is judged.
func TestGreed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: a program that takes some 300 MiB again and again")
	}
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux, where it is known what programs take")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Description{Config: config.Config{
		Filter: []string{string(canary), string(requirement.WebhookConversionZeroValues)}, CRDs: []string{crontabs}, APIServer: config.None,
		Generate: config.Generate{Objects: 3, Seed: 5}, Webhook: config.Webhook{Timeout: config.Duration{Duration: 10 * time.Minute}, Command: &config.Command{Args: []string{self, "greedy", "{port}", "{certs}"}}},
	}}.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	plan.memory = 512 << 20
	report := plan.Run(t.Context(), quiet{}, nil)
	failed, passed := verdicts(report, requirement.Failed), verdicts(report, requirement.Passed)
	if !slices.Equal(failed, []requirement.ID{requirement.WebhookConversionZeroValues}) || !slices.Equal(passed, []requirement.ID{canary}) {
		t.Fatalf("failed: %v, passed: %v, %s", failed, passed, report.Error)
	}
	reason := report.With(requirement.Failed)[0].Reason
	why := regexp.MustCompile(`it exited: killed, since it took 0\.[345] GiB of memory, more than half of the 0\.5 GiB that there is; `)
	if !why.MatchString(reason) || !strings.Contains(reason, `object: {"apiVersion":"example.com/v1","host":""`) {
		t.Error(reason)
	}
	if !why.MatchString(strings.Join(report.Notes, "\n")) {
		t.Errorf("notes: %q", report.Notes)
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

// allocate allocates memory until it is too much, and no more than machines have that run tests. Then it hangs.
func allocate() {
	const most, step = 448 << 20, 1 << 20
	var all [][]byte
	for range most / step {
		all = append(all, bytes.Repeat([]byte{1}, step))
	}
	<-time.After(time.Minute)
	runtime.KeepAlive(all)
}

// having are texts that objects with some names have.
func having(names []string) []string {
	var texts []string
	for _, name := range names {
		texts = append(texts, fmt.Sprintf(`"name":%q`, name))
	}
	return texts
}

// breaking is the reference webhook, but for requests with one of some texts, which it treats in another way.
func breaking(texts []string, with func(w http.ResponseWriter)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		for _, text := range texts {
			if strings.Contains(string(body), text) {
				with(w)
				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		webhook.Handler().ServeHTTP(w, r)
	})
}
