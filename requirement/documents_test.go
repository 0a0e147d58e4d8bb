package requirement

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// documentsEnv names a directory with the documents. They are not in the repository, being the writing of others.
const documentsEnv = "CRDCONFORM_TEST_DOCUMENTS"

// sentenceAt is a sentence of a document, found by rule.
type sentenceAt struct {
	words string // the first of it
	key   string // its letters and digits
	hash  string
	at    Place
}

// TestSentencesOfDocuments holds the table to the documents, if they are at hand: every sentence that the rule finds has its row, and
// every row is a sentence.
func TestSentencesOfDocuments(t *testing.T) {
	dir := os.Getenv(documentsEnv) //nolint:forbidigo // what the machine has for tests
	if dir == "" {
		t.Skipf("%s does not name the directory with the documents; what the table says of itself is checked by other tests", documentsEnv)
	}
	rows := map[string]Sentence{}
	for _, row := range Sentences() {
		rows[row.Hash] = row
	}
	texts := documentsIn(t, dir)
	found := map[string][]Place{}
	for _, text := range loadSentences().Texts {
		lines, there := texts[text.SHA256]
		if !there {
			t.Errorf("%s: no file in %s has the SHA-256 %s", text.Document, dir, text.SHA256)
			continue
		}
		sentences := sentencesOf(text, headingLines(text.Document), lines)
		for _, s := range sentences {
			found[s.hash] = append(found[s.hash], s.at)
			row, there := rows[s.hash]
			switch {
			case !there:
				t.Errorf("%s has no row: {words: %q, hash: %s}", s.at, s.words, s.hash)
			case !strings.HasPrefix(s.key, normalised(row.Words)):
				t.Errorf("%s begins with %q, and its row with %q", s.at, s.words, row.Words)
			}
		}
		for _, span := range text.Code {
			for n := span.first; n <= span.last; n++ {
				if line := lines[n-1]; comment(line) == "" && looksLikeProse(line) {
					t.Errorf("%s:%d is prose and not code", text.Document, n)
				}
			}
		}
	}
	for _, row := range Sentences() {
		if !slices.Equal(row.At, found[row.Hash]) {
			t.Errorf("%q: the row is at %v, the sentence at %v", row.Words, row.At, found[row.Hash])
		}
	}
}

// documentsIn returns the lines of the files of a directory, by SHA-256.
func documentsIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		texts[hex.EncodeToString(sum[:])] = strings.Split(string(text), "\n")
	}
	return texts
}

func headingLines(document string) map[int]bool {
	lines := map[int]bool{}
	for _, d := range Documents() {
		for _, h := range d.Headings {
			if d.ID == document {
				lines[h.Line] = true
			}
		}
	}
	return lines
}

var (
	listItem  = regexp.MustCompile(`^\s*(?:[-*•]|\d+\.)\s+`)
	prose     = regexp.MustCompile(`^\s*(?:[-*•]\s+|\d+\.\s+)?(?:[A-Za-z'’,()/-]+\s+){4,}.*[a-z)][.:]\s*$`)
	shortcode = regexp.MustCompile(`\{\{[<%].*?[%>]\}\}|<!--.*?-->`)
	link      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	note      = regexp.MustCompile(`^\s*(?:Note|Warning): `)
	// A sentence ends with a full stop before a space; not after an abbreviation.
	stop         = regexp.MustCompile(`\.[)"”]?\s+`)
	abbreviation = regexp.MustCompile(`(?:\be\.?g|\bi\.e|\betc|\.\.)\.$`)
)

// looksLikeProse reports whether a line of code is a sentence after all: five words or more, with a full stop or a colon at its end.
func looksLikeProse(line string) bool { return prose.MatchString(line) }

// comment returns the text of a line that is nothing but a comment of YAML or Go.
func comment(line string) string {
	line = strings.TrimSpace(line)
	for _, sign := range []string{"# ", "// "} {
		if text, found := strings.CutPrefix(line, sign); found && strings.ContainsFunc(text, unicode.IsLetter) {
			return text
		}
	}
	return ""
}

// sentencesOf splits a document into its sentences: of all text that is not code, and of the comments in code. Headings have their
// place in the catalogue. Lines of prose belong together until an empty line, a heading, code or the next item of a list; where text
// is not wrapped, each line is for itself.
func sentencesOf(text documentText, headings map[int]bool, lines []string) []sentenceAt {
	var sentences []sentenceAt
	var block []string
	first := 0
	end := func() {
		sentences = append(sentences, split(text.Document, first, block)...)
		block = nil
	}
	add := func(n int, line string) {
		if len(block) == 0 {
			first = n
		}
		block = append(block, line)
	}
	fenced, inComment := false, false
	for i, line := range lines {
		n := i + 1
		fence := strings.HasPrefix(strings.TrimSpace(line), "```") || text.Fenced && strings.TrimSpace(line) == "---"
		if fence {
			fenced = !fenced
		}
		code := fenced || fence || slices.ContainsFunc(text.Code, func(s span) bool { return s.first <= n && n <= s.last })
		switch {
		case code:
			said := comment(line)
			if said == "" || !inComment {
				end()
			}
			if inComment = said != ""; inComment {
				add(n, said)
			}
			continue
		case headings[n] || text.Fenced && strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
			end()
		case listItem.MatchString(line) || note.MatchString(line) || !text.Wrapped || inComment || strings.HasSuffix(strings.TrimSpace(last(block)), ":"):
			end()
			add(n, line)
		default:
			add(n, line)
		}
		inComment = false
	}
	end()
	return sentences
}

// last returns the last line of a block, if any.
func last(block []string) string {
	if len(block) == 0 {
		return ""
	}
	return block[len(block)-1]
}

// split cuts the lines of a block into sentences.
func split(document string, first int, block []string) []sentenceAt {
	var sentences []sentenceAt
	joined := ""
	var lineOf []int // of each byte of joined
	for i, line := range block {
		if i == 0 {
			line = listItem.ReplaceAllString(line, "")
		}
		// Markup goes first, as a link may end a sentence.
		line = strings.TrimSpace(shortcode.ReplaceAllString(line, ""))
		if joined != "" && !strings.HasPrefix(line, ".") {
			joined += " "
		}
		joined += line
		for len(lineOf) < len(joined) {
			lineOf = append(lineOf, first+i)
		}
	}
	from := 0
	cut := func(to int) {
		text := strings.TrimSpace(joined[from:to])
		start := from + strings.Index(joined[from:to], text)
		if key := normalised(text); key != "" {
			sum := sha256.Sum256([]byte(key))
			sentences = append(sentences, sentenceAt{
				words: wordsOf(text), key: key, hash: hex.EncodeToString(sum[:6]),
				at: Place{Document: document, First: lineOf[start], Last: lineOf[start+len(text)-1]},
			})
		}
		from = to
	}
	for _, loc := range stop.FindAllStringIndex(joined, -1) {
		if !abbreviation.MatchString(strings.TrimRight(joined[:loc[1]], ` )"”`)) {
			cut(loc[1])
		}
	}
	cut(len(joined))
	return sentences
}

// plain takes markup and the sign of an item or a note off a sentence.
func plain(text string) string {
	text = link.ReplaceAllString(shortcode.ReplaceAllString(text, ""), "$1")
	text = listItem.ReplaceAllString(text, "")
	return note.ReplaceAllString(text, "")
}

// normalised is what two renderings of a sentence have in common: letters and digits.
func normalised(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, plain(text))
}

// wordsOf is the beginning of a sentence, by which a reader finds it.
func wordsOf(text string) string {
	words := strings.Fields(strings.NewReplacer("`", "", "*", "").Replace(plain(text)))
	if len(words) > 5 {
		words = words[:5]
	}
	return strings.Trim(strings.Join(words, " "), "_.,:; ")
}
