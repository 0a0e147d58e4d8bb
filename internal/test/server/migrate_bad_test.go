package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

// failing converts all but the objects of some names.
func failing(names ...string) http.Handler {
	next := webhook.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := suitetest.Body(r)
		review := &apiextensionsv1.ConversionReview{}
		if json.Unmarshal(body, review) != nil || !slices.ContainsFunc(names, func(name string) bool { return bytes.Contains(body, []byte(`"`+name+`"`)) }) {
			next.ServeHTTP(w, r)
			return
		}
		review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusFailure, Message: "no such port"}}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(review)
	})
}

// hooked is a configuration by which something is done before the nth request that is wanted, the first being 1. What it returns,
// if anything, is the answer.
func hooked(config *rest.Config, wanted func(*http.Request) bool, nth int64, do func(*http.Request) *http.Response) *rest.Config {
	config = rest.CopyConfig(config)
	var count atomic.Int64
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if wanted(r) && count.Add(1) == nth {
				if answer := do(r); answer != nil {
					return answer, nil
				}
			}
			return next.RoundTrip(r)
		})
	})
	return config
}

func writes(r *http.Request) bool {
	return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/crontabs/") && !r.URL.Query().Has("dryRun")
}

// wantIncomplete wants an error that says that the migration is not complete, and why.
func wantIncomplete(t *testing.T, err error, why string) {
	t.Helper()
	var not *migrate.IncompleteError
	if !errors.As(err, &not) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want %s", err, why)
	}
}

// TestMigrateConversionFails has objects whose conversion fails, which no list at the storage version would get past.
func TestMigrateConversionFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(12)
	s.change(fixtures.StoredAt("v1"))
	s.converts(failing("crontab-0003", "crontab-0007"))
	refused := func(result migrate.Result) (names []string) {
		for _, one := range result.Refused {
			names = append(names, one.Name)
			if one.Namespace != "default" || !strings.Contains(one.Reason, "no such port") {
				t.Errorf("it was refused because of %+v", one)
			}
		}
		slices.Sort(names)
		return names
	}
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{PageSize: 5})
	wantIncomplete(t, err, "2 objects were refused by the dry run; nothing was written")
	if got := refused(result); !slices.Equal(got, []string{"crontab-0003", "crontab-0007"}) {
		t.Errorf("refused are %v", got)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1beta1": 12}) {
		t.Errorf("stored are %v", got)
	}

	result, err = migrate.Run(t.Context(), s.config, s.name, migrate.Options{PageSize: 5, Steps: []migrate.Step{migrate.Objects, migrate.ManagedFields, migrate.StoredVersions}})
	wantIncomplete(t, err, "2 objects were not migrated; status.storedVersions was left as it is")
	if got := refused(result); !slices.Equal(got, []string{"crontab-0003", "crontab-0007"}) || result.Rewritten != 10 {
		t.Errorf("refused are %v: %+v", got, result)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 10, "v1beta1": 2}) {
		t.Errorf("stored are %v", got)
	}
	if got := s.storedVersions(); !slices.Equal(got, []string{"v1beta1", "v1"}) {
		t.Errorf("the status lists %v", got)
	}

	s.converts(webhook.Handler())
	if _, err = migrate.Run(t.Context(), s.config, s.name, migrate.Options{}); err != nil {
		t.Error(err)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 12}) {
		t.Errorf("stored are %v", got)
	}
}

// TestMigrateUnreadable has an object that is stored at a version which is not served, and cannot be converted.
func TestMigrateUnreadable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(12)
	s.change(fixtures.StoredAt("v1"))
	s.change(fixtures.NotServed("v1beta1"))
	s.converts(failing("crontab-0007"))
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{PageSize: 5, Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	wantIncomplete(t, err, "the object after default/crontab-0006 can't be read at any served version, so nothing after it was read: ")
	if result.Rewritten != 7 || result.Trimmed {
		t.Errorf("%+v", result)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 7, "v1beta1": 5}) {
		t.Errorf("stored are %v", got)
	}
}

// TestMigrateWebhookDown stops before thousands of objects were tried in vain.
func TestMigrateWebhookDown(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(migrate.MaxInARow + 30)
	s.change(fixtures.StoredAt("v1"))
	s.converts(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Concurrency: 20})
	wantIncomplete(t, err, "100 objects in a row failed, so the rest was not tried; the last one: default/crontab-")
	if len(result.Refused) < migrate.MaxInARow || len(result.Refused) >= migrate.MaxInARow+30 {
		t.Errorf("refused are %d", len(result.Refused))
	}
	if got := s.stored(); got["v1"] != 0 {
		t.Errorf("stored are %v", got)
	}
}

// TestMigrateWebhookSlow says what may be why a request is not answered in time: one that writes, and one that lists.
func TestMigrateWebhookSlow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	for name, test := range map[string]struct {
		serving func(string) fixtures.Option
		want    string
	}{
		"writing": {fixtures.Served, "writing default/crontab-000"},
		"listing": {fixtures.NotServed, "listing crontabs."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, fixtures.Webhook)
			s.populate(3)
			s.change(fixtures.StoredAt("v1"))
			s.change(test.serving("v1beta1"))
			s.converts(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
			config := rest.CopyConfig(s.config)
			config.Timeout = time.Second
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { // the API server does not know, or it might be first to give up
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					r = r.Clone(r.Context())
					query := r.URL.Query()
					query.Del("timeout")
					r.URL.RawQuery = query.Encode()
					return next.RoundTrip(r)
				})
			})
			_, err := migrate.Run(t.Context(), config, s.name, migrate.Options{Concurrency: 1})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "see whether one of them is slow") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestMigrateTooLarge refuses what etcd would refuse in the middle.
func TestMigrateTooLarge(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(3)
	s.change(fixtures.StoredAt("v1"))
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{MaxSize: 100})
	wantIncomplete(t, err, "3 objects were refused by the dry run; nothing was written")
	if len(result.Refused) != 3 || !strings.Contains(result.Refused[0].Reason, " bytes at v1, and etcd takes 100") {
		t.Errorf("refused are %v", result.Refused)
	}
}

// TestMigrateOthersWrite has other clients write, delete and create again what was listed already.
func TestMigrateOthersWrite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(20)
	s.change(fixtures.StoredAt("v1"))
	config := hooked(s.config, writes, 1, func(*http.Request) *http.Response {
		ctx := t.Context()
		_, err1 := s.at("v1beta1").Patch(ctx, "crontab-0019", types.MergePatchType, []byte(`{"hostPort":"theirs:1"}`), metav1.PatchOptions{})
		err2 := s.at("v1").Delete(ctx, "crontab-0018", metav1.DeleteOptions{})
		err3 := s.at("v1").Delete(ctx, "crontab-0017", metav1.DeleteOptions{})
		fresh := s.crontab("crontab-0017")
		fresh.Object["hostPort"] = "fresh:1"
		_, err4 := s.at("v1beta1").Create(ctx, fresh, metav1.CreateOptions{})
		if err := errors.Join(err1, err2, err3, err4); err != nil {
			t.Error(err)
		}
		return nil
	})
	result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{Concurrency: 1, Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	if err != nil || result.Rewritten != 17 || result.Newer != 2 || result.Gone != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 19}) {
		t.Errorf("stored are %v", got)
	}
	after := s.contents("v1beta1")
	for name, want := range map[string]any{"crontab-0019": "theirs:1", "crontab-0017": "fresh:1", "crontab-0000": "localhost:1234"} {
		if got := after[name].(map[string]any)["hostPort"]; got != want {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
}

// TestMigrateLate has other clients create and write objects after the list: an API server that had not seen the storage version change would
// have stored them at the former one, so each is written once more.
func TestMigrateLate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(4)
	s.change(fixtures.StoredAt("v1"))
	s.inForce("v1")
	var patched sync.Map
	config := hooked(s.config, writes, 1, func(*http.Request) *http.Response {
		_, err1 := s.at("v1beta1").Patch(t.Context(), "crontab-0003", types.MergePatchType, []byte(`{"hostPort":"theirs:1"}`), metav1.PatchOptions{})
		_, err2 := s.at("v1beta1").Create(t.Context(), s.crontab("created"), metav1.CreateOptions{})
		if err := errors.Join(err1, err2); err != nil {
			t.Error(err)
		}
		return nil
	})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if writes(r) && err == nil && response.StatusCode == http.StatusOK {
				times, _ := patched.LoadOrStore(path.Base(r.URL.Path), new(atomic.Int64))
				times.(*atomic.Int64).Add(1)
			}
			return response, err
		})
	})
	result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{Concurrency: 1, Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	if err != nil || result.Objects != 4 || result.Newer != 1 || result.Behind != 0 {
		t.Errorf("%+v, %v", result, err)
	}
	for _, name := range []string{"crontab-0000", "crontab-0001", "crontab-0002", "crontab-0003", "created"} {
		times, found := patched.Load(name)
		if !found || times.(*atomic.Int64).Load() != 1 {
			t.Errorf("%s was not written once", name)
		}
	}
	if got := s.contents("v1beta1")["crontab-0003"].(map[string]any)["hostPort"]; got != "theirs:1" {
		t.Errorf("crontab-0003 has %v", got)
	}
}

// TestMigrateBehind has an object that another API server stored at the former version after the list, as the answer to the write shows.
func TestMigrateBehind(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(2)
	s.change(fixtures.StoredAt("v1"))
	created := hooked(s.config, writes, 1, func(*http.Request) *http.Response {
		if _, err := s.at("v1beta1").Create(t.Context(), s.crontab("created"), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		return nil
	})
	isLate := func(r *http.Request) bool { return writes(r) && path.Base(r.URL.Path) == "created" }
	config := hooked(created, isLate, 1, func(r *http.Request) *http.Response {
		return suitetest.Answer(r, http.StatusOK, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "created", ResourceVersion: "99999999"}})
	})
	result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{Concurrency: 1, Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	if err != nil || result.Behind != 1 || result.Objects != 2 {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestMigrateNeverIdle has an object that others created after the list, and write whenever it is patched: it costs the migration nothing.
func TestMigrateNeverIdle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(2)
	s.change(fixtures.StoredAt("v1"))
	created := hooked(s.config, writes, 1, func(*http.Request) *http.Response {
		if _, err := s.at("v1beta1").Create(t.Context(), s.crontab("busy"), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		return nil
	})
	tries := 0
	created.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if writes(r) && path.Base(r.URL.Path) == "busy" {
				tries++
				return suitetest.Answer(r, http.StatusConflict, metav1.Status{
					TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Code: http.StatusConflict,
				}), nil
			}
			return next.RoundTrip(r)
		})
	})
	result, err := migrate.Run(t.Context(), created, s.name, migrate.Options{Concurrency: 1, Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
	if err != nil || tries < 2 || result.Behind != 0 || len(result.Refused) > 0 || !slices.Equal(result.StoredVersions, []string{"v1"}) {
		t.Errorf("%d tries, %+v, %v", tries, result, err)
	}
}

// TestMigrateDefinitionChanges changes the definition in the middle of a migration.
func TestMigrateDefinitionChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	column := func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Host", Type: "string", JSONPath: ".host"}}
	}
	for name, test := range map[string]struct {
		change func(*scene) error
		want   string
		stored []string // versions of the status in the end; not looked at if nil
	}{
		"flip":    {func(s *scene) error { return s.tryChange(fixtures.StoredAt("v1beta1")) }, "the storage version of crontabs.%s changed from v1 to v1beta1 during the migration", []string{"v1beta1", "v1"}},
		"other":   {func(s *scene) error { return s.tryChange(column) }, "crontabs.%s changed during the migration (generation 2, now 3)", []string{"v1beta1", "v1"}},
		"deleted": {func(s *scene) error { s.remove(); return nil }, "crontabs.%s was deleted during the migration", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, fixtures.Webhook)
			s.populate(6)
			s.change(fixtures.StoredAt("v1"))
			config := hooked(s.config, writes, 3, func(*http.Request) *http.Response {
				if err := test.change(s); err != nil {
					t.Error(err)
				}
				return nil
			})
			result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{PageSize: 2})
			wantIncomplete(t, err, fmt.Sprintf(test.want, s.group))
			if result.Trimmed {
				t.Error("the stored versions were trimmed")
			}
			if test.stored != nil && !slices.Equal(s.storedVersions(), test.stored) {
				t.Errorf("the status lists %v", s.storedVersions())
			}
		})
	}
}

// TestMigrateExpired has a continue token expire, with and without another one to go on with.
func TestMigrateExpired(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	pages := func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Query().Has("continue") }
	for name, offered := range map[string]bool{"offered": true, "anew": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, fixtures.Webhook)
			s.populate(9)
			s.change(fixtures.StoredAt("v1"))
			config := hooked(s.config, pages, 2, func(r *http.Request) *http.Response {
				status := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old"}
				if offered {
					status.Continue = r.URL.Query().Get("continue")
				}
				return suitetest.Answer(r, http.StatusGone, status)
			})
			result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{PageSize: 2, Steps: []migrate.Step{migrate.Objects, migrate.StoredVersions}})
			if err != nil || result.Expired != 1 || result.Rewritten != 9 {
				t.Errorf("%+v, %v", result, err)
			}
			if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 9}) {
				t.Errorf("stored are %v", got)
			}
			if anew := result.Newer > 0; anew == offered {
				t.Errorf("written again were %d", result.Newer)
			}
		})
	}
}

// TestMigrateThrottled has the API server ask for some time.
func TestMigrateThrottled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(3)
	s.change(fixtures.StoredAt("v1"))
	config := hooked(s.config, writes, 2, func(r *http.Request) *http.Response {
		answer := suitetest.Answer(r, http.StatusTooManyRequests, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests})
		answer.Header.Set("Retry-After", "1")
		return answer
	})
	var waits []string
	result, err := migrate.Run(t.Context(), config, s.name, migrate.Options{Concurrency: 1, Progress: func(p migrate.Progress) {
		if p.Waiting != "" {
			waits = append(waits, p.Waiting)
		}
	}})
	if err != nil || result.Rewritten != 3 {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"the API server is overloaded: waiting 1s"}, waits); diff != "" {
		t.Error(diff)
	}
}

// TestMigrateResume interrupts a migration and completes it.
func TestMigrateResume(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(10)
	s.change(fixtures.StoredAt("v1"))
	file := filepath.Join(t.TempDir(), "state.json")
	ctx, interrupt := context.WithCancel(t.Context())
	config := hooked(s.config, writes, 7, func(*http.Request) *http.Response { interrupt(); return nil })
	options := migrate.Options{PageSize: 2, Concurrency: 1, State: file}
	result, err := migrate.Run(ctx, config, s.name, options)
	if !errors.Is(err, context.Canceled) || result.Trimmed {
		t.Errorf("%+v, %v", result, err)
	}
	result, err = migrate.Run(t.Context(), s.config, s.name, options)
	if err != nil || !result.Resumed || result.Newer != 6 || result.Rewritten != 4 || !result.Trimmed {
		t.Errorf("%+v, %v", result, err)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1": 10}) {
		t.Errorf("stored are %v", got)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the state stays: %v", err)
	}
}

// TestMigrateStepsApart takes the steps in runs of their own.
func TestMigrateStepsApart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	s := newScene(t, fixtures.Webhook)
	s.populate(3)
	s.change(fixtures.StoredAt("v1"))
	file := filepath.Join(t.TempDir(), "state.json")
	_, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.StoredVersions}, State: file})
	wantIncomplete(t, err, "it is not known that all objects of crontabs.")
	if _, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.DryRun}, State: file}); err != nil {
		t.Error(err)
	}
	if got := s.stored(); !maps.Equal(got, map[string]int{"v1beta1": 3}) {
		t.Errorf("a dry run stored %v", got)
	}
	if _, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.Objects}, State: file}); err != nil {
		t.Error(err)
	}
	result, err := migrate.Run(t.Context(), s.config, s.name, migrate.Options{Steps: []migrate.Step{migrate.StoredVersions}, State: file})
	if err != nil || !result.Trimmed || !slices.Equal(s.storedVersions(), []string{"v1"}) {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestMigrateRefused refuses what cannot be migrated, and says why.
func TestMigrateRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t, fixtures.Webhook)
	spoiled := filepath.Join(t.TempDir(), "spoiled.json")
	if err := os.WriteFile(spoiled, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	others := filepath.Join(t.TempDir(), "others.json")
	if err := os.WriteFile(others, []byte(`{"definition":"foos.example.com"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		definition string
		options    migrate.Options
		want       string
	}{
		"no definition":   {"foos.example.com", migrate.Options{}, "the cluster has no definition foos.example.com"},
		"no such step":    {s.name, migrate.Options{Steps: []migrate.Step{"all"}}, `unknown step "all" (want dry-run, objects, managed-fields or stored-versions)`},
		"no such version": {s.name, migrate.Options{Drop: "v2"}, "has no version v2 to drop (want one of v1beta1, v1)"},
		"storage version": {s.name, migrate.Options{Drop: "v1beta1"}, "v1beta1 is the storage version of " + s.name + " and can't be dropped"},
		"spoiled state":   {s.name, migrate.Options{State: spoiled}, "spoiled.json is not the state of a migration"},
		"other state":     {s.name, migrate.Options{State: others}, "others.json is about foos.example.com"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := migrate.Run(t.Context(), s.config, test.definition, test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
