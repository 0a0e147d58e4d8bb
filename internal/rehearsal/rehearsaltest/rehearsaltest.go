// Package rehearsaltest rehearses upgrades in tests, with webhooks in this process.
package rehearsaltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/cluster/storage"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Release is one release of a made-up operator.
type Release struct {
	Definitions string // as YAML
	Converts    Converter
	Handler     http.Handler // in the place of Converts
	Build       rehearsal.Build
}

// Converter changes an object so that it is at another version. Its apiVersion is set already; from is what it was.
type Converter func(object map[string]any, from, to string) error

// Upgrade is an upgrade to rehearse, of releases from the oldest to the newest.
type Upgrade struct {
	Releases []Release
	Objects  string   // as YAML
	Assumed  []string // definitions of the last release that are shipped without a conversion stanza
	Way      rehearsal.Way
	Selects  func(requirement.ID) bool
	Lossy    func(*apiextensionsv1.CustomResourceDefinition, string, string) (string, bool)
}

// API is a cluster to rehearse on.
type API interface {
	cluster.Cluster
	rehearsal.Storage
}

// Rehearse rehearses an upgrade on a cluster, and leaves no definition there.
func (u Upgrade) Rehearse(t *testing.T, api API) rehearsal.Outcome {
	t.Helper()
	plan := u.Plan(t)
	plan.Cluster = func(context.Context) (cluster.Cluster, func(context.Context) error, error) {
		return api, func(ctx context.Context) error { return Remove(ctx, api, plan.Releases) }, nil
	}
	outcome, err := rehearsal.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// Plan is what to rehearse, but for the cluster.
func (u Upgrade) Plan(t *testing.T) rehearsal.Plan {
	t.Helper()
	dir := t.TempDir()
	plan := rehearsal.Plan{Way: u.Way, Seed: 1, CollectTimeout: time.Second, Dir: dir, Selects: u.Selects, Lossy: u.Lossy}
	if plan.Way == "" {
		plan.Way = rehearsal.Apply
	}
	for i, r := range u.Releases {
		definitions, err := dump.Definitions(t.Context(), "-", strings.NewReader(r.Definitions))
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d.0", i+1)
		release := rehearsal.Release{Name: name, Definitions: definitions, Apply: "-f " + name, Build: r.Build}
		switch {
		case r.Build != nil:
		case r.Handler != nil:
			release.Build = Handled(r.Handler)
		case r.Converts != nil:
			release.Build = Handled(Serve(r.Converts))
		}
		plan.Releases = append(plan.Releases, release)
	}
	last := &plan.Releases[len(plan.Releases)-1]
	last.Assumed, last.Shipped = u.Assumed, true
	objects, err := rehearsal.NewObjects(dir, plan.Releases[0].Definitions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = objects.Close() })
	if u.Objects != "" {
		if _, err := objects.Collect(t.Context(), "-", dump.Options{Stdin: strings.NewReader(u.Objects)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := objects.Complete(); err != nil {
		t.Fatal(err)
	}
	plan.Objects = objects
	return plan
}

// Remove removes the definitions of releases, whatever is stored.
func Remove(ctx context.Context, api API, releases []rehearsal.Release) error {
	client, err := dynamic.NewForConfig(api.Config())
	if err != nil {
		return err
	}
	etcd, err := api.Client()
	if err != nil {
		return err
	}
	crds := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	for _, r := range releases {
		for _, d := range r.Definitions {
			if _, err := etcd.Delete(ctx, storage.Prefix+"/"+d.Spec.Group+"/", clientv3.WithPrefix()); err != nil {
				return err
			}
			if err := crds.Delete(ctx, d.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
				_, err := crds.Get(ctx, d.Name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), nil
			}); err != nil {
				return fmt.Errorf("removing %s: %w", d.Name, err)
			}
		}
	}
	return nil
}

// Handled is a build that serves a handler in this process.
func Handled(handler http.Handler) rehearsal.Build { return handled{handler} }

type handled struct{ handler http.Handler }

// Start serves it.
func (h handled) Start(ctx context.Context, _ cluster.Cluster, at func(apiextensionsv1.WebhookClientConfig) error) (*rehearsal.Webhook, error) {
	server, err := webhook.StartAt(ctx, "127.0.0.1:0", "/convert", h.handler)
	if err != nil {
		return nil, err
	}
	if err := at(apiextensionsv1.WebhookClientConfig{URL: &server.URL, CABundle: server.CA}); err != nil {
		return nil, fmt.Errorf("%w (%w)", err, server.Close())
	}
	return &rehearsal.Webhook{Stop: func(context.Context) error { return server.Close() }}, nil
}

// Starts is true.
func (handled) Starts() bool { return true }

// Acts is false.
func (handled) Acts() bool { return false }

// review is a ConversionReview.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID               string           `json:"uid"`
		DesiredAPIVersion string           `json:"desiredAPIVersion"`
		Objects           []map[string]any `json:"objects"`
	} `json:"request,omitempty"`
	Response *response `json:"response,omitempty"`
}

type response struct {
	UID              string           `json:"uid"`
	ConvertedObjects []map[string]any `json:"convertedObjects"`
	Result           metav1.Status    `json:"result"`
}

// Serve serves a converter. Its error fails the conversion.
func Serve(convert Converter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var rv review
		if err := json.NewDecoder(r.Body).Decode(&rv); err != nil || rv.Request == nil {
			http.Error(w, "no ConversionReview", http.StatusBadRequest)
			return
		}
		answer := response{UID: rv.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, object := range rv.Request.Objects {
			from, to := version(object["apiVersion"]), version(rv.Request.DesiredAPIVersion)
			object["apiVersion"] = rv.Request.DesiredAPIVersion
			if from != to {
				if err := convert(object, from, to); err != nil {
					answer.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
					answer.ConvertedObjects = nil
					break
				}
			}
			answer.ConvertedObjects = append(answer.ConvertedObjects, object)
		}
		rv.Request, rv.Response = nil, &answer
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(rv) // the API server sees that it is cut off
	})
}

func version(apiVersion any) string {
	text, _ := apiVersion.(string)
	return text[strings.LastIndexByte(text, '/')+1:]
}

// Spec returns the specification of an object, which is created if there is none.
func Spec(object map[string]any) map[string]any {
	spec, ok := object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		object["spec"] = spec
	}
	return spec
}

// Found returns the findings of an outcome that are of a requirement.
func Found(o rehearsal.Outcome, id requirement.ID) []reports.LegFinding {
	var all []reports.LegFinding
	for _, leg := range o.Legs {
		for _, f := range leg.Findings {
			if f.Requirement == id {
				all = append(all, f)
			}
		}
	}
	return all
}

// Broken returns the requirements that failed, or are tolerated.
func Broken(o rehearsal.Outcome) map[requirement.ID]requirement.Verdict {
	broken := map[requirement.ID]requirement.Verdict{}
	for _, r := range o.Results {
		if r.Verdict != requirement.Passed && r.Verdict != requirement.NotApplicable {
			broken[r.ID] = r.Verdict
		}
	}
	return broken
}

// Tampered is a cluster whose requests a function intercepts.
type Tampered struct {
	API

	// Exchange takes the place of the exchange of a request, which next performs.
	Exchange func(r *http.Request, next http.RoundTripper) (*http.Response, error)
}

// Config returns how to reach the API server through Exchange.
func (t Tampered) Config() *rest.Config {
	config := t.API.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return t.Exchange(r, next) })
	})
	return config
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip sends a request on.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
