package requirement

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSentences holds the table to the catalogue: every sentence has requirements or a reason why it has none, and requirements name
// sentences that exist.
func TestSentences(t *testing.T) {
	documents := map[string]bool{}
	for _, text := range loadSentences().Texts {
		documents[text.Document] = true
	}
	hash := regexp.MustCompile(`^[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, s := range Sentences() {
		if !hash.MatchString(s.Hash) || seen[s.Hash] {
			t.Errorf("%q: the hash %q is not one, or is there twice", s.Words, s.Hash)
		}
		seen[s.Hash] = true
		if n := len(strings.Fields(s.Words)); n == 0 || n > 5 {
			t.Errorf("%q: %d words, want the first few", s.Words, n)
		}
		if (len(s.Requirements) == 0) == (s.None == "") {
			t.Errorf("%q has requirements and a reason why it has none, or neither", s.Words)
		}
		if s.None != "" && !strings.HasSuffix(s.None, ".") {
			t.Errorf("%q: the reason does not end with a full stop", s.Words)
		}
		for i, id := range s.Requirements {
			if slices.Contains(s.Requirements[:i], id) {
				t.Errorf("%s names the sentence %q twice", id, s.Words)
			}
		}
		if len(s.At) == 0 {
			t.Errorf("%q is nowhere", s.Words)
		}
		for _, place := range s.At {
			if !documents[place.Document] {
				t.Errorf("%q: unknown document %s", s.Words, place.Document)
			}
		}
	}
	for hash, ids := range load().stating {
		if !seen[hash] {
			t.Errorf("%v: there is no sentence with the hash %q", ids, hash)
		}
	}
}

// TestSentencesAreInOrder has the sentences of a document follow each other, and be no code. Two may share a line, where one ends and the next
// begins; on a line of its own there may be several.
func TestSentencesAreInOrder(t *testing.T) {
	for _, text := range loadSentences().Texts {
		var places []Place
		for _, s := range Sentences() {
			for i, place := range s.At {
				if place.Document != text.Document {
					continue
				}
				places = append(places, place)
				if i > 0 && s.At[i-1].Document == place.Document && s.At[i-1].First > place.First {
					t.Errorf("%q: its places are not in order", s.Words)
				}
			}
		}
		if len(places) == 0 || text.SHA256 == "" {
			t.Errorf("%s has no sentence or no SHA-256", text.Document)
		}
		slices.SortFunc(places, func(a, b Place) int { return cmp.Or(a.First-b.First, a.Last-b.Last) })
		for i, place := range places {
			if i > 0 && place.First < places[i-1].Last {
				t.Errorf("%s and %s overlap", places[i-1], place)
			}
		}
		for i, code := range text.Code {
			if i > 0 && code.first <= text.Code[i-1].last {
				t.Errorf("%s: code %v and %v overlap or are out of order", text.Document, text.Code[i-1], code)
			}
		}
	}
}

// TestEveryRequirementHasASentence wants each requirement to be named by a sentence under each heading that it cites. What cites none is
// beyond the documents.
func TestEveryRequirementHasASentence(t *testing.T) {
	named := map[string]bool{} // by document, heading and ID
	for _, s := range Sentences() {
		for _, place := range s.At {
			for _, id := range s.Requirements {
				named[place.Document+headingOf(place.Document, place.First).Title+string(id)] = true
			}
		}
	}
	for _, r := range All() {
		for _, source := range r.Source {
			if source.Document != "server" && !named[source.Document+source.Section+string(r.ID)] {
				t.Errorf("%s cites %s, and no sentence there names it", r.ID, source)
			}
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, text := range []string{"versions-1.22:12", "versions-1.22:12-14"} {
		var place Place
		if err := place.UnmarshalText([]byte(text)); err != nil || place.String() != text {
			t.Errorf("%s became %s, %v", text, place, err)
		}
	}
	for _, text := range []string{"versions-1.22", "versions-1.22:x", "versions-1.22:0", "versions-1.22:14-12"} {
		if err := new(Place).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken for a place", text)
		}
	}
}

// TestSplitting shows what the rule takes for sentences, in text of the two forms of the documents.
func TestSplitting(t *testing.T) {
	wrapped := strings.Split(`# Title
First of a [link](to.somewhere) and
more. Second, e.g. this: no end; ends at v1.16. Third
1. An item. Of two
- Another
Note: a note

`+"```yaml"+`
a: b # not a comment line
# A comment
# goes on.
c: d
# Another.
`+"```", "\n")
	var got []string
	for _, s := range sentencesOf(documentText{Document: "d", Fenced: true, Wrapped: true}, nil, wrapped) {
		got = append(got, s.at.String()+" "+s.words)
	}
	want := []string{
		"d:2-3 First of a link and", "d:3 Second, e.g. this: no end", "d:3 Third", "d:4 An item", "d:4 Of two", "d:5 Another", "d:6 a note",
		"d:10-11 A comment goes on", "d:13 Another",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	lines := []string{"  • One line.", "Another without an end", "code: x", "Title", "Last."}
	got = nil
	for _, s := range sentencesOf(documentText{Document: "d", Code: []span{{3, 3}}}, map[int]bool{4: true}, lines) {
		got = append(got, s.at.String()+" "+s.words)
	}
	if want := []string{"d:1 One line", "d:2 Another without an end", "d:5 Last"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if normalised("`The` host:\n port (x)") != normalised("the host : port (x).") {
		t.Error("markup and spaces make a difference")
	}
}
