package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/requirement"
)

// TestMemory has webhooks answer with what they keep of other objects, which they know by something. All findings have one cause, which names it,
// and the exchanges show it.
func TestMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key  func(object map[string]any) string
		want string
	}{
		"the UID":  {func(object map[string]any) string { return textOf(object, "uid") }, "after another object with the same metadata.uid was converted"},
		"the name": {func(object map[string]any) string { return textOf(object, "name") }, "after another object with the same metadata.name was converted"},
		"the revision of a name": {func(object map[string]any) string {
			return textOf(object, "name") + textOf(object, "resourceVersion")
		}, "after another object with the same metadata.name and metadata.resourceVersion was converted"},
		"the size of a spec": {func(object map[string]any) string { return strconv.Itoa(len(fmt.Sprint(object["spec"]))) }, "after another object with the same size was converted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			kept := map[string]map[string]any{}
			subject := served{handler: stranger{converts: func(from, to string, object map[string]any) string {
				mu.Lock()
				defer mu.Unlock()
				key, own := from+to+test.key(object), object["metadata"]
				if other, known := kept[key]; known {
					clear(object)
					if maps.Copy(object, other); name == "the size of a spec" {
						object["metadata"] = own // what comes back has its name
					}
				} else {
					kept[key] = maps.Clone(object)
				}
				return ""
			}}}.of(t, evident)
			subject.Objects = 12
			failed := 0
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip, requirement.WebhookConversionStrings, requirement.WebhookConversionZeroValues) {
				if r.Verdict != requirement.Failed {
					continue
				}
				failed++
				for _, f := range r.Findings {
					if f.When != test.want {
						t.Errorf("%s: %s has the cause %q, want %q", r.Requirement, f.Field, f.When, test.want)
					}
				}
				if !hasFile(r, "request-before.json") || hasFile(r, "object.yaml") || !strings.Contains(r.Reason, "what it keeps of another object") {
					t.Errorf("%s does not show it: %s", r.Requirement, r.Reason)
				}
			}
			if failed == 0 {
				t.Error("nothing fails")
			}
		})
	}
}

// textOf is a text in the metadata of an object.
func textOf(object map[string]any, field string) string {
	metadata, _ := object["metadata"].(map[string]any)
	text, _ := metadata[field].(string)
	return text
}

// TestCircumstances has webhooks lose a part of the objects with something special in their metadata. The cause names that, and so does the object.
func TestCircumstances(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		is   func(metadata map[string]any) bool
		want string // empty if it is not the metadata
	}{
		"is being deleted": {func(metadata map[string]any) bool { return metadata["deletionTimestamp"] != nil }, "where metadata.deletionTimestamp is set"},
		"a long name": {func(metadata map[string]any) bool {
			name, _ := metadata["name"].(string)
			return len(name) > 200
		}, "where metadata.name has 253 characters"},
		"no annotations": {func(metadata map[string]any) bool { return metadata["annotations"] == nil }, "where metadata.annotations are not set"},
		"always":         {func(map[string]any) bool { return true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{change: func(object map[string]any) {
				metadata, _ := object["metadata"].(map[string]any)
				if test.is(metadata) {
					delete(object, "spec")
				}
			}}}.of(t, evident)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip) {
				if r.Verdict != requirement.Failed || len(r.Findings) == 0 {
					t.Fatalf("%s: %s", r.Verdict, r.Reason)
				}
				for _, f := range r.Findings {
					if f.When != test.want {
						t.Errorf("%s has the cause %q, want %q", f.Field, f.When, test.want)
					}
				}
				words := strings.Fields(test.want + " - -")
				field := strings.TrimPrefix(words[1], "metadata.")
				if said := strings.Contains(r.Reason, ", only "+test.want+": "); said != (test.want != "") {
					t.Errorf("it is said: %t: %s", said, r.Reason)
				}
				if shown := strings.Contains(r.Reason[strings.Index(r.Reason, "\nobject: "):], `"`+field+`":`); shown != (test.want != "" && !strings.Contains(test.want, " not ")) {
					t.Errorf("the object is shown with %s: %t: %s", field, shown, r.Reason)
				}
			}
		})
	}
}

// TestRefusedWithout has a webhook refuse objects that lack a field, and others with a long name, or without any field of their own. The cause says
// so, and is no field that they have.
func TestRefusedWithout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuses func(object map[string]any) bool
		want    string
	}{
		"a field that they lack": {func(object map[string]any) bool { return specOf(object) != nil && specOf(object)["second"] == nil }, "without spec.second"},
		"a long name":            {func(object map[string]any) bool { return len(nameOf(object)) > 200 }, "where metadata.name has 253 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(_, _ string, object map[string]any) string {
				if test.refuses(object) {
					return "something is wrong"
				}
				return ""
			}}}.of(t, evident)
			subject.Objects = 60
			for _, r := range selected(t, subject, 1, requirement.WebhookFailureAvoided) {
				if len(r.Findings) == 0 || strings.Contains(r.Reason, "with nothing in it") {
					t.Errorf("%s: %s", r.Verdict, r.Reason)
				}
				for _, f := range r.Findings {
					if f.When != test.want || f.Field != "" {
						t.Errorf("%s is to blame, and the cause is %q, want %q: %s", f.Field, f.When, test.want, r.Reason)
					}
				}
			}
		})
	}
}

// TestRetexted has all texts of an object replaced that its schema lets be others, together, without an inquiry for each.
func TestRetexted(t *testing.T) {
	t.Parallel()
	const fields = 200
	var properties []string
	spec := map[string]any{}
	for i := range fields {
		name, kind := fmt.Sprint("f", i), "{type: string}"
		switch {
		case i%10 == 0:
			kind = "{type: string, enum: [text]}"
		case i == 1:
			kind = `{type: object, x-kubernetes-validations: [{rule: "self.a == self.b"}], properties: {a: {type: string}, b: {type: string, enum: [text]}}}`
		}
		properties = append(properties, name+": "+kind)
		spec[name] = "text"
	}
	spec["f1"] = map[string]any{"a": "text", "b": "text"}
	schema := served{handler: stranger{}}.of(t, numbers("{spec: {type: object, properties: {"+strings.Join(properties, ", ")+"}}}")).Corpus.Definition.Schema("v1")
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	paths := slices.DeleteFunc(corpus.Leaves(object), func(path string) bool { _, is := fieldText(object, path); return !is })
	asked := 0
	changed, which := retexted(schema, object, paths, func(text string) string { asked++; return text + "more" })
	if want := fields - fields/10 - 1; len(which) != want {
		t.Errorf("got %d texts replaced, want %d", len(which), want)
	}
	if problems := schema.Problems(changed.Object); len(problems) > 0 {
		t.Errorf("the object is against its schema: %v", problems)
	}
	for _, path := range paths {
		want := "text"
		if slices.Contains(which, path) {
			want += "more"
		}
		if got, _ := corpus.Value(changed.Object, path); got != want {
			t.Errorf("%s: got %v, want %s", path, got, want)
		}
	}
	if most := fields * 12; asked > most { // one object for each text would make it some 20,000
		t.Errorf("got %d texts made, want at most %d", asked, most)
	}
}
