package reporter

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// chromium returns a context with one browser for all tests, each of which opens windows in it: to start it takes seconds of processor
// time. TestMain ends it.
var chromium, endChromium = oneBrowser()

func TestMain(m *testing.M) {
	defer endChromium()
	m.Run()
}

// oneBrowser returns what starts a browser, once, and what ends it if it was started.
func oneBrowser() (start func(*testing.T) context.Context, end func()) {
	var once sync.Once
	var browser context.Context
	var home string
	var failed error
	start = func(t *testing.T) context.Context {
		t.Helper()
		path := tool(t, "chromium", "chromium-browser", "google-chrome")
		once.Do(func() {
			if home, failed = os.MkdirTemp("", "chromium-"); failed != nil { //nolint:usetesting // it outlives the test
				return
			}
			browser, _ = chromedp.NewContext(context.WithoutCancel(t.Context()), chromedp.WithAllocatorOptions( //nolint:fatcontext // once
				chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(filepath.Join(home, "profile")),
				chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)))
			failed = chromedp.Do(browser)
		})
		if failed != nil {
			t.Fatalf("the browser does not start: %v", failed)
		}
		return browser
	}
	return start, func() {
		if browser == nil {
			return
		}
		if err := errors.Join(chromedp.Cancel(browser), os.RemoveAll(home)); err != nil && failed == nil {
			panic(err)
		}
	}
}

// visit opens a page in a real browser. The test fails in its end if the page loaded anything beside itself, or had anything to
// say on its console, refusals by its policy among it.
func visit(t *testing.T, name string, before ...action) context.Context {
	t.Helper()
	address := (&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String()
	var mu sync.Mutex
	var said []string
	listen := func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if e.Request.URL != address {
				said = append(said, "it requests "+e.Request.URL)
			}
		case *runtime.EventExceptionThrown:
			said = append(said, "it throws "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			said = append(said, "it writes to its console")
		case *log.EventEntryAdded:
			said = append(said, "its log has "+e.Entry.Text)
		}
	}
	// A window of its own is never in the background, where browsers do less.
	ctx, cancel := chromedp.NewContext(chromium(t), chromedp.WithListener(listen), chromedp.WithNewWindow(true))
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("the page does not close: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, text := range said {
			t.Error(text)
		}
	})
	do(ctx, t, sent(network.Enable, network.EnableParams{}), sent(log.Enable, cdp.Empty{}))
	do(ctx, t, before...)
	do(ctx, t, chromedp.Navigate(address))
	return ctx
}

type action = chromedp.Action[chromedp.Void]

// sent is a command of the browser's protocol.
func sent[P, R any](command cdp.Command[P, R], parameters P) action {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, parameters)
		return err
	})
}

// emulated is what the page is shown on, and how its reader likes it.
func emulated(medium, scheme string) action {
	return sent(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: medium, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// do does something in the page.
func do(ctx context.Context, t *testing.T, actions ...action) {
	t.Helper()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatal(err)
	}
}

// evaluated is what an expression in the page is.
func evaluated[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// until waits for an expression in the page to be true.
func until(ctx context.Context, t *testing.T, expression string) {
	t.Helper()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression)); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
}

// pageOf writes a report and returns its page.
func pageOf(t *testing.T, r *reports.Report) string {
	t.Helper()
	folder, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Write(r); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(string(folder), "report.html")
}

// rows are the IDs that the chapters have which are to be seen, in their folds or without.
const rows = `[...document.querySelectorAll(".results tr[id]")].filter(e => !e.hidden && e.closest(".chapter").checkVisibility()).map(e => e.id)`

// unfolded are those of them that nobody needs to open a fold for.
const unfolded = `[...document.querySelectorAll(".results tr[id]")].filter(e => e.checkVisibility()).map(e => e.id)`

// problemElements are the elements that are to be seen above the chapters.
const problemElements = `[...document.querySelectorAll(".problem")].filter(e => e.checkVisibility()).map(e => e.id)`

// TestPageFilters looks for requirements as people do. What is shown in full above the chapters is there whenever it is in its chapter.
func TestPageFilters(t *testing.T) {
	r := sample(t)
	ctx := visit(t, pageOf(t, r))
	all := evaluated[[]string](ctx, t, rows)
	if len(all) != len(r.Results) {
		t.Fatalf("at first %d requirements are to be seen, want %d", len(all), len(r.Results))
	}
	for _, test := range []struct {
		name    string
		actions []action
		want    func(reports.Result) bool
	}{
		{"a word", typed("VERSIONS.served"), func(r reports.Result) bool { return strings.HasPrefix(string(r.ID), "versions.served") }},
		{"words", typed("storage never"), func(r reports.Result) bool { return r.ID == "storage.rewrite.all" }},
		{"a later line of a reason", typed("want the uid"), func(r reports.Result) bool { return r.ID == "conversion.answer.uid" }},
		{"a source", typed("versions-1:412"), func(r reports.Result) bool { return r.Subject == "" }},
		{"nothing", typed("no such words"), func(reports.Result) bool { return false }},
		{"a verdict", []action{chromedp.Click(chromedp.CSS(`[name=verdict][value=passed]`))}, func(r reports.Result) bool { return r.Verdict.String() != "Passed" }},
		{"a level", []action{chromedp.SendKeys(chromedp.CSS("#level"), "SHOULD")}, func(r reports.Result) bool { return r.Level == "SHOULD" }},
		{"a definition", []action{chromedp.Click(chromedp.CSS("#only1"))}, func(r reports.Result) bool { return r.Subject == "widgets.example.com" }},
		{"a word about a definition", append(typed("trip.back"), chromedp.Click(chromedp.CSS("#only2"))), func(r reports.Result) bool {
			return r.ID == "conversion.trip.back" && r.Subject == "gadgets.example.com"
		}},
	} {
		do(ctx, t, test.actions...)
		var want, above []string
		for _, result := range r.Results {
			if test.want(result) {
				want = append(want, anchor(result.ID, result.Subject))
			}
		}
		for _, result := range problems(r) {
			if test.want(result) {
				above = append(above, "problem-"+anchor(result.ID, result.Subject))
			}
		}
		if got := evaluated[[]string](ctx, t, problemElements); !slices.Equal(got, above) {
			t.Errorf("%s: there are the problems %q, want %q", test.name, got, above)
		}
		if got := evaluated[[]string](ctx, t, rows); !slices.Equal(got, want) {
			t.Errorf("%s: there are %q, want %q", test.name, got, want)
		}
		found := len(want)
		if test.name == "a definition" { // of which nobody looks for anything in particular
			want = nil
		}
		if got := evaluated[[]string](ctx, t, unfolded); !slices.Equal(got, want) {
			t.Errorf("%s: unfolded are %q, want %q", test.name, got, want)
		}
		if got, want := evaluated[string](ctx, t, `document.getElementById("shown").value`), fmt.Sprintf("%d of %d requirements", found, len(all)); got != want {
			t.Errorf("%s: it says %q, want %q", test.name, got, want)
		}
		do(ctx, t, chromedp.Click(chromedp.CSS("[type=reset]")))
		until(ctx, t, rows+`.length == `+strconv.Itoa(len(all))+` && `+unfolded+`.length == 0`)
	}
}

// typed has somebody search. A slash leads there from everywhere; unlike keyboards, the protocol types it all the same.
func typed(words string) []action {
	return []action{chromedp.KeyEvent("/"), chromedp.Evaluate[chromedp.Void](`document.activeElement.value = ""`), chromedp.KeyEvent(words)}
}

// TestPageFollowsLinks has a link lead to what is filtered out or closed too.
func TestPageFollowsLinks(t *testing.T) {
	r := sample(t)
	ctx := visit(t, pageOf(t, r))
	do(ctx, t, typed("versions.served.read")...)
	evaluated[string](ctx, t, `document.getElementById("problem-conversion.answer.uid").open = false; location.hash = "#problem-conversion.answer.uid"`)
	until(ctx, t, `(e => e.checkVisibility() && e.open)(document.getElementById("problem-conversion.answer.uid"))`)
	// So it does from what has changed about one definition to what has about another.
	do(ctx, t, chromedp.Click(chromedp.CSS("#only2")))
	for _, to := range []string{"conversion.answer.uid", anchor("conversion.trip.back", "widgets.example.com"), anchor("conversion", "widgets.example.com")} {
		evaluated[string](ctx, t, `document.getElementById("only2").click(); location.hash = "#`+to+`"`)
		until(ctx, t, `document.getElementById("`+to+`").checkVisibility() && document.querySelector("[name=only]:checked").id === ""`)
	}
	// The form stays in view, above what a link leads to; on a phone it does not.
	for _, width := range []int64{1200, 800, 390} {
		do(ctx, t, chromedp.EmulateViewport(width, 400))
		until(ctx, t, `innerWidth == `+strconv.FormatInt(width, 10))
		for _, id := range []string{"conversion", "storage.rewrite.all"} {
			evaluated[string](ctx, t, `location.hash = "#`+id+`"`)
			until(ctx, t, `(top => top >= -1 && top < 200 && (getComputedStyle(filter).position !== "sticky" || top >= filter.getBoundingClientRect().bottom - 1))(document.getElementById("`+id+`").getBoundingClientRect().top)`)
		}
	}
}

// TestPagesOfSeveralReports has a browser open what is made of several reports, of which nothing loads or complains of anything.
func TestPagesOfSeveralReports(t *testing.T) {
	compared := changed(t)
	ctx := visit(t, pageOf(t, compared))
	for _, change := range compared.Changes.Requirements {
		if change.Now == "" {
			continue
		}
		to := anchor(change.ID, change.Subject)
		evaluated[chromedp.Void](ctx, t, `document.getElementById("only2").click()`)
		evaluated[chromedp.Void](ctx, t, `[...document.querySelectorAll("h2#changes ~ .wide a")].find(e => decodeURIComponent(e.hash) === "#`+to+`").click()`)
		until(ctx, t, `document.getElementById("`+to+`").checkVisibility()`)
	}
	without := changed(t)
	without.Load = nil
	merged, err := Merge([]string{"job-1", "job-2"}, []*reports.Report{changed(t), without})
	if err != nil {
		t.Fatal(err)
	}
	if got := evaluated[string](visit(t, pageOf(t, merged)), t, `document.querySelector("h1").innerText`); got != Headline(merged) {
		t.Errorf("merged, it says %q, want %q", got, Headline(merged))
	}
	name := filepath.Join(t.TempDir(), "matrix.html")
	m := NewMatrix([]string{"a", "b"}, []*reports.Report{judgedAs(requirement.Passed, requirement.Failed), judgedAs(requirement.Passed, requirement.Passed)})
	if err := os.WriteFile(name, writtenBy(t, m.HTML), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx = visit(t, name)
	for shown, want := range map[string]int{"details:not([open])": 1, "tbody tr": 4} {
		if got := evaluated[int](ctx, t, `document.querySelectorAll("`+shown+`").length`); got != want {
			t.Errorf("the matrix has %d of %s, want %d", got, shown, want)
		}
	}
	if seen := evaluated[string](ctx, t, `[...document.querySelectorAll("tbody tr")].filter(e => e.checkVisibility({contentVisibilityAuto: true})).map(e => e.innerText).join("\n")`); !strings.Contains(seen, "area.topic.b") || strings.Contains(seen, "area.topic.a") {
		t.Errorf("at first the matrix shows:\n%s", seen)
	}
}

// TestPageFits has the page show charts, on a phone, in the dark and on paper.
func TestPageFits(t *testing.T) {
	r := sample(t)
	r.Disruptions = disrupted().Disruptions[1:2]
	ctx := visit(t, pageOf(t, r))
	for _, width := range []int64{390, 1200} {
		do(ctx, t, chromedp.EmulateViewport(width, 800))
		if got := evaluated[int64](ctx, t, "document.documentElement.scrollWidth"); got > width {
			t.Errorf("a page of %d pixels is %d wide", width, got)
		}
	}
	if got := evaluated[int](ctx, t, `[...document.querySelectorAll(".chart svg")].filter(e => e.checkVisibility() && e.querySelectorAll("path").length > 3).length`); got != 3 {
		t.Errorf("there are %d charts", got)
	}
	do(ctx, t, chromedp.EmulateViewport(390, 800))
	if got := evaluated[float64](ctx, t, `Math.min(...[...document.querySelectorAll(".chart svg")].filter(e => e.checkVisibility() && e.parentElement.scrollWidth <= e.parentElement.clientWidth)
		.flatMap(e => [...e.querySelectorAll("text")].map(t => parseFloat(getComputedStyle(t).fontSize) * e.getScreenCTM().a)))`); got < 9 || got > 20 {
		t.Errorf("on a phone, the text of charts is %.1f pixels high, or there is no chart that fits", got)
	}
	brightness := `(c => c.match(/[0-9.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b))(getComputedStyle(document.body).color)`
	for scheme, bright := range map[string]bool{"light": false, "dark": true} {
		do(ctx, t, emulated("screen", scheme))
		if got := evaluated[float64](ctx, t, brightness); (got > 380) != bright {
			t.Errorf("%s: the text has a brightness of %.0f", scheme, got)
		}
	}
	do(ctx, t, emulated("print", "light"))
	if hidden := evaluated[[]string](ctx, t, `[...document.querySelectorAll(".problem > dl.parts > dd")].filter(e => !e.checkVisibility({contentVisibilityAuto: true})).map(e => e.innerText)`); len(hidden) > 0 {
		t.Errorf("on paper these are missing: %.300q", hidden)
	}
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Errorf("printed, it begins with %.20q", pdf)
	}
}

// TestPageIsAccessible has all that can be used be named and be reached by the keyboard.
func TestPageIsAccessible(t *testing.T) {
	ctx := visit(t, pageOf(t, sample(t)))
	type node struct{ Role, Name string }
	do(ctx, t, chromedp.Click(chromedp.CSS("[data-fold=open]")))
	const list = `[...document.querySelectorAll("input, select, button, summary, a[href], [role=img], form")].filter(e => e.checkVisibility()).map(e => ({
		Role: e.localName, Name: (e.getAttribute("aria-label") || (e.labels && e.labels.length ? e.labels[0].innerText : "") || e.innerText || "").trim(),
	}))`
	nodes := evaluated[[]node](ctx, t, list)
	if len(nodes) < 30 {
		t.Errorf("there are %d things to use", len(nodes))
	}
	for _, n := range nodes {
		if n.Name == "" {
			t.Errorf("a %s has no name", n.Role)
		}
	}
	if skipped := evaluated[int](ctx, t, `document.querySelectorAll("[tabindex='-1']").length`); skipped > 0 {
		t.Errorf("the keyboard does not reach %d things", skipped)
	}
	if got := evaluated[string](ctx, t, `document.documentElement.lang + " " + document.querySelectorAll("main").length + " " + document.querySelectorAll("h1").length`); got != "en 1 1" {
		t.Errorf("the language, the number of mains and of headlines are %q", got)
	}
	// Contrast is that of WCAG 2, which wants 4.5 for text of this size.
	contrast := `(() => {
		const light = (c) => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
		return [...document.querySelectorAll(".verdict, .legend span, .tally span, .mismatches code, .mismatches small, .about, summary, dt, .missed, .met, .good, .void")].filter(e => e.checkVisibility()).map(e => {
			const back = document.createElement("i"); back.style.background = "Canvas"; document.body.append(back);
			const [a, b] = [light(getComputedStyle(e).color), light(getComputedStyle(back).backgroundColor)]; back.remove();
			return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
		}).reduce((a, b) => Math.min(a, b), 21);
	})()`
	for _, scheme := range []string{"light", "dark"} {
		do(ctx, t, emulated("screen", scheme))
		if got := evaluated[float64](ctx, t, contrast); got < 4.5 {
			t.Errorf("%s: the least contrast is %.2f", scheme, got)
		}
	}
}

// TestPageWithoutScript has the whole page be there where scripts are removed, as some CI servers do.
func TestPageWithoutScript(t *testing.T) {
	r := sample(t)
	name := pageOf(t, r)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(text), script, "", 1)
	if without == string(text) {
		t.Fatal("the page has no script")
	}
	if err := os.WriteFile(name, []byte(without), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := visit(t, name)
	if got := evaluated[[]string](ctx, t, rows); len(got) != len(r.Results) {
		t.Errorf("%d requirements are to be seen, want %d", len(got), len(r.Results))
	}
	if evaluated[bool](ctx, t, `document.getElementById("filter").checkVisibility()`) {
		t.Error("there is a filter that does nothing")
	}
}
