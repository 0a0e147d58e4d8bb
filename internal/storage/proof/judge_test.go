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

// kubectl owns a field at v1, and helm another one at v1beta1. Both wrote last at noon.
func kubectl() ownership {
	return owning(owner{"kubectl", "Apply", "", "example.com/v1", `{"f:spec":{"f:host":{}}}`, "2026-01-01T12:00:00Z"}, owner{"helm", "Update", "", "example.com/v1beta1", `{"f:spec":{"f:image":{}}}`, "2026-01-01T12:00:00Z"})
}

func owning(all ...owner) ownership {
	o := ownership{all: all}
	o.hash = hashOf(o.text())
	return o
}

// before is an inventory of objects that were written at revisions from 1 on, the first of them stored at another version.
func before(keys ...string) *inventory {
	i := &inventory{owners: newOwners(), managers: map[string]bool{"kubectl": true, "helm": true}}
	i.owners.add(kubectl())
	var all []seen
	for n, key := range keys {
		all = append(all, seen{key: key, uid: [16]byte{byte(n)}, wrote: uint64(n + 1), content: uint64(10 + n), owned: kubectl(), newest: kubectl().newest()})
	}
	i.take(all, 2, "v1")
	i.contents[1] = []uint64{20, 21}
	i.elder, i.unknown = bits{1}, nil
	return i
}

// complete is evidence of a migration of default/a and default/b, from v1beta1 to v1, in which all is well.
func complete() *evidence {
	crd := fixtures.None.New(fixtures.StoredAt("v1"))
	crd.Status.StoredVersions = []string{"v1"}
	e := &evidence{
		terms: terms{storage: "v1", trims: true, mends: true, own: "crdconform-proof-1-", before: before("default/a", "default/b"), began: kubectl().newest() + 600},
		course: course{crd: crd, definitions: []change{
			{revision: "5", storage: "v1", stored: []string{"v1beta1", "v1"}},
			{revision: "9", storage: "v1", stored: []string{"v1"}, trimmed: []string{"v1beta1"}},
		}},
		strange: strange{excused: map[string]int{}},
		legible: true,
	}
	e.before.rewrote = []uint64{7, 8}
	return e
}

// reads has both objects read at v1 as they were; change may be nil.
func (e *evidence) reads(change func(n int, s *seen) bool) {
	for n, key := range []string{"default/a", "default/b"} {
		s := seen{key: key, uid: [16]byte{byte(n)}, wrote: uint64(7 + n), content: uint64(10 + n), owned: kubectl()}
		if change != nil && !change(n, &s) {
			continue
		}
		e.identity(s)
		e.managed(s)
		e.ownership(s)
		if e.differs(0, s) {
			e.content(0, "v1", s)
		}
	}
}

// differ has default/b read with another content, by the owners.
func (e *evidence) differ(wrote uint64, owners ...owner) {
	e.reads(func(n int, s *seen) bool {
		if n == 1 {
			s.content, s.wrote, s.owned = 99, wrote, owning(append(kubectl().all, owners...)...)
		}
		return true
	})
}

// by is an entry of a client that wrote status at a time.
func by(manager, at string) owner {
	return owner{manager, "Update", "status", "example.com/v1", `{"f:status":{"f:ready":{}}}`, at}
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
		"an object is being deleted": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.dying = n == 1; return true })
		}, want: []string{"default/b: expected the object that was there, got one that is being deleted (migration.objects.kept)"}},
		"an object was being deleted": {happens: func(e *evidence) {
			e.before.dying.set(1)
			e.reads(func(n int, s *seen) bool { s.dying = n == 1; return true })
		}},
		"an object is being deleted that others may delete": {happens: func(e *evidence) {
			e.others = true
			e.reads(func(n int, s *seen) bool { s.dying = n == 1; return true })
		}},
		"all objects are gone": {happens: func(*evidence) {}, want: []string{"default/a: expected the object", "default/b: expected the object"}},
		"an object was created again": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.uid = [16]byte{9, byte(n)}; return true })
		}, want: []string{"default/a: expected the UID that it had", "default/b: expected the UID"}},
		"others created an object again": {happens: func(e *evidence) {
			e.others, e.reported = true, true
			e.reads(func(n int, s *seen) bool { s.uid = [16]byte{9, byte(n)}; return n == 0 })
			e.present.set(1)
		}, weaker: "others deleted objects and created them again: default/a"},
		"somebody created an object again": {happens: func(e *evidence) {
			e.others = true
			e.reads(func(n int, s *seen) bool { s.uid[1] = byte(n); return true })
		}, want: []string{"default/b: expected the UID"}},
		"another content": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.content += uint64(n); return true })
		}, want: []string{"default/b: expected at v1 the content from before the migration, got other content (migration.objects.content)"}},
		"another content of an object that nobody wrote": {happens: func(e *evidence) {
			e.others = true
			e.differ(2, by("controller", "2026-01-01T12:30:00Z"))
		}, want: []string{
			"default/b: expected the owners of fields that it had, got controller owns .status.ready, too",
			"default/b: expected at v1 the content from before the migration, got other content; controller wrote to it",
		}},
		"another content that others wrote, as the migrator shows": {happens: func(e *evidence) {
			e.others, e.reported = true, true
			e.differ(11)
		}},
		"another content that the migrator wrote, as it shows": {happens: func(e *evidence) {
			e.others, e.reported = true, true
			e.differ(8, by("kubectl", "2026-01-01T12:30:00Z"))
		}, want: []string{"default/b: expected the owners of fields that it had, got kubectl owns .status.ready, too (migration.managed-fields.kept)", "default/b: expected at v1 the content from before the migration"}},
		"another content that a known client wrote": {happens: func(e *evidence) {
			e.others = true
			e.differ(11, by("kubectl", "2026-01-01T12:30:00Z"))
		}},
		"another content that a known client wrote in the second of the first look": {happens: func(e *evidence) {
			e.others, e.before.newest[1] = true, e.began
			e.differ(11, by("kubectl", "2026-01-01T12:10:00Z"))
		}},
		"another content that a known client wrote before": {happens: func(e *evidence) {
			e.others = true
			e.differ(11, by("kubectl", "2026-01-01T12:00:00Z"))
		}, want: []string{"default/b: expected the owners", "default/b: expected at v1 the content from before the migration"}},
		"another content that a stranger wrote": {happens: func(e *evidence) {
			e.others = true
			e.differ(11, by("newcomer", "2026-01-01T12:30:00Z"))
		}, weaker: "1 object differs, and nobody wrote to it meanwhile but newcomer, who had written to no object before: default/b; it may be the migrator, or another client whose first writes these are"},
		"another content of all objects that a stranger wrote": {happens: func(e *evidence) {
			e.others = true
			e.reads(func(_ int, s *seen) bool {
				s.content, s.wrote, s.owned = 99, 11, owning(append(kubectl().all, by("migrator", "2026-01-01T12:30:00Z"))...)
				return true
			})
		}, want: []string{
			"default/a: expected the owners of fields that it had, got migrator owns .status.ready, too",
			"default/a: expected at v1 the content from before the migration, got other content; nobody wrote to it meanwhile but migrator, who had written to no object before",
			"default/b: expected the owners", "default/b: expected at v1",
		}},
		"another content of an object that is being deleted": {happens: func(e *evidence) {
			e.others = true
			e.reads(func(n int, s *seen) bool { s.dying, s.content, s.wrote = n == 1, 10+2*uint64(n), 11; return true })
		}},
		"another content at another version": {happens: func(e *evidence) {
			e.reads(nil)
			if s := (seen{key: "default/a", wrote: 7, content: 99, owned: kubectl()}); e.differs(1, s) {
				e.content(1, "v1beta1", s)
			}
		}, want: []string{"default/a: expected at v1beta1 the content from before the migration, got other content"}},
		"the same content after another": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.generation = uint32(1 + n); return true }) // storing defaults raises it once
		}, want: []string{"default/b: expected at v1 the content from before the migration, got the same after other content: its generation was raised from 0 to 2"}},
		"another content of what changed while it was read before": {happens: func(e *evidence) {
			e.before.contents[0][1] = 0
			e.differ(8)
		}},
		"an object that is new": {happens: func(e *evidence) {
			e.reads(nil)
			e.identity(seen{key: "default/c"})
			e.ownership(seen{key: "default/c"})
		}, want: []string{"default/c: expected no object, since nobody but the migrator can have created it, got one (migration.objects.kept)"}},
		"an object that is new where others write": {happens: func(e *evidence) {
			e.others = true
			e.reads(nil)
			e.identity(seen{key: "default/c"})
		}, weaker: "objects are new, which others may have created: default/c"},
		"an object that is new where the migrator reports what it writes": {happens: func(e *evidence) {
			e.others, e.reported = true, true
			e.reads(nil)
			e.identity(seen{key: "default/c"})
		}},
		"managed fields that are not to be changed": {happens: func(e *evidence) {
			e.mends, e.retired = false, "v1beta1"
			e.reads(func(n int, s *seen) bool {
				s.owned = owning(append(kubectl().all, owner{"helm", "Update", "", "example.com/v1beta1", `{}`, ""})...)
				e.before.owned[n] = s.owned.hash
				return true
			})
		}},
		"managed fields are gone": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.owned = owning(s.owned.all[:2*n]...); return true })
		}, want: []string{"default/a: expected the owners of fields that it had, got no managed fields at all"}},
		"managed fields that nobody remembers": {happens: func(e *evidence) {
			e.before.owned[1] = 1
			e.reads(func(n int, s *seen) bool { s.owned = owning(s.owned.all[:2-n]...); return true })
		}, weaker: "of 1 object it is not known whether fields have the owners that they had"},
		"an object was left": {happens: func(e *evidence) { read(e); e.stored(storedAs{"default/a", "v1beta1"}) }, want: []string{"default/a: expected it at v1 in etcd, got v1beta1 (migration.objects.stored)"}},
		"etcd is encrypted":  {happens: func(e *evidence) { read(e); e.stored(storedAs{}) }},
		"etcd cannot be read": {happens: func(e *evidence) {
			e.before.unknown = bits{3}
			e.reads(func(n int, s *seen) bool { s.wrote = uint64(5 + n); return true })
		}, weaker: "etcd cannot be read, and 1 object was not written since the definition changed, so it is not known at which version that is stored: default/a"},
		"an object was left, as the API server remembers": {happens: func(e *evidence) {
			e.reads(func(n int, s *seen) bool { s.wrote = e.before.wrote[n]; return true })
		}, want: []string{"default/a: expected it to be written at v1, got it as it was, stored at another version (migration.objects.stored)"}},
		"an object was left, as the API server remembers, where etcd is read": {happens: func(e *evidence) {
			e.before.legible = true
			e.reads(func(n int, s *seen) bool { s.wrote = e.before.wrote[n]; return true })
		}},
		"managed fields of a version that is not served": {happens: func(e *evidence) {
			read(e)
			fixtures.NotServed("v1beta1")(e.crd)
			e.managed(seen{key: "default/a", owned: owning(owner{version: "apps/v1beta1"}, kubectl().all[0], kubectl().all[1])})
		}, want: []string{"default/a: expected managed fields at v1, got those of helm at v1beta1 (migration.managed-fields.served)"}},
		"managed fields of a version that retires": {happens: func(e *evidence) {
			e.retired = "v1beta1"
			e.reads(func(n int, s *seen) bool { s.owned = owning(s.owned.all[:2-n]...); return true })
		}, want: []string{"default/a: expected managed fields at v1, got those of helm at v1beta1"}},
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
			e.definitions[1].elder.add("default/a")
		}, want: []string{"expected v1beta1 in status.storedVersions until no object is stored at it, got taken off while these were: default/a (migration.stored-versions.last)"}},
		"nobody knows when it was trimmed": {happens: func(e *evidence) {
			read(e)
			e.definitions[1].unknown = "etcd cannot be read"
		}, weaker: "it is not known whether objects were left when v1beta1 was taken off status.storedVersions: etcd cannot be read"},
		"trimmed after a flip": {happens: func(e *evidence) {
			read(e)
			e.definitions[1].storage = "v1beta1"
		}, want: []string{"expected status.storedVersions left as it was, since the storage version changed meanwhile, got [v1], without v1beta1 (migration.definition.flipped)"}},
		"the definition changed": {happens: func(e *evidence) { read(e); e.crd.Generation = 3 }, want: []string{"expected the definition from before the migration, generation 0, got generation 3 (migration.definition.kept)"}},
		"the definition changed where others write": {happens: func(e *evidence) {
			read(e)
			e.others, e.crd.Generation = true, 3
		}, weaker: "the definition changed meanwhile (generation 0, now 3)"},
		"a write is lost": {happens: func(e *evidence) {
			read(e)
			e.violations = []history.Violation{{Object: "default/a", Operation: history.Operation{Kind: history.Read, Outcome: history.Acknowledged}, Expected: history.State{Exists: true, Content: "2"}, Actual: &history.State{Exists: true, Content: "1"}}}
		}, want: []string{`default/a: expected "2", got "1" by client 0: read, acknowledged (migration.clients.writes)`}},
		"a write is undone": {happens: func(e *evidence) {
			read(e)
			e.others, e.undone = true, []undoing{{"default/a", "controller", "stale", []string{`.spec.host ("b", now "a")`}}}
		}, want: []string{`default/a: expected what controller wrote meanwhile to stay, got .spec.host ("b", now "a") by stale, which wrote back what was there before: have it send the resource version that it has read (migration.clients.writes)`}},
		"a write is undone by who wrote before": {happens: func(e *evidence) {
			read(e)
			e.others, e.undone = true, []undoing{{"default/a", "controller", "helm", []string{`.spec.host ("b", now "a")`}}}
		}, weaker: `default/a: expected what controller wrote meanwhile to stay, got .spec.host ("b", now "a") by helm, which wrote back what was there before: have it send the resource version that it has read, unless it is no migrator and meant to`},
		"more changed than is followed": {happens: func(e *evidence) {
			read(e)
			e.others, e.followed, e.changed = true, []int{0}, sample{[]string{"default/a"}, 2}
		}, weaker: "of 1 more object that changed it was not looked whether a write to it was undone"},
		"a deletion is undone": {happens: func(e *evidence) {
			read(e)
			e.violations = []history.Violation{{Object: "default/a", Operation: history.Operation{Kind: history.Read, Outcome: history.Acknowledged}, Actual: &history.State{Exists: true, Content: "1"}}}
		}, want: []string{`default/a: expected no object, got "1" by client 0: read, acknowledged (migration.clients.deletions)`}},
		"a deletion is undone, as a creation shows": {happens: func(e *evidence) {
			read(e)
			e.violations = []history.Violation{{Object: "default/a", Operation: history.Operation{Kind: history.Create, Outcome: history.Exists}}}
		}, want: []string{`default/a: expected no object, got already exists by client 0: create, already exists (migration.clients.deletions)`}},
		"nothing shows who": {happens: func(e *evidence) {
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
	var v Report
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

// TestUnlike has ownerships compared of before and after a migration in which v1beta1 goes.
func TestUnlike(t *testing.T) {
	const host, image = `{"f:spec":{"f:host":{}}}`, `{"f:spec":{"f:image":{}}}`
	entry := func(manager, version, fields string) owner {
		return owner{manager, "Update", "", "example.com/" + version, fields, ""}
	}
	filled := apiextensionsv1.JSONSchemaProps{Default: &apiextensionsv1.JSON{Raw: []byte("1")}}
	item := apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{"mode": filled}}
	crd := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
		Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": {Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"host": {}, "port": filled, "list": {Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}}, "map": {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &item}},
			}},
		}}},
	}, {Name: "v1beta1"}}}}
	for name, test := range map[string]struct {
		before, after []owner
		want          string
	}{
		"the same":                          {[]owner{entry("a", "v1", host)}, []owner{entry("a", "v1", host)}, ""},
		"at another version":                {[]owner{entry("a", "v1beta1", host)}, []owner{entry("a", "v1", host)}, ""},
		"joined":                            {[]owner{entry("a", "v1beta1", host), entry("a", "v1", image)}, []owner{entry("a", "v1", `{"f:spec":{"f:host":{},"f:image":{}}}`)}, ""},
		"dropped with the version":          {[]owner{entry("a", "v1beta1", host), entry("b", "v1", image)}, []owner{entry("b", "v1", image)}, ""},
		"nothing but the name":              {[]owner{entry("a", "v1beta1", host)}, []owner{entry("b", "v1", `{"f:metadata":{"f:name":{}}}`)}, ""},
		"dropped":                           {[]owner{entry("a", "v1", host), entry("b", "v1", image)}, []owner{entry("b", "v1", image)}, "a does not own .spec.host any more"},
		"none left":                         {[]owner{entry("a", "v1beta1", host)}, nil, "no managed fields at all"},
		"none before":                       {nil, []owner{entry("before-first-apply", "v1", host)}, ""},
		"another one owns everything":       {[]owner{entry("a", "v1", host)}, []owner{entry("a", "v1", host), entry("b", "v1", host)}, "b owns .spec.host, too"},
		"more of the same":                  {[]owner{entry("a", "v1", host)}, []owner{entry("a", "v1", `{"f:spec":{"f:host":{},"f:image":{}}}`)}, "a owns .spec.image, too"},
		"a default, with a list of it":      {[]owner{entry("a", "v1", host)}, []owner{entry("a", "v1", host), entry("b", "v1", `{"f:spec":{"f:port":{},"f:list":{"k:{\"name\":\"x\"}":{"f:mode":{}}},"f:map":{"f:x":{"f:mode":{}}}}}`)}, ""},
		"a default and something else":      {[]owner{entry("a", "v1", host)}, []owner{entry("a", "v1", host), entry("b", "v1", `{"f:spec":{"f:port":{},"f:image":{}}}`)}, "b owns .spec.image, too"},
		"a default that had an owner":       {[]owner{entry("a", "v1", `{"f:spec":{"f:port":{}}}`)}, []owner{entry("a", "v1", `{"f:spec":{"f:port":{}}}`), entry("b", "v1", `{"f:spec":{"f:port":{}}}`)}, "b owns .spec.port, too"},
		"a default of another version":      {[]owner{entry("a", "v1", host)}, []owner{entry("a", "v1", host), entry("b", "v1beta1", `{"f:spec":{"f:port":{}}}`)}, "b owns .spec.port, too"},
		"by another operation":              {[]owner{entry("a", "v1", host)}, []owner{{"a", "Apply", "", "example.com/v1", host, ""}}, "a owns .spec.host, too"},
		"by a subresource":                  {[]owner{entry("a", "v1", host)}, []owner{{"a", "Update", "status", "example.com/v1", host, ""}}, "a owns .spec.host, too"},
		"joined by the API server":          {[]owner{entry("a", "v1", host)}, []owner{entry("ancient-changes", "v1", host)}, ""},
		"joined by the API server, earlier": {[]owner{entry("a", "v1", host), entry("ancient-changes", "v1", image)}, []owner{entry("ancient-changes", "v1", image)}, "a does not own .spec.host any more"},
	} {
		got := unlike(test.before, test.after, func(version string) bool { return version == "example.com/v1beta1" }, crd)
		if !strings.HasPrefix(got, test.want) || test.want == "" && got != "" {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestOwners keeps no more ownerships than there is room for.
func TestOwners(t *testing.T) {
	o := newOwners()
	for n := range 100 {
		o.add(owning(owner{manager: strconv.Itoa(n), fields: strings.Repeat("x", 1<<20)}))
	}
	if len(o.all) < 10 || o.bytes > maxOwners+2<<20 {
		t.Errorf("%d ownerships of %d bytes", len(o.all), o.bytes)
	}
}

func TestOwnershipOf(t *testing.T) {
	object := map[string]any{"metadata": map[string]any{"managedFields": []any{
		map[string]any{"manager": "b", "operation": "Update", "apiVersion": "example.com/v1", "subresource": "status", "time": "2026-01-01T12:00:00Z", "fieldsV1": map[string]any{"f:b": map[string]any{}, "f:a": map[string]any{}}},
		map[string]any{"manager": "a", "operation": "Apply", "apiVersion": "example.com/v1", "time": "2026-01-01T11:00:00Z", "fieldsV1": map[string]any{}},
	}}}
	got := ownershipOf(object)
	want := owning(owner{"a", "Apply", "", "example.com/v1", "{}", "another time"}, owner{"b", "Update", "status", "example.com/v1", `{"f:a":{},"f:b":{}}`, ""})
	if got.hash != want.hash || len(got.all) != 2 || got.newest() != seconds("2026-01-01T12:00:00Z") || got.newest() == 0 {
		t.Errorf("got %+v", got)
	}
	if none := ownershipOf(map[string]any{}); len(none.all) > 0 || none.newest() != 0 || none.hash == got.hash {
		t.Errorf("got %+v", none)
	}
}
