package reporter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"
)

// TestManyStages has a page stay small, and the summary have room for all that is missed.
func TestManyStages(t *testing.T) {
	r := wide(t)
	page := written(t, r, HTML)
	all := elements(t, page)
	if n := len(named(all, "svg")); n != 2*mostCharted+1 {
		t.Errorf("there are %d charts, want two for each of %d stages and one for the batches", n, mostCharted)
	}
	if len(page) > 500_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, want := range []string{
		"There are charts for 6 of 20 stages, those with the longest p99.", "The chart has the first 3 of 4 combinations.", "and 90 more, all of them in report.json", `<a href="#stage-20">batch 1500, 16384 bytes</a>`,
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("there is no %q", want)
		}
	}
	var charted, opened []string
	for _, n := range named(all, "details") {
		if attribute(n, "class") != "stage" {
			continue
		}
		if len(named(slices.Collect(n.Descendants()), "svg")) == 2 {
			charted = append(charted, attribute(n, "id"))
		}
		if slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "open" }) {
			opened = append(opened, attribute(n, "id"))
		}
	}
	// Those with 1500 objects a request are the slowest, and then the first of those with 500.
	if want := []string{"stage-4", "stage-5", "stage-9", "stage-10", "stage-15", "stage-20"}; !slices.Equal(charted, want) {
		t.Errorf("%v have charts, want %v", charted, want)
	}
	if !slices.Equal(opened, []string{"stage-1"}) {
		t.Errorf("%v are open", opened)
	}
	if text := written(t, r, Markdown); len(text) > 20_000 {
		t.Errorf("the summary has %d bytes", len(text))
	}
}

// TestHTMLOfStagesInABrowser has a page with many stages fit into a narrow window, in which tables are scrolled by themselves,
// and all of its charts have something to see. A script checks that; the copy of the page lacks its policy so that it can run.
func TestHTMLOfStagesInABrowser(t *testing.T) {
	text := string(written(t, wide(t), HTML))
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`).FindString(text)
	if policy == "" {
		t.Fatal("the page has no policy")
	}
	const script = `<script>
		document.querySelectorAll("details").forEach(d => d.open = true);
		const root = document.documentElement, charts = [...document.querySelectorAll(".chart")];
		const seen = charts.filter(c => c.getAttribute("aria-label") && c.querySelector("svg").getBoundingClientRect().height > 100);
		document.title = root.scrollWidth - root.clientWidth + " too wide, " + seen.length + " of " + charts.length + " charts";
	</script></body>`
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte(strings.NewReplacer(policy, "", "</body>", script).Replace(text)), 0o644); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("0 too wide, %d of %[1]d charts", 2*mostCharted+1)
	if got := content(named(elements(t, browse(t, page, chromedp.EmulateViewport(500, 800))), "title")[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
