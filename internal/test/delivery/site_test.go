package delivery

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/site"
	"github.com/crdconform/crdconform/requirement"
)

func explanations() []explanation.Explanation {
	var all []explanation.Explanation
	for _, r := range requirement.All() {
		all = append(all, explanation.Explanation{Requirement: r, Remedy: explanation.Remedy(r)})
	}
	return all
}

// TestSite makes the site of the repository, in which every link leads somewhere.
func TestSite(t *testing.T) {
	t.Parallel()
	files, err := site.Build(os.DirFS("../../.."), explanations())
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`(href|src)="([^"]*)"`)
	for name, content := range files {
		folder := ""
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			folder = name[:i+1]
		}
		for _, found := range links.FindAllSubmatch(content, -1) {
			to, _, _ := strings.Cut(string(found[2]), "#")
			if to == "" || strings.HasPrefix(to, "https://") {
				continue
			}
			at := folder + to
			if rest, up := strings.CutPrefix(to, "../"); up {
				at = rest
			}
			if files[at] == nil {
				t.Errorf("%s has a link to %s", name, found[2])
			}
		}
	}
	if n := len(requirement.All()) + 1; len(slices.Collect(maps.Keys(files))) < n+10 {
		t.Errorf("%d files", len(files))
	}
	page := string(files["requirements/webhook.conversion.round-trip.html"])
	for _, want := range []string{"<h2>Why</h2>", "<h2>Source</h2>", "https://kubernetes.io/", "<h2>What to do</h2>", `href="../index.html"`, "<nav><details><summary>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a requirement lacks %s", want)
		}
	}
}

func TestDeadLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[a](b.md)": "link to b.md", "[a](#nowhere)": "link to #nowhere", "[a](a.md#first)": "", "[a](../deploy/x.yaml)": "", "<script>x</script>": "",
	} {
		documents := fstest.MapFS{}
		for _, name := range []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"} {
			documents[name] = &fstest.MapFile{Data: []byte("# " + name + "\n")}
		}
		documents["docs/a.md"] = &fstest.MapFile{Data: []byte("# A\n\n## First\n\n" + text + "\n\n`webhook.response.uid`\n")}
		files, err := site.Build(documents, explanations())
		switch {
		case want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		case err == nil && (!strings.Contains(string(files["a.html"]), `<a href="requirements/webhook.response.uid.html">`) || strings.Contains(string(files["a.html"]), "<script>")):
			t.Errorf("%s: %s", text, files["a.html"])
		}
	}
}

// TestMenu has what newcomers read first come first, without the signs of Markdown, and says where the reader is.
func TestMenu(t *testing.T) {
	t.Parallel()
	files, err := site.Build(os.DirFS("../../.."), explanations())
	if err != nil {
		t.Fatal(err)
	}
	menu := func(page string) string {
		_, text, _ := strings.Cut(string(files[page]), "<nav>")
		text, _, _ = strings.Cut(text, "</nav>")
		return text
	}
	at := -1
	for _, name := range []string{"index", "guide-webhook-author", "install", "check", "load", "reports", "disruption", "upstream", "contributing", "changelog", "requirements/index"} {
		next := strings.Index(menu("check.html"), `href="`+name+`.html"`)
		if next <= at {
			t.Errorf("%s is at %d in the menu, before %d", name, next, at)
		}
		at = next
	}
	if strings.Contains(menu("check.html"), "`") {
		t.Error("the menu has backticks")
	}
	for page, want := range map[string]string{"check.html": `href="check.html" aria-current`, "requirements/webhook.response.uid.html": `href="../requirements/index.html" aria-current`} {
		if text := menu(page); strings.Count(text, "aria-current") != 1 || !strings.Contains(text, want) {
			t.Errorf("%s does not say where it is: %s", page, text)
		}
	}
}
