package reporter

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/reporter/layout"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// TestRequirementPages has each requirement that somebody may have to act on be explained in the folder, by pages that load nothing and lead
// back to the report.
func TestRequirementPages(t *testing.T) {
	plain, evil := sample(t), hostileEverywhere(t)
	for i := range evil.Results {
		evil.Results[i].ID = plain.Results[i].ID
	}
	for name, r := range map[string]*reports.Report{"sample": plain, "hostile": evil} {
		files := map[string]string{}
		for _, page := range requirementPages(r) {
			files[page.file] = string(writtenBy(t, page.HTML))
		}
		ids, linked := map[string]bool{}, map[string]bool{}
		for _, n := range elements(t, written(t, r, HTML)) {
			ids[attribute(n, "id")] = true
			if to := attribute(n, "href"); strings.HasPrefix(to, layout.Requirements) {
				linked[to] = true
			}
		}
		for _, result := range r.Results {
			path := "requirements/" + string(result.ID) + ".html"
			acted := slices.Contains([]requirement.Verdict{requirement.Failed, requirement.Tolerated, requirement.KnownFailing, requirement.Errored}, result.Verdict)
			if acted != linked[path] || acted != (files[path] != "") {
				t.Errorf("%s: %s is %s; linked: %t, %d bytes", name, result.ID, result.Verdict, linked[path], len(files[path]))
			}
			if files[path] != "" {
				inert(t, files[path], ids)
			}
		}
	}
	golden(t, "requirement.html", writtenBy(t, requirementPages(plain)[0].HTML))
}

// inert wants a page to have nothing but text and links: to what the report has, or to documents.
func inert(t *testing.T, page string, ids map[string]bool) {
	t.Helper()
	back := 0
	for _, n := range elements(t, []byte(page)) {
		if !slices.Contains(strings.Fields("a body br code h1 h2 head html li main meta p small span style title ul"), n.Data) {
			t.Errorf("there is a <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if a.Key != "href" {
				if !slices.Contains([]string{"lang", "charset", "name", "content", "http-equiv", "class", "rel"}, a.Key) {
					t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
				}
				continue
			}
			to, err := url.Parse(a.Val)
			switch {
			case err != nil:
				t.Error(err)
			case to.Scheme == "https" && to.Host == "kubernetes.io" && attribute(n, "rel") == "noreferrer":
			case to.Scheme != "" || to.Host != "" || to.Path != "../report.html" || !ids[to.Fragment]:
				t.Errorf("a link leads to %s", a.Val)
			default:
				back++
			}
		}
	}
	if back == 0 {
		t.Error("no link leads back to the report")
	}
}

// TestRequirementPagesOfBadIDs has no file be made for what is no ID.
func TestRequirementPagesOfBadIDs(t *testing.T) {
	for _, id := range []requirement.ID{"a", ".", "..", "../a.b", "a/b.c", "/a.b", `a\b.c`, "a.b/../../c", "A.b", "a..b", "a.b.", "a.b.c.d", "a.b\n", "a.b:c", "con.", requirement.ID("a." + strings.Repeat("b", 300))} {
		r := &reports.Report{Results: must(requirement.Failed)}
		r.Results[0].ID = id
		Conclude(r)
		folder := open(t, t.TempDir())
		if err := folder.Write(r); err != nil {
			t.Fatal(err)
		}
		if got := names(list(t, string(folder))); !slices.Equal(got, []string{"junit.xml", "report.html", "report.json", "summary.md"}) {
			t.Errorf("%q: there are %q", id, got)
		}
		if page := written(t, r, HTML); strings.Contains(string(page), `href="requirements/`) {
			t.Errorf("%q has a link", id)
		}
	}
}

// TestRequirementPagesOfLoad explains what requests violated under load, as "crdconform explain" does.
func TestRequirementPagesOfLoad(t *testing.T) {
	r := failingStage(t)
	r.Results = nil
	for i := range r.Load.Stages {
		r.Load.Stages[i].Violations = nil
	}
	r.Load.Stages[0].Violations = map[requirement.ID]uint64{requirement.WebhookResponseUID: 3, "no.such.one": 2}
	pages := requirementPages(r)
	if len(pages) != 1 {
		t.Fatalf("got %d pages", len(pages))
	}
	text := string(writtenBy(t, pages[0].HTML))
	for _, want := range []string{"<h2>Why</h2>", "<h2>Source</h2>", "serve --fault", "<h2>What to do</h2>", "Build the response from the request", "crdconform check URL --filter webhook.response.uid", "3 requests"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s:\n%s", want, text)
		}
	}
	if page := string(written(t, r, HTML)); strings.Count(page, `<a href="requirements/webhook.response.uid.html">`) != 1 || strings.Contains(page, "requirements/no.such.one") {
		t.Error("the report does not lead to the page, or to one that is not there")
	}
	if files := Folder(t.TempDir()); files.Write(r) != nil || !slices.Contains(names(list(t, string(files))), "requirements/webhook.response.uid.html") {
		t.Error("the page is not written")
	} else if again := open(t, string(files)); slices.Contains(names(list(t, string(again))), "requirements/webhook.response.uid.html") {
		t.Error("the page stays when the next run begins")
	}
}
