package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const expired = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410, "reason": "Expired", "message": "too old", "metadata": {"continue": %q}}`

// paged serves lists: what it answers, after what it is asked for by query, in turn.
type paged struct {
	t       *testing.T
	answers []string // query: answer, which is the status of a failure, or names and the token after them
	asked   int
}

func (p *paged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.asked == len(p.answers) {
		p.t.Errorf("asked for %s after all", r.URL.RawQuery)
		return
	}
	query, answer, _ := strings.Cut(p.answers[p.asked], ": ")
	p.asked++
	if r.URL.RawQuery != query {
		p.t.Errorf("request %d is for %s, want %s", p.asked, r.URL.RawQuery, query)
	}
	w.Header().Set("Content-Type", "application/json")
	switch names, token, _ := strings.Cut(answer, " "); names {
	case "410":
		w.WriteHeader(http.StatusGone)
		fmt.Fprintf(w, expired, token)
	case "429":
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429, "reason": "TooManyRequests", "message": "storage is (re)initializing"}`)
	default:
		var items []string
		for name := range strings.SplitSeq(names, ",") {
			namespace, own, _ := strings.Cut(name, "/")
			items = append(items, fmt.Sprintf(`{"kind": "CronTab", "apiVersion": "example.com/v1", "metadata": {"namespace": %q, "name": %q}}`, namespace, own))
		}
		fmt.Fprintf(w, `{"kind": "CronTabList", "apiVersion": "example.com/v1", "metadata": {"resourceVersion": "%d", "continue": %q}, "items": [%s]}`,
			p.asked, token, strings.Join(items, ","))
	}
}

// pager returns a pager through what a server answers.
func pager(t *testing.T, answers ...string) *Pager[*unstructured.UnstructuredList] {
	t.Helper()
	server := httptest.NewServer(&paged{t: t, answers: answers})
	t.Cleanup(server.Close)
	objects, err := dynamic.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	all := objects.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "crontabs"})
	return &Pager[*unstructured.UnstructuredList]{List: all.List, Options: metav1.ListOptions{Limit: 2, LabelSelector: "a=b"}}
}

// TestPager reads each object once, in pages, whatever the API server forgets between two of them.
func TestPager(t *testing.T) {
	t.Parallel()
	const first, second, third = "labelSelector=a%3Db&limit=2", "continue=two&labelSelector=a%3Db&limit=2", "continue=three&labelSelector=a%3Db&limit=2"
	exact := "labelSelector=a%3Db&limit=2&resourceVersion=7&resourceVersionMatch=Exact"
	for name, test := range map[string]struct {
		answers  []string
		change   func(*Pager[*unstructured.UnstructuredList])
		want     string
		expired  int
		revision string
	}{
		"pages": {[]string{first + ": a/1,a/2 two", second + ": a/3,b/1 three", third + ": b/2"}, nil, "a/1 a/2 a/3 b/1 b/2", 0, "1"},
		"one":   {[]string{first + ": a/1"}, nil, "a/1", 0, "1"},
		"of a revision": {[]string{exact + ": a/1,a/2 two", second + ": a/3"}, func(p *Pager[*unstructured.UnstructuredList]) {
			p.Options.ResourceVersion, p.Options.ResourceVersionMatch = "7", metav1.ResourceVersionMatchExact
		}, "a/1 a/2 a/3", 0, "1"},
		"with a token to go on":  {[]string{first + ": a/1,a/2 two", second + ": 410 three", third + ": a/3"}, nil, "a/1 a/2 a/3", 1, "1"},
		"without one":            {[]string{first + ": a-b/1,a/2 two", second + ": 410", first + ": a-b/1,a/2 two", second + ": a/3"}, nil, "a-b/1 a/2 a/3", 1, "1"},
		"with objects of others": {[]string{first + ": a/1,a/3 two", second + ": 410", first + ": a/0,a/1 two", second + ": a/2,a/4"}, nil, "a/1 a/3 a/4", 1, "1"},
		"anew": {[]string{first + ": a/1,a/2 two", second + ": 410 three", first + ": a/1,a/2 two", second + ": a/3"}, func(p *Pager[*unstructured.UnstructuredList]) {
			p.Anew = func() error { return nil }
		}, "a/1 a/2 anew a/1 a/2 a/3", 1, "1"},
		"with repetition": {[]string{first + ": a/1,a/2 two", second + ": 410", first + ": a/1,a/2 two", second + ": a/3"}, func(p *Pager[*unstructured.UnstructuredList]) {
			p.Repeat = true
		}, "a/1 a/2 a/1 a/2 a/3", 1, "1"},
		"while a cache fills": {[]string{first + ": 429", first + ": 429", first + ": a/1,a/2 two", second + ": 429", second + ": a/3"}, nil, "a/1 a/2 a/3", 0, "3"},
	} {
		for _, ahead := range []bool{false, true} {
			p := pager(t, test.answers...)
			if p.Ahead = ahead; test.change != nil {
				test.change(p)
			}
			var came []string
			if p.Anew != nil {
				p.Anew = func() error { came = append(came, "anew"); return nil }
			}
			err := p.Each(t.Context(), func(page *unstructured.UnstructuredList) error {
				for i := range page.Items {
					came = append(came, Key(page.Items[i].GetNamespace(), page.Items[i].GetName()))
				}
				return nil
			})
			if got := strings.Join(came, " "); err != nil || got != test.want || p.Expired != test.expired || p.Revision != test.revision {
				t.Errorf("%s: got %s of %s, expired %d times, want %s: %v", name, got, p.Revision, p.Expired, test.want, err)
			}
		}
	}
}

// TestPagerOfOnce goes on after a refusal of Once as after one of client-go's.
func TestPagerOfOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(&paged{t: t, answers: []string{"continue=: a/1 two", "continue=two: 410 three", "continue=three: 410", "continue=: a/1,a/2"}})
	defer server.Close()
	once, err := NewOnce(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer once.Close()
	p := Pager[*metav1.PartialObjectMetadataList]{List: func(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
		page := &metav1.PartialObjectMetadataList{}
		body, err := once.Do(ctx, Request{Query: url.Values{"continue": {options.Continue}}})
		if err != nil {
			return nil, err
		}
		return page, json.Unmarshal(body, page)
	}}
	n := 0
	err = p.Each(t.Context(), func(page *metav1.PartialObjectMetadataList) error {
		n += len(page.Items)
		return nil
	})
	if err != nil || n != 2 || p.Expired != 2 {
		t.Errorf("%d objects, expired %d times: %v", n, p.Expired, err)
	}
}

// TestPagerGivesUp ends a list that always expires, with no more than three that began in vain, and the error of a visit or of a context.
func TestPagerGivesUp(t *testing.T) {
	t.Parallel()
	const first, second = "labelSelector=a%3Db&limit=2", "continue=two&labelSelector=a%3Db&limit=2"
	again := []string{first + ": a/1,a/2 two", second + ": 410"}
	for _, anew := range []bool{false, true} {
		p, restarted := pager(t, slices.Repeat(again, 4)...), 0
		if anew {
			p.Anew = func() error { restarted++; return nil }
		}
		if err := p.Each(t.Context(), func(*unstructured.UnstructuredList) error { return nil }); !apierrors.IsResourceExpired(err) || p.Expired != 3 || anew != (restarted == 3) {
			t.Errorf("got %v after %d times, %d restarts", err, p.Expired, restarted)
		}
	}
	enough := errors.New("enough")
	for _, ahead := range []bool{false, true} {
		p := pager(t, first+": a/1,a/2 two", second+": a/3")
		p.Ahead = ahead
		if err := p.Each(t.Context(), func(*unstructured.UnstructuredList) error { return enough }); !errors.Is(err, enough) {
			t.Errorf("a visit that fails: %v", err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p := pager(t, first+": a/1,a/2 two")
	err := p.Each(ctx, func(*unstructured.UnstructuredList) error { cancel(enough); return nil })
	if !errors.Is(err, enough) {
		t.Errorf("interrupted: %v", err)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	p.List = func(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
		return nil, forbidden
	}
	if _, more, err := p.Next(t.Context()); more || !apierrors.IsForbidden(err) {
		t.Errorf("got %v, %v", more, err)
	}
}
