package storage

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
)

// deprecate makes a version deprecated.
func deprecate(version string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { fixtures.Version(crd, version).Deprecated = true }
}

// TestManagedAtBothVersions has the managed fields of a manager joined where it has entries at both versions: of two at the same one API
// servers keep one.
func TestManagedAtBothVersions(t *testing.T) {
	d := &Definition{Name: "crontabs.example.com", Group: "example.com", Plural: "crontabs", Versions: []*Version{{Name: "v1", Defined: true, Storage: true}, {Name: "v1beta1", Defined: true}}}
	i := &inspector{options: Options{Flags: "--context a"}}
	entry := func(manager, version, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "example.com/" + version, Subresource: subresource}
	}
	for name, test := range map[string]struct {
		other metav1.ManagedFieldsEntry
		want  string
	}{
		"the same manager":      {entry("kubectl", "v1", ""), "crdconform storage migrate crontabs.example.com --steps managed-fields --drop v1beta1 --context a"},
		"another one":           {entry("helm", "v1", ""), "kubectl --context a patch "},
		"of another part of it": {entry("kubectl", "v1", "status"), "kubectl --context a patch "},
	} {
		o := &stored{}
		o.Name, o.ManagedFields = "a", []metav1.ManagedFieldsEntry{entry("kubectl", "v1beta1", ""), test.other}
		if b := i.managed(d, o, "example.com/v1beta1"); !strings.HasPrefix(b.Mend, test.want) {
			t.Errorf("%s: got %s, want %s", name, b.Mend, test.want)
		}
	}
}

// TestCountedRequests has metrics without requests mean that there were none, if they were counted for long enough.
func TestCountedRequests(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	for name, test := range map[string]struct {
		started           time.Duration // before now; 0 if the API server does not say
		created, changed  time.Duration // the definition; it has not changed if that is 0
		unmanaged         bool
		wantBasis, reason string
	}{
		"all its life":          {started: 2 * time.Minute, created: time.Minute, wantBasis: "since 2026-11-01T11:59:00Z"},
		"long enough":           {started: 48 * time.Hour, created: 500 * time.Hour, wantBasis: "since 2026-10-30T12:00:00Z"},
		"changed long ago":      {started: 48 * time.Hour, created: 500 * time.Hour, changed: 3 * time.Hour, wantBasis: "since 2026-11-01T09:00:00Z"},
		"changed before":        {started: 3 * time.Hour, created: 500 * time.Hour, changed: 400 * time.Hour, wantBasis: "since 2026-11-01T09:00:00Z"},
		"changed just now":      {started: 48 * time.Hour, created: 500 * time.Hour, changed: time.Minute, reason: "since 2026-11-01T11:59:00Z only: the versions"},
		"new, and has changed":  {started: 48 * time.Hour, created: 10 * time.Minute, changed: time.Minute, reason: "since 2026-11-01T11:59:00Z only: the versions"},
		"restarted just now":    {started: time.Minute, created: 500 * time.Hour, reason: "since 2026-11-01T11:59:00Z only: the API server started then; ask again after 2026-11-01T12:59:00Z"},
		"no start":              {created: 500 * time.Hour, reason: "does not say when it started"},
		"no managed fields":     {started: 48 * time.Hour, created: 500 * time.Hour, changed: 3 * time.Hour, unmanaged: true, reason: "nothing says when"},
		"never changed, unsaid": {started: 48 * time.Hour, created: 500 * time.Hour, unmanaged: true, wantBasis: "since 2026-10-30T12:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			crd := fixtures.None.New(deprecate("v1beta1"))
			crd.Generation, crd.CreationTimestamp = 1, *ago(test.created)
			if test.changed > 0 {
				crd.Generation = 2
			}
			if !test.unmanaged {
				crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Time: ago(cmp.Or(test.changed, test.created)), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:versions":{}}}`)}}
			}
			m := &metrics{host: "https://a"}
			if test.started > 0 {
				m.started = now.Add(-test.started)
			}
			r := m.of(&Definition{}, "v1beta1", crd, now)
			if r.Known != (test.reason == "") || r.Known && r.Basis != "metrics of the API server https://a, "+test.wantBasis {
				t.Errorf("got %+v", r)
			}
			if !r.Known && (len(r.Gaps) != 1 || !strings.Contains(r.Gaps[0].Why, test.reason)) {
				t.Errorf("got %+v, want %q", r.Gaps, test.reason)
			}
		})
	}
}

// TestJudgeRequests judges what is known of who asks.
func TestJudgeRequests(t *testing.T) {
	for name, test := range map[string]struct {
		version Version
		ignored bool
		want    Answer
	}{
		"not served":    {Version{}, false, Safe},
		"not known":     {Version{Served: true}, false, CannotTell},
		"left aside":    {Version{Served: true}, true, Safe},
		"nobody":        {Version{Served: true, Requests: Requests{Known: true}}, false, Safe},
		"somebody":      {Version{Served: true, Requests: Requests{Known: true, Asked: []Request{{}}}}, false, NotSafe},
		"somebody of a": {Version{Served: true, Requests: Requests{Asked: []Request{{}}}}, false, NotSafe},
	} {
		test.version.Name = "v1beta1"
		d := &Definition{Versions: []*Version{{Name: "v1", Storage: true}, &test.version}, StoredVersions: []string{"v1"}}
		test.version.Requests.Ignored = test.ignored
		v := Judge(&Inventory{}, d, &test.version)
		if v.Answer != test.want {
			t.Errorf("%s: got %s, want %s", name, v.Answer, test.want)
		}
	}
}

// TestSpool keeps all blockers, and takes back those of a list that begins again.
func TestSpool(t *testing.T) {
	at := place{&Definition{}, "v1beta1"}
	spool, err := newSpool(at)
	if err != nil {
		t.Fatal(err)
	}
	b := &book{*newCounts(), newCounts(), spool}
	enter := func(n int) {
		for i := range n {
			if err := b.enter(at, StoredObject, func() Blocker { return Blocker{Name: strconv.Itoa(i)} }); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, step := range []func() error{
		b.mark,
		func() error { enter(3); return b.back() },
		func() error { enter(30); b.keep(); return b.mark() },
		func() error { enter(5); return b.back() },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // it can be read again
		n := 0
		for line, err := range spool.All() {
			var got Blocker
			if err != nil || json.Unmarshal(line, &got) != nil || got.Name != strconv.Itoa(n) {
				t.Fatalf("line %d is %s, %v", n, line, err)
			}
			n++
		}
		if n != 30 || b.blockers[at][StoredObject] != 30 || len(b.first[at][StoredObject]) != Shown {
			t.Errorf("%d kept, %d counted, %d shown", n, b.blockers[at][StoredObject], len(b.first[at][StoredObject]))
		}
	}
	if err := spool.Close(); err != nil {
		t.Error(err)
	}
}

// TestLastApplied has a version that kubectl last applied an object at not be safe to drop, and another one be.
func TestLastApplied(t *testing.T) {
	t.Parallel()
	d := &Definition{Name: "things.example.com", Group: "example.com", Plural: "things", Objects: 1, StoredVersions: []string{"v2"}, Versions: []*Version{{Name: "v2", Defined: true, Storage: true}, {Name: "v1", Defined: true}}}
	i := &inspector{options: Options{Flags: "--context a"}, book: &book{counts: *newCounts(), pending: newCounts()}}
	o := &stored{}
	o.Name, o.Namespace = "t", "default"
	o.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"apiVersion": "example.com/v1", "kind": "Thing"}`}
	if err := i.names(d, "things.example.com", o); err != nil {
		t.Fatal(err)
	}
	i.book.keep()
	i.sum(d)
	d.Objects, d.Unknown = 1, 0
	removal := Judge(&Inventory{Definitions: []*Definition{d}}, d, d.Version("v1"))
	var found []Condition
	for _, f := range removal.Findings {
		if f.Answer == NotSafe {
			found = append(found, f)
		}
	}
	if removal.Answer != NotSafe || len(found) != 1 || found[0].Kind != LastApplied || found[0].Count != 1 || !strings.HasPrefix(found[0].First[0].Mend, "kubectl --context a apply set-last-applied -f MANIFEST # its manifest, rewritten to v2") {
		t.Errorf("got %s, %+v", removal.Answer, found)
	}
	o.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"apiVersion": "example.com/v2", "kind": "Thing"}`}
	i.book = &book{counts: *newCounts(), pending: newCounts()}
	if err := i.names(d, "things.example.com", o); err != nil {
		t.Fatal(err)
	}
	i.book.keep()
	i.sum(d)
	d.Objects, d.Unknown = 1, 0
	if removal := Judge(&Inventory{Definitions: []*Definition{d}}, d, d.Version("v1")); removal.Answer != Safe {
		t.Errorf("got %+v", removal)
	}
}

// TestDropStorageVersion has nobody migrate to the version that is to go, nor rewrite manifests to it.
func TestDropStorageVersion(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"v1", "v1alpha1"} { // of a higher priority, and of a lower one
		v := &Version{Name: "v1beta1", Defined: true, Storage: true, Served: true, Listed: true, Stored: 1, ManagedFields: 1, LastApplied: 1, Manifests: 1, Requests: Requests{Asked: []Request{{}}}}
		d := &Definition{Name: "things.example.com", Objects: 1, StoredVersions: []string{other, "v1beta1"}, Versions: []*Version{{Name: other, Defined: true}, v}}
		for _, f := range Judge(&Inventory{}, d, v).Findings {
			if strings.Contains(f.Mend, "storage migrate things") || strings.Contains(f.Mend, "kubectl patch") || strings.Contains(f.Mend, "to v1beta1") || strings.Contains(f.Mend, "use v1beta1") {
				t.Errorf("%s advises %s", f.Requirement, f.Mend)
			}
		}
	}
}
