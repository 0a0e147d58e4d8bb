package reporter

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// whole is a report on every requirement, of which the first few of webhooks fail as they do in practice.
func whole(failures int) *reports.Report {
	r := &reports.Report{
		Tool: "v0.1.0", Command: "crdconform run", Started: time.Date(2026, 11, 21, 9, 31, 5, 0, time.UTC), Seconds: 61.5, Seed: 7,
		Cluster: &reports.Cluster{Name: "embedded", Version: "v1.37.2"},
		Webhook: &reports.Webhook{URL: "https://127.0.0.1:9443/convert", Kinds: []reports.Kind{{
			Definition: "widgets.example.com", Group: "example.com", Kind: "Widget", Versions: []string{"v1alpha1", "v1beta1", "v1"}, Samples: 3, Generated: 50,
		}}},
	}
	for _, one := range requirement.All() {
		result := reports.Result{
			Requirement: one, Spec: "converts objects to every other version and back", Location: "suites/webhook/conversion.go:22",
			Verdict: requirement.Passed, Seconds: 0.125, Rerun: "crdconform run --filter=" + string(one.ID) + " --seed=7",
		}
		if one.Binds == requirement.Webhook && failures > 0 {
			failures--
			dir := "exchanges/" + string(one.ID) + "/"
			result.Verdict = requirement.Failed
			result.Reason = "v1 -> v1alpha1 -> v1: spec.args: expected [\"\"], got nothing\n    also v1 -> v1beta1 -> v1; v1alpha1 -> v1 -> v1alpha1\nobject: {\"spec\":{\"args\":[\"\"]}}"
			result.Findings = []reports.FieldFinding{{Field: "spec.args", Effect: "lost", From: "v1", To: "v1alpha1", Message: "v1 -> v1alpha1 -> v1: spec.args: expected [\"\"], got nothing"}}
			result.Curl = "sh " + dir + "reproduce.sh"
			result.Files = []reports.File{
				{Path: dir + "object.yaml", Data: []byte("apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  creationTimestamp: \"2019-09-04T14:03:02Z\"\n  generation: 1\n  name: widget-plain-0\n  namespace: default\n  resourceVersion: \"143\"\n  uid: 4ec9d724-b00d-5054-889d-39780071cc7f\nspec:\n  args:\n  - \"\"\n  enabled: true\n  replicas: 1\n")},
				{Path: dir + "request.json", Data: []byte(`{"kind":"ConversionReview"}`)},
				{Path: dir + "response.txt", Data: []byte("HTTP/1.1 200 OK\n")},
				{Path: dir + "reproduce.sh", Data: []byte("#!/bin/sh\n")},
			}
		}
		r.Results = append(r.Results, result)
	}
	Conclude(r)
	return r
}

// printedPages is how many sheets of paper a page takes.
func printedPages(ctx context.Context, t *testing.T) int {
	t.Helper()
	pdf, err := chromedp.Run(ctx, chromedp.PrintToPDF())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(pdf), "%PDF-") {
		t.Fatalf("printed, it begins with %.20q", pdf)
	}
	return len(regexp.MustCompile(`/Type /Page\b`).FindAll(pdf, -1))
}

const height = "document.documentElement.scrollHeight"

// TestPageIsShort has what passed be folded, on the screen and on paper.
func TestPageIsShort(t *testing.T) {
	r := whole(0)
	ctx := visit(t, pageOf(t, r))
	do(ctx, t, chromedp.EmulateViewport(1280, 800))
	if got := evaluated[int](ctx, t, height); got > 6000 {
		t.Errorf("a page on %d requirements that passed is %d pixels high", len(r.Results), got)
	}
	if got := printedPages(ctx, t); got < 1 || got > 6 {
		t.Errorf("printed, it has %d pages", got)
	}
	if got := evaluated[string](ctx, t, `document.querySelector(".about").innerText`); got != "crdconform v0.1.0, 2026-11-21 09:31 UTC, widgets.example.com on Kubernetes v1.37.2 (embedded)" {
		t.Errorf("below the verdict it says %q", got)
	}
	// In the chapters there is one number for each address of a requirement's sources.
	var want, got []string
	for _, result := range r.Results {
		addresses := map[string]bool{}
		for _, source := range result.Source {
			addresses[source.URL()] = true
		}
		delete(addresses, "")
		for _, address := range slices.Sorted(maps.Keys(addresses)) {
			want = append(want, string(result.ID)+" "+address)
		}
	}
	got = evaluated[[]string](ctx, t, `[...document.querySelectorAll(".chapter tr[id]")].flatMap(row => [...row.querySelectorAll("a")].map(a => row.id + " " + document.getElementById(a.hash.slice(1)).querySelector("a[href^='https://'][rel=noreferrer]").href))`)
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) || len(want) < len(r.Results)/2 {
		t.Errorf("the sources of the requirements are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	do(ctx, t, chromedp.Click(chromedp.CSS("[data-fold=open]")))
	if got := evaluated[[]string](ctx, t, unfolded); len(got) != len(r.Results) || evaluated[int](ctx, t, height) < 40*len(r.Results) {
		t.Errorf("with all folds open there are %d of %d requirements", len(got), len(r.Results))
	}
	do(ctx, t, chromedp.Click(chromedp.CSS("[data-fold='']")))
	if got := evaluated[[]string](ctx, t, unfolded); len(got) > 0 {
		t.Errorf("with all folds closed there are %q", got)
	}
}

// TestLinksOfAFailure has the chapters of a run that fails show the sources of each requirement, and link to them and to the issues that
// notes name.
func TestLinksOfAFailure(t *testing.T) {
	r := whole(1)
	ctx := visit(t, pageOf(t, r))
	links := 0
	for _, result := range r.Results {
		for _, source := range result.Source {
			if source.URL() != "" && result.Verdict == requirement.Passed {
				links++
			}
		}
	}
	if got := evaluated[int](ctx, t, `document.querySelectorAll(".chapter .parts a[href^='https://'][rel=noreferrer]").length`); got < links || links == 0 {
		t.Errorf("%d places have a link, want %d or more", got, links)
	}
	if got := evaluated[string](ctx, t, `[...document.querySelectorAll("[id='webhook.request.partial-objects'] a")].map(e => e.href).filter(e => e.includes("issues")).join()`); got != "https://github.com/kubernetes/kubernetes/issues/117356" {
		t.Errorf("the issue that a note names is at %q", got)
	}
}

// TestPrintedFailures has paper show the verdict, the bar and each failure, also those that are folded on the screen.
func TestPrintedFailures(t *testing.T) {
	r := whole(7)
	ctx := visit(t, pageOf(t, r))
	do(ctx, t, emulated("print", "light"))
	if got := printedPages(ctx, t); got < 2 || got > 5 {
		t.Errorf("7 failures take %d pages", got)
	}
	if got := evaluated[[]string](ctx, t, `[...document.querySelectorAll(".problem .mismatches")].filter(e => e.checkVisibility()).map(e => e.closest(".problem").id)`); len(got) != 7 {
		t.Errorf("on paper there are the failures %q", got)
	}
	if got := evaluated[[]string](ctx, t, unfolded); len(got) > 0 {
		t.Errorf("on paper there is what passed: %q", got)
	}
	// Browsers leave out what is in the background, unless the page says that it matters.
	if got := evaluated[string](ctx, t, `[...new Set([...document.querySelectorAll(".bar span")].map(e => getComputedStyle(e).printColorAdjust + (e.getBoundingClientRect().height > 3)))].join()`); got != "exacttrue" {
		t.Errorf("the bar on paper is %s", got)
	}
	if top := evaluated[float64](ctx, t, `document.querySelector("h1").getBoundingClientRect().bottom`); top > 100 {
		t.Errorf("the verdict ends %.0f pixels below the top", top)
	}
	// What matters about a failure comes after it.
	if got := evaluated[string](ctx, t, `[...document.querySelector(".problem dl.parts").querySelectorAll(":scope > dt")].slice(0, 3).map(e => e.innerText).join()`); got != "expected and actual,smallest object,why it matters" {
		t.Errorf("a failure begins with %s", got)
	}
	if got := evaluated[string](ctx, t, `[...document.querySelectorAll(".problem .mismatches tbody tr")][0].innerText.split(/\s*[\t\n]\s*/).join("|")`); got != `spec.args|v1 -> v1alpha1 -> v1|also v1 -> v1beta1 -> v1; v1alpha1 -> v1 -> v1alpha1|[""]|nothing` {
		t.Errorf("the first difference is %s", got)
	}
}

// TestPageColors has only what failed be red: not what could not be judged, and not what was never run since somebody stopped it.
func TestPageColors(t *testing.T) {
	r := sample(t)
	for i := range r.Results[:5] {
		r.Results[i].Verdict = requirement.Unknown
	}
	r.Interrupted = true
	Conclude(r)
	ctx := visit(t, pageOf(t, r))
	for _, scheme := range []string{"light", "dark"} {
		do(ctx, t, emulated("screen", scheme))
		colors := evaluated[map[string][]string](ctx, t, `(() => {
			const probe = document.createElement("i"); probe.style.color = "var(--bad)"; document.body.append(probe);
			const red = getComputedStyle(probe).color, found = {red: [], other: []}; probe.remove();
			for (const e of document.querySelectorAll("h1, .bar span, .legend span, .tally span, .verdict, .problem")) {
				const style = getComputedStyle(e), name = e.matches(".problem") ? e.dataset.verdict : e.className.replace("verdict ", "");
				const mine = e.matches("h1, .problem") ? style.borderLeftColor : style.color;
				const list = mine === red ? found.red : found.other;
				if (!list.includes(name)) list.push(name);
			}
			return {red: found.red.sort(), other: found.other.sort()};
		})()`)
		if want := []string{"failed"}; !slices.Equal(colors["red"], want) {
			t.Errorf("%s: %q are red, want %q", scheme, colors["red"], want)
		}
		if want := []string{"errored", "interrupted", "notapplicable", "passed", "tolerated", "unknown"}; !slices.Equal(colors["other"], want) {
			t.Errorf("%s: %q are not red, want %q", scheme, colors["other"], want)
		}
	}
}

// TestPageAddress has an address lead to a requirement in its folds, and keep what somebody looks for.
func TestPageAddress(t *testing.T) {
	r := whole(7)
	name := pageOf(t, r)
	ctx := visit(t, name)
	failed, passed := string(problems(r)[6].ID), string(r.Results[len(r.Results)-1].ID)
	for _, link := range [][2]string{{failed, "problem-" + failed}, {"problem-" + failed, "problem-" + failed}, {r.Results[0].ID.Area(), string(r.Results[0].ID)}, {passed, passed}} {
		to, seen := link[0], link[1]
		do(ctx, t, chromedp.Click(chromedp.CSS("[data-fold='']")))
		evaluated[string](ctx, t, `location.hash = "#`+to+`"`)
		until(ctx, t, `document.getElementById("`+seen+`").checkVisibility() && document.getElementById("`+seen+`").closest("details").open`)
	}
	if got := evaluated[bool](ctx, t, `document.querySelector("[id='`+passed+`'] .parts").checkVisibility()`); !got {
		t.Errorf("%s is shown with its particulars folded", passed)
	}
	// Each requirement shows its address.
	if got, want := evaluated[int](ctx, t, `[...document.querySelectorAll(".results tr[id], .problem")].filter(e => decodeURIComponent(e.querySelector("a.here").hash) === "#" + e.id).length`), len(r.Results)+7; got != want {
		t.Errorf("%d of %d requirements have an address", got, want)
	}
	// What somebody looks for is there again when the page is.
	do(ctx, t, append(typed("version & none"), chromedp.SendKeys(chromedp.CSS("#level"), "MUST"), chromedp.Click(chromedp.CSS("[name=verdict][value=failed]")))...)
	until(ctx, t, `/\?q=version\+%26\+none&level=MUST&hide=failed$/.test(location.hash)`)
	want := evaluated[string](ctx, t, `document.getElementById("shown").value`)
	evaluated[bool](ctx, t, "window.before = true")
	do(ctx, t, chromedp.Reload())
	until(ctx, t, `!window.before && document.readyState === "complete"`)
	if got := evaluated[string](ctx, t, `document.getElementById("search").value + "|" + document.getElementById("level").value + "|" + document.querySelector("[value=failed]").checked + "|" + document.getElementById("shown").value`); got != "version & none|MUST|false|"+want {
		t.Errorf("read again it has %q, want what was looked for, and %q", got, want)
	}
	do(ctx, t, chromedp.Click(chromedp.CSS("[type=reset]")))
	until(ctx, t, `!location.hash.includes("?")`)
	several := visit(t, pageOf(t, sample(t)))
	evaluated[string](several, t, `document.getElementById("problem-conversion.trip.back@widgets.example.com").open = false; location.hash = "#conversion.trip.back"`)
	until(several, t, `document.getElementById("problem-conversion.trip.back@widgets.example.com").open`)
	evaluated[string](several, t, `location.hash = "#?only=widgets.example.com"`)
	until(several, t, rows+`.length === 2 && document.getElementById("only1").checked`)
}

// TestPageCopies has commands be copied from a page in a file, or at least be selected.
func TestPageCopies(t *testing.T) {
	r := whole(1)
	ctx := visit(t, pageOf(t, r))
	failed := problems(r)[0]
	evaluated[chromedp.Void](ctx, t, `addEventListener("copy", () => { window.copied = getSelection().toString(); })`)
	for i, want := range []string{failed.Curl, failed.Rerun} {
		button := fmt.Sprintf(`document.querySelectorAll(".problem .copy")[%d]`, i)
		evaluated[chromedp.Void](ctx, t, button+`.id = "pressed"`)
		do(ctx, t, chromedp.Click(chromedp.CSS("#pressed")))
		until(ctx, t, button+`.textContent === "copied"`)
		if got := evaluated[string](ctx, t, "window.copied"); got != want {
			t.Errorf("copied is %q, want %q", got, want)
		}
		evaluated[chromedp.Void](ctx, t, button+`.id = ""`)
	}
	evaluated[chromedp.Void](ctx, t, `document.execCommand = () => false; Object.defineProperty(navigator, "clipboard", { value: undefined }); getSelection().removeAllRanges();
		document.querySelector(".problem .copy").click()`)
	until(ctx, t, `document.querySelector(".problem .copy").textContent === "selected: press Ctrl+C"`)
	if got := evaluated[string](ctx, t, "getSelection().toString()"); got != failed.Curl {
		t.Errorf("where nothing can be copied, %q is selected, want %q", got, failed.Curl)
	}
}

// TestPageOrder has what a reader looks for first come first, and no warning above a run that passes.
func TestPageOrder(t *testing.T) {
	t.Parallel()
	r := sample(t)
	page := string(written(t, r, HTML))
	at := -1
	for _, part := range []string{"<h1", "<h2>Causes", "<h2>Problems", `class="notes"`, "<dt>took", "how it was run", `id="filter"`, "<h2>Chapters"} {
		next := strings.Index(page, part)
		if next < at {
			t.Errorf("%s is at %d, before what is to come first, at %d", part, next, at)
		}
		at = next
	}
	passing := &reports.Report{Notes: []string{"a note"}, Results: []reports.Result{{Requirement: requirement.All()[0], Verdict: requirement.Passed}}}
	Conclude(passing)
	if page = string(written(t, passing, HTML)); strings.Contains(page, `class="notes"`) || !strings.Contains(page, "<li>a note</li>") {
		t.Error("a run that passes begins with a warning, or its note is missing")
	}
}
