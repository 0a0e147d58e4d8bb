package proof

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/history"
)

// before is an inventory of objects that were written at revisions from 1 on, the first of them stored at another version.
func before(keys ...string) *inventory {
	i := &inventory{contents: make([][]uint64, 2), elder: []uint64{1}}
	for n, key := range keys {
		i.names.WriteString(key)
		i.ends = append(i.ends, uint32(i.names.Len()))
		i.uids, i.wrote = append(i.uids, [16]byte{byte(n)}), append(i.wrote, uint64(n+1))
		i.contents[0], i.contents[1] = append(i.contents[0], uint64(10+n)), append(i.contents[1], uint64(20+n))
	}
	return i
}

// complete is evidence of a migration of default/a and default/b, from v1beta1 to v1, in which all is well.
func complete() *evidence {
	crd := fixtures.None.New(fixtures.StoredAt("v1"))
	crd.Status.StoredVersions = []string{"v1"}
	return &evidence{
		storage: "v1", trims: true, own: "crdconform-proof-1-", before: before("default/a", "default/b"), crd: crd, legible: true,
		definitions: []change{
			{revision: "5", storage: "v1", stored: []string{"v1beta1", "v1"}},
			{revision: "9", storage: "v1", stored: []string{"v1"}, trimmed: []string{"v1beta1"}},
		},
	}
}

// reads has both objects read as they were; change may be nil.
func (e *evidence) reads(change func(n int, s *seen) bool) {
	for n, key := range []string{"default/a", "default/b"} {
		s := seen{key, [16]byte{byte(n)}, uint64(7 + n), uint64(10 + n)}
		if change != nil && !change(n, &s) {
			continue
		}
		e.identity(s)
		e.content(0, "v1", s, nil)
	}
}

func TestJudge(t *testing.T) {
	read := func(e *evidence) { e.reads(nil) }
	for name, test := range map[string]struct {
		happens func(e *evidence)
		want    []string // what the findings begin with, in their order
		weaker  string
	}{
		"all is well": {happens: read},
		"an object is gone": {happens: func(e *evidence) {
			e.reads(func(n int, _ *seen) bool { return n == 0 })
		}, want: []string{"default/b: expected the object that was there, got none (migration.objects.kept)"}},
		"an object is gone that a writer deleted": {happens: func(e *evidence) {
			e.history = []history.Operation{{Object: "default/b", Kind: history.Delete, Outcome: history.Acknowledged}}
			e.reads(func(n int, _ *seen) bool { return n == 0 })
		}},
		"an object is gone that others may have deleted": {happens: func(e *evidence) {
			e.others = true
			e.reads(func(n int, _ *seen) bool { return n == 0 })
		}, weaker: "objects are gone, which others may have deleted: default/b"},
		"all objects are gone": {happens: func(*evidence) {}, want: []string{"default/a: expected the object", "default/b: expected the object"}},
		"an object was created again": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.uid = [16]byte{9, byte(n)}; return true })
		}, want: []string{"default/a: expected the UID that it had", "default/b: expected the UID"}},
		"another content": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.content += uint64(n); return true })
		}, want: []string{"default/b: expected at v1 the content of before, hash 000000000000000b, got hash 000000000000000c (migration.objects.content)"}},
		"another content that somebody else wrote": {happens: func(e *evidence) {
			read(e)
			e.others = true
			e.content(0, "v1", seen{key: "default/a", content: 99}, []author{{"controller", "2026-01-01T00:00:00Z", "example.com/v1"}})
		}},
		"another content that nobody wrote": {happens: func(e *evidence) {
			read(e)
			e.others = true
			e.content(1, "v1beta1", seen{key: "default/a", content: 99}, nil)
		}, want: []string{"default/a: expected at v1beta1 the content of before"}},
		"an object that is new": {happens: func(e *evidence) {
			read(e)
			e.identity(seen{key: "default/c"})
			e.content(0, "v1", seen{key: "default/c"}, nil)
		}},
		"an object was left": {happens: func(e *evidence) { read(e); e.stored(storedAs{"default/a", "v1beta1"}) }, want: []string{"default/a: expected it at v1 in etcd, got v1beta1 (migration.objects.stored)"}},
		"etcd is encrypted":  {happens: func(e *evidence) { read(e); e.stored(storedAs{}) }},
		"etcd cannot be read": {happens: func(e *evidence) {
			e.before.elder = nil
			e.reads(func(n int, s *seen) bool { s.wrote = uint64(5 + n); return true })
		}, weaker: "etcd cannot be read, and 1 objects were not written since the definition changed"},
		"managed fields of a version that is not served": {happens: func(e *evidence) {
			read(e)
			fixtures.Served("v1beta1", false)(e.crd)
			e.managed("default/a", []author{{"kubectl", "", "example.com/v1"}, {"helm", "", "example.com/v1beta1"}, {"other", "", "apps/v1"}})
		}, want: []string{"default/a: expected managed fields at v1, got those of helm at v1beta1 (migration.managed-fields.served)"}},
		"managed fields of a version that is served": {happens: func(e *evidence) { read(e); e.managed("default/a", []author{{"helm", "", "example.com/v1beta1"}}) }},
		"managed fields of a version that retires": {happens: func(e *evidence) {
			read(e)
			e.retired = "v1beta1"
			e.managed("default/a", []author{{"helm", "", "example.com/v1beta1"}})
		}, want: []string{"default/a: expected managed fields at v1, got those of helm"}},
		"not trimmed": {happens: func(e *evidence) {
			read(e)
			e.crd.Status.StoredVersions, e.definitions = []string{"v1beta1", "v1"}, e.definitions[:1]
		}, want: []string{"expected status.storedVersions [v1], got [v1beta1 v1] (migration.stored-versions.exact)"}},
		"not asked to trim": {happens: func(e *evidence) {
			read(e)
			e.trims, e.crd.Status.StoredVersions, e.definitions = false, []string{"v1beta1", "v1"}, e.definitions[:1]
		}},
		"trimmed too early": {happens: func(e *evidence) {
			read(e)
			e.definitions[1].elder, e.definitions[1].elders = []string{"default/a"}, 1
		}, want: []string{"expected v1beta1 in status.storedVersions until no object is stored at it, got taken off while these were: default/a (migration.stored-versions.last)"}},
		"nobody knows when it was trimmed": {happens: func(e *evidence) {
			read(e)
			e.definitions[1].unknown = "etcd cannot be read"
		}, weaker: "it is not known whether objects were left when v1beta1 was taken off status.storedVersions: etcd cannot be read"},
		"trimmed after a flip": {happens: func(e *evidence) {
			read(e)
			e.definitions[1].storage = "v1beta1"
		}, want: []string{"expected status.storedVersions left as it was, since the storage version changed meanwhile, got [v1], without v1beta1 (migration.definition.flipped)"}},
		"changed meanwhile": {happens: func(e *evidence) { read(e); e.crd.Generation = 3 }, weaker: "the definition changed meanwhile (generation 0, now 3)"},
		"a write is lost": {happens: func(e *evidence) {
			read(e)
			e.violations = []history.Violation{{Object: "default/a", Operation: history.Operation{Kind: history.Read, Outcome: history.Acknowledged}, Expected: history.State{Exists: true, Content: "2"}, Actual: &history.State{Exists: true, Content: "1"}}}
		}, want: []string{`default/a: expected "2", got "1" by client 0: read, acknowledged (migration.clients.writes)`}},
		"a deletion is undone": {happens: func(e *evidence) {
			read(e)
			e.violations = []history.Violation{{Object: "default/a", Operation: history.Operation{Kind: history.Read, Outcome: history.Acknowledged}, Actual: &history.State{Exists: true, Content: "1"}}}
		}, want: []string{`default/a: expected no object, got "1" by client 0: read, acknowledged (migration.clients.deletions)`}},
		"nobody can tell": {happens: func(e *evidence) {
			read(e)
			e.violations = []history.Violation{{Object: "default/a", Undecided: true, Operations: 9}}
		}, weaker: "default/a: 9 operations at the same time are too many"},
	} {
		t.Run(name, func(t *testing.T) {
			e := complete()
			test.happens(e)
			findings := judge(e)
			texts := make([]string, 0, len(findings))
			for _, f := range findings {
				texts = append(texts, f.String())
			}
			if !slices.EqualFunc(texts, test.want, strings.HasPrefix) {
				t.Errorf("got %q, want %q", texts, test.want)
			}
			if weaker := strings.Join(e.weaker, "\n"); !strings.HasPrefix(weaker, test.weaker) || test.weaker == "" && weaker != "" {
				t.Errorf("weaker for %q, want %q", weaker, test.weaker)
			}
		})
	}
}

func TestVerdictListsTheFirstFindings(t *testing.T) {
	var v Verdict
	var many []Finding
	for n := range 3 * maxFindings {
		many = append(many, Finding{Requirement: "migration.objects.stored", Name: strconv.Itoa(n)})
	}
	v.add(append(many, Finding{Requirement: "migration.objects.kept"}))
	if len(v.Findings) != maxFindings+1 || v.Violations["migration.objects.stored"] != 3*maxFindings || v.Findings[0].Requirement != "migration.objects.kept" || v.Proved() {
		t.Errorf("%d findings, %v", len(v.Findings), v.Violations)
	}
	if found := v.Of("migration.objects.kept"); len(found) != 1 {
		t.Errorf("got %v", found)
	}
}

// TestHash wants hashes to differ exactly where contents do.
func TestHash(t *testing.T) {
	object := func(change func(o, meta map[string]any)) uint64 {
		meta := map[string]any{"name": "a", "resourceVersion": "1", "annotations": map[string]any{"theirs": "1"}}
		o := map[string]any{"metadata": meta, "spec": map[string]any{"n": int64(1)}}
		if change != nil {
			change(o, meta)
		}
		return hash(o, "ours")
	}
	want := object(nil)
	for name, test := range map[string]struct {
		change func(o, meta map[string]any)
		same   bool
	}{
		"resource version":   {func(_, meta map[string]any) { meta["resourceVersion"] = "2" }, true},
		"managed fields":     {func(_, meta map[string]any) { meta["managedFields"] = []any{map[string]any{}} }, true},
		"our annotation":     {func(_, meta map[string]any) { meta["annotations"] = map[string]any{"theirs": "1", "ours": "2"} }, true},
		"another annotation": {func(_, meta map[string]any) { meta["annotations"] = map[string]any{"theirs": "2"} }, false},
		"no annotation":      {func(_, meta map[string]any) { delete(meta, "annotations") }, false},
		"a value":            {func(o, _ map[string]any) { o["spec"] = map[string]any{"n": int64(2)} }, false},
		"a field":            {func(o, _ map[string]any) { o["status"] = map[string]any{} }, false},
	} {
		if got := object(test.change); (got == want) != test.same {
			t.Errorf("%s: same is %t", name, got == want)
		}
	}
	if hash(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"ours": "1"}}}, "ours") != hash(map[string]any{"metadata": map[string]any{}}, "ours") {
		t.Error("an annotation of ours leaves something behind")
	}
}

func TestStatusField(t *testing.T) {
	with := func(properties map[string]apiextensionsv1.JSONSchemaProps) fixtures.Option {
		return func(crd *apiextensionsv1.CustomResourceDefinition) {
			for i := range crd.Spec.Versions {
				crd.Spec.Versions[i].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
				crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
			}
		}
	}
	free := apiextensionsv1.JSONSchemaProps{Type: "string"}
	for name, test := range map[string]struct {
		options []fixtures.Option
		want    statusField
	}{
		"none":     {nil, statusField{}},
		"a string": {[]fixtures.Option{with(map[string]apiextensionsv1.JSONSchemaProps{"phase": free, "count": {Type: "integer"}})}, statusField{"count", true}},
		"bounded":  {[]fixtures.Option{with(map[string]apiextensionsv1.JSONSchemaProps{"phase": free, "count": {Type: "integer", Maximum: new(3.0)}})}, statusField{"phase", false}},
		"of one version": {[]fixtures.Option{with(map[string]apiextensionsv1.JSONSchemaProps{"phase": free}), func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
		}}, statusField{}},
		"without the subresource": {[]fixtures.Option{with(map[string]apiextensionsv1.JSONSchemaProps{"phase": free}), func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Subresources = nil
		}}, statusField{}},
	} {
		if got := statusOf(fixtures.None.New(test.options...)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
