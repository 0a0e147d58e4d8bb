package webhook

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

// hasFile reports whether a file is attached to a result.
func hasFile(r suites.Result, name string) bool {
	return slices.ContainsFunc(r.Attachments, func(a suites.Attachment) bool { return a.Name == name })
}

// evident is a definition with three fields for text and one for a number.
var evident = numbers(`{spec: {type: object, properties: {first: {type: string}, second: {type: string}, third: {type: string}, count: {type: integer, format: int64}}}}`)

// TestBystanders has webhooks lose what is beside the value that they are wrong about. Only that is named, and of the others the number.
func TestBystanders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id      requirement.ID
		isWrong func(spec map[string]any) bool
		want    []string
	}{
		"beside text": {requirement.WebhookConversionStrings, func(spec map[string]any) bool {
			text, _ := spec["second"].(string)
			return strings.ContainsAny(text, "%\r\n\t\"\\ü<&")
		}, []string{"spec.second"}},
		"beside anything": {requirement.WebhookConversionRoundTrip, func(spec map[string]any) bool { return spec["third"] != nil }, []string{"spec.third"}},
		"each alone":      {requirement.WebhookConversionRoundTrip, func(map[string]any) bool { return true }, []string{"spec.count", "spec.first", "spec.second", "spec.third"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{change: func(object map[string]any) {
				if spec := specOf(object); spec != nil && test.isWrong(spec) {
					clear(spec)
				}
			}}}.of(t, evident)
			subject.Objects = 12
			for _, r := range selected(t, subject, 1, test.id) {
				var fields []string
				for _, f := range r.Findings {
					if !slices.Contains(fields, f.Field) {
						fields = append(fields, f.Field)
					}
				}
				slices.Sort(fields)
				if r.Verdict != requirement.Failed || !slices.Equal(fields, test.want) || strings.Contains(r.Reason, "only beside these") != (len(test.want) == 1) {
					t.Errorf("%s is %s and names %v, want %v: %s", r.Requirement, r.Verdict, fields, test.want, r.Reason)
				}
				if hasFile(r, "places.txt") != (len(test.want) == 1) {
					t.Errorf("the other places are attached: %t", hasFile(r, "places.txt"))
				}
			}
		})
	}
}

// TestNoExample has webhooks lose something, or hang, over objects that they convert when these are asked for once more: no object is shown.
func TestNoExample(t *testing.T) {
	t.Parallel()
	var hung atomic.Int32
	for name, test := range map[string]struct {
		handler stranger
		shows   bool
	}{
		"always": {stranger{change: func(object map[string]any) { delete(specOf(object), "first") }}, true},
		"not of an object that comes for the first time": {stranger{change: func(object map[string]any) {
			if name, _ := metadataOf(object, "labels")["name"].(string); !strings.HasPrefix(nameOf(object), "alone-") && name == "" {
				delete(specOf(object), "first")
			}
		}}, false},
		"hangs over a batch, and over the first object of that": {stranger{hangs: func(object map[string]any) bool {
			return len(specOf(object)) == 1 && specOf(object)["third"] != nil && hung.Add(1) <= 2
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: test.handler, client: func(e *wire.Endpoint) { e.Timeout = 500 * time.Millisecond }}.of(t, evident)
			subject.Objects = 12
			failed := false
			for _, r := range selected(t, subject, 1, requirement.WebhookConversionRoundTrip, requirement.WebhookFailureAvoided) {
				if r.Verdict != requirement.Failed {
					continue
				}
				failed = true
				if hasFile(r, "object.yaml") != test.shows || strings.Contains(r.Reason, "no object shows it") == test.shows {
					t.Errorf("%s, want an object to be shown: %t: %s", r.Requirement, test.shows, r.Reason)
				}
			}
			if !failed {
				t.Error("nothing fails")
			}
		})
	}
}

func nameOf(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// TestOnlyWhatIsRefused has webhooks refuse values that are special. The texts beside them are not named, and neither is what is refused once it comes
// back from the other version.
func TestOnlyWhatIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		refuses func(spec map[string]any) bool
		want    string
	}{
		"large": {func(spec map[string]any) bool { count, is := spec["count"].(json.Number); return is && len(count) > 9 }, "with a large integer at spec.count: "},
		"empty": {func(spec map[string]any) bool { return spec["second"] == "" }, `with 0, false or "" at spec.second: `},
		"zero":  {func(spec map[string]any) bool { return spec["count"] == json.Number("0") }, `with 0, false or "" at spec.count: `},
		"text": {func(spec map[string]any) bool {
			text, _ := spec["second"].(string)
			return strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
		}, "with special text at spec.second: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(from, _ string, object map[string]any) string {
				if from == "v1" && test.refuses(specOf(object)) {
					return "it is not allowed"
				}
				return ""
			}}}.of(t, strings.Replace(evident, "properties: {first", "required: [first], properties: {first", 1))
			subject.Objects = 12
			results := selected(t, subject, 1, requirement.WebhookFailureAvoided)
			if len(results) != 1 {
				t.Errorf("%d results", len(results))
			}
			for _, r := range results {
				if r.Verdict != requirement.Tolerated || !strings.Contains(r.Reason, test.want) || strings.Contains(r.Reason, "spec.first") || strings.Contains(r.Reason, "v2 -> v1:") {
					t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
				}
			}
		})
	}
}

// TestResultsThatAreRefused has webhooks refuse at v2 what is special. What v1 allows as well becomes an object that cannot be written at v2.
func TestResultsThatAreRefused(t *testing.T) {
	t.Parallel()
	for id, refuses := range map[requirement.ID]func(spec map[string]any) bool{
		requirement.WebhookConversionZeroValues: func(spec map[string]any) bool { return spec["second"] == "" },
		requirement.WebhookConversionStrings: func(spec map[string]any) bool {
			text, _ := spec["second"].(string)
			return strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
		},
	} {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			subject := served{handler: stranger{converts: func(from, _ string, object map[string]any) string {
				if from == "v2" && refuses(specOf(object)) {
					return "it is not allowed"
				}
				return ""
			}}}.of(t, evident)
			subject.Objects = 12
			results := selected(t, subject, 1, id)
			if len(results) != 1 {
				t.Errorf("%d results", len(results))
			}
			for _, r := range results {
				if r.Verdict != requirement.Failed || len(r.Findings) != 1 || r.Findings[0].Field != "spec.second" || r.Findings[0].From != "v1" {
					t.Errorf("%s is %s: %s: %+v", r.Requirement, r.Verdict, r.Reason, r.Findings)
				}
			}
		})
	}
}

// TestRefusedAnnotations has a webhook refuse whatever is not its own in an annotation: no one value is blamed.
func TestRefusedAnnotations(t *testing.T) {
	t.Parallel()
	const note = "example.com/note"
	subject := served{handler: stranger{converts: func(_, to string, object map[string]any) string {
		notes := metadataOf(object, "annotations")
		if value, noted := notes[note]; noted && value != "kept" {
			return "the note is spoiled"
		}
		delete(notes, note)
		if to == "v2" {
			notes[note] = "kept"
		}
		return ""
	}}}.of(t, evident)
	subject.Objects = 12
	for _, r := range selected(t, subject, 1, requirement.WebhookFailureAnnotations) {
		if want := `with "null" or "" or "[]" or "not JSON" or "ke" there`; r.Verdict != requirement.Tolerated || !strings.Contains(r.Reason, want) {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}

// TestBatchesAfterOthers has a webhook mark the objects of each batch that it has not met before. That is no matter of what is beside an object.
func TestBatchesAfterOthers(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	met := map[string]bool{}
	subject := served{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mixedUp(t, w, r, func(request, objects []map[string]any) {
			names := make([]string, 0, len(request))
			for _, object := range request {
				names = append(names, nameOf(object))
			}
			key := strings.Join(names, " ")
			mu.Lock()
			defer mu.Unlock()
			if !met[key] {
				for _, object := range objects {
					metadataOf(object, "labels")["met"] = "no"
				}
			}
			met[key] = true
		})
	})}.start(t)
	for _, r := range selected(t, subject, 1, requirement.WebhookBatchIndependent) {
		if r.Verdict != requirement.NotApplicable || !strings.Contains(r.Reason, "does not always answer the same request alike") {
			t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
		}
	}
}
