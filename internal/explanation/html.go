package explanation

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// HTML is what a page about the requirement has: elements without the page around them. All texts are escaped.
func (e Explanation) HTML() string {
	var b strings.Builder
	section := func(title string, texts ...string) {
		texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
		if len(texts) > 0 {
			fmt.Fprintf(&b, "<h2>%s</h2>\n<p>%s</p>\n", title, strings.Join(texts, "<br>\n"))
		}
	}
	text := template.HTMLEscapeString
	fmt.Fprintf(&b, "<h1><code>%s</code></h1>\n<p class=\"statement\">%s</p>\n<p>%s, binds the %s; holds for %s</p>\n",
		text(string(e.ID)), text(e.Statement), text(string(e.Level)), text(string(e.Binds)), text(Holds(e.Requirement)))
	section("Why", text(e.Why))
	var sources []string
	for _, s := range e.Source {
		sources = append(sources, source(s))
	}
	section("Source", sources...)
	section("Note", text(e.Note))
	if e.Severity == requirement.Tolerated {
		section("Tolerated", text(e.Because))
	}
	var parts []string
	for _, part := range e.Parts {
		parts = append(parts, fmt.Sprintf("<code>%s</code> is %s: %s", text(string(part.Name)), part.Severity, text(part.Because)))
	}
	section("What is judged otherwise", parts...)
	checked := []string{text(e.Untested)}
	if e.Command != "" {
		checked = append(checked, "<code>crdconform "+text(e.Command)+"</code>")
	}
	for _, spec := range e.Specs {
		checked = append(checked, text(spec.Name)+" <small>"+text(spec.Summary)+"</small>")
	}
	for _, rule := range e.Rules {
		checked = append(checked, "lint: <code>"+text(rule.Name)+"</code>: "+text(rule.Summary))
	}
	section("How it is checked", checked...)
	var faults []string
	for _, f := range e.Faults {
		faults = append(faults, text(f.Summary)+" <small>(<code>crdconform serve --fault "+text(f.Name)+"</code>)</small>")
	}
	section("What a failure looks like", faults...)
	section("What to do", text(e.Remedy))
	if e.Run != "" {
		section("Check it alone", "<code>"+text(e.Run)+"</code>")
	}
	return b.String()
}

// source is a place in the documents, with a link to today's edition.
func source(s requirement.Source) string {
	text, url := template.HTMLEscapeString(s.String()), s.URL()
	if url == "" {
		return text
	}
	i := slices.IndexFunc(requirement.Documents(), func(d requirement.Document) bool { return d.ID == s.Document })
	return fmt.Sprintf(`<a href="%s" rel="noreferrer">%s</a>, %s`, url, text, template.HTMLEscapeString(requirement.Documents()[i].Title))
}
