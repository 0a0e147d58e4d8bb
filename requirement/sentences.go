package requirement

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

//go:embed sentences.yaml
var sentencesYAML []byte

// Sentence is a sentence of a document, without its text, which belongs to its authors. It either has requirements, or None says why
// it has none.
type Sentence struct {
	Words        string  `json:"words"`                  // its beginning, to find it
	Hash         string  `json:"hash"`                   // first 12 digits of the SHA-256 of its letters and digits, in lower case
	At           []Place `json:"at"`                     // its places; documents repeat each other
	Requirements []ID    `json:"requirements,omitempty"` // requirements whose entries name it; each is checked, or says why it is not
	None         string  `json:"none,omitempty"`         // why it has no requirement
}

// documentText identifies the text of a document, and says how to find its sentences.
type documentText struct {
	Document string `json:"document"`          // its ID
	SHA256   string `json:"sha256"`            // of the file
	Fenced   bool   `json:"fenced,omitempty"`  // code is between fences, as in Markdown
	Wrapped  bool   `json:"wrapped,omitempty"` // sentences continue on the next line
	Code     []span `json:"code,omitempty"`    // lines that are code, where there are no fences
}

// span is a range of lines, both included. In YAML, it is 12-14, or 12.
type span struct{ first, last int }

// UnmarshalText parses a span.
func (s *span) UnmarshalText(text []byte) error {
	first, last, found := strings.Cut(string(text), "-")
	if !found {
		last = first
	}
	var err1, err2 error
	s.first, err1 = strconv.Atoi(first)
	s.last, err2 = strconv.Atoi(last)
	if err1 != nil || err2 != nil || s.first < 1 || s.last < s.first {
		return fmt.Errorf("lines %q: want for example 12-14", text)
	}
	return nil
}

// Place is the place of a sentence: a document and its lines, both included. In YAML, it is document:12-14, or document:12.
type Place struct {
	Document    string // its ID
	First, Last int
}

// String returns the place as it is written in the table.
func (p Place) String() string {
	if p.First == p.Last {
		return fmt.Sprintf("%s:%d", p.Document, p.First)
	}
	return fmt.Sprintf("%s:%d-%d", p.Document, p.First, p.Last)
}

// MarshalText returns the place as it is written in the table.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (p *Place) UnmarshalText(text []byte) error {
	document, lines, _ := strings.Cut(string(text), ":")
	var s span
	err := s.UnmarshalText([]byte(lines))
	*p = Place{document, s.first, s.last}
	return err
}

type sentenceTable struct {
	Texts     []documentText `json:"texts"`
	Sentences []Sentence     `json:"sentences"`
}

// loadSentences parses the embedded table once, and adds to each sentence the requirements that name it. A table that cannot be parsed is a defect
// of the build, which the tests of this package detect.
var loadSentences = sync.OnceValue(func() sentenceTable {
	var t sentenceTable
	if err := yaml.UnmarshalStrict(sentencesYAML, &t); err != nil {
		panic(fmt.Sprintf("requirement: sentences.yaml: %v", err))
	}
	for i, s := range t.Sentences {
		if len(s.Requirements) > 0 {
			panic(fmt.Sprintf("requirement: sentences.yaml: %s names requirements; catalogue.yaml names its sentences", s.Hash))
		}
		t.Sentences[i].Requirements = load().stating[s.Hash]
	}
	return t
})

// Sentences returns every sentence of the documents, in the order in which they first occur.
func Sentences() []Sentence { return slices.Clone(loadSentences().Sentences) }
