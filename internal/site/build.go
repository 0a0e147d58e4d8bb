// Package site makes the documentation a site of static pages: the guides, and a page for each requirement. It loads nothing.
package site

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/crdconform/crdconform/internal/explanation"
)

//go:embed page.html
var pageTemplate string

// page is what a page is made of.
type page struct {
	Title string
	Root  string // of the site, relative to the page
	Here  string // the target in the menu that the page is, or belongs to
	Body  template.HTML
	Menu  []link
}

type link struct{ Text, Target string }

// Build returns the files of the site by their paths. The documents are README.md, CHANGELOG.md and docs/*.md; other files they refer to
// are links to the repository. It fails for a link to a document or a heading that does not exist.
func Build(documents fs.FS, explanations []explanation.Explanation) (map[string][]byte, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(documents, "docs/*.md")
	if err != nil {
		return nil, err
	}
	names = ordered(names)
	b := &builder{template: t, files: map[string][]byte{}, anchors: map[string][]string{}}
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
	type document struct{ name, body string }
	var all []document
	for _, name := range names {
		if name == "docs/requirements.md" {
			continue // the pages of the requirements take its place
		}
		text, err := fs.ReadFile(documents, name)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		if err := markdown.Convert(text, &body); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		title := strings.TrimSpace(strings.TrimPrefix(strings.SplitN(string(text), "\n", 2)[0], "#"))
		b.menu = append(b.menu, link{strings.ReplaceAll(title, "`", ""), target(name)})
		b.anchors[target(name)] = anchorsOf(body.String())
		all = append(all, document{name, body.String()})
	}
	b.requirements(explanations)
	for i, d := range all {
		if err := b.put(target(d.name), b.menu[i].Text, b.linked(d.name, d.body, explanations)); err != nil {
			return nil, err
		}
	}
	for _, problem := range b.problems {
		return nil, fmt.Errorf("%s", problem)
	}
	return b.files, nil
}

// Page makes a page that does not belong to the documents, and links nothing but the root of the site, which is relative to it.
func Page(title, root string, markdown []byte) ([]byte, error) {
	t, err := template.New("page").Parse(pageTemplate)
	if err != nil {
		return nil, err
	}
	var body, out bytes.Buffer
	if err = goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(markdown, &body); err != nil {
		return nil, err
	}
	err = t.Execute(&out, page{title, root, "", template.HTML(body.String()), []link{{"crdconform", "index.html"}}}) //nolint:gosec // goldmark escapes what is written in documents
	return out.Bytes(), err
}

// ordered puts documents into the order of the menu: what a newcomer reads first, then the others by name, and at the end what is for
// contributors.
func ordered(docs []string) []string {
	first, last := []string{"README.md"}, []string{"docs/decisions.md", "docs/sentences.md", "docs/upstream.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for name := range strings.FieldsSeq("guide-webhook-author guide-platform-team guide-distributor install check configuration load reports") {
		first = append(first, "docs/"+name+".md")
	}
	of := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasPrefix(name, "docs/") && !slices.Contains(docs, name) })
	}
	rest := slices.DeleteFunc(slices.Clone(docs), func(name string) bool { return slices.Contains(first, name) || slices.Contains(last, name) })
	return slices.Concat(of(first), rest, of(last))
}

type builder struct {
	template *template.Template
	menu     []link
	files    map[string][]byte
	anchors  map[string][]string // of the pages
	problems []string
}

// target is the page of a document.
func target(name string) string {
	if name == "README.md" {
		return "index.html"
	}
	return strings.ToLower(strings.TrimSuffix(path.Base(name), ".md")) + ".html"
}

func (b *builder) put(name, title, body string) error {
	root := strings.Repeat("../", strings.Count(name, "/"))
	var out bytes.Buffer
	const all = "requirements/index.html"
	menu, here := append(slices.Clone(b.menu), link{"Requirements", all}), name
	if strings.HasPrefix(name, "requirements/") {
		here = all
	}
	if err := b.template.Execute(&out, page{title, root, here, template.HTML(body), menu}); err != nil { //nolint:gosec // goldmark escapes what is written in documents
		return err
	}
	b.files[name] = out.Bytes()
	return nil
}

var (
	heading  = regexp.MustCompile(`<h[1-6] id="([^"]+)"`)
	href     = regexp.MustCompile(`href="([^"]*)"`)
	codeOnly = regexp.MustCompile(`<code>([a-z0-9]+(?:\.[a-z0-9-]+){2})</code>`)
)

func anchorsOf(body string) []string {
	var all []string
	for _, found := range heading.FindAllStringSubmatch(body, -1) {
		all = append(all, found[1])
	}
	return all
}

// repository is where files are that the site does not have.
const repository = "https://github.com/crdconform/crdconform/blob/main/"

// linked leads the links of a document to the pages of the site, and names of requirements to theirs.
func (b *builder) linked(name, body string, explanations []explanation.Explanation) string {
	body = href.ReplaceAllStringFunc(body, func(attribute string) string {
		at := href.FindStringSubmatch(attribute)[1]
		if strings.Contains(at, "://") {
			return attribute
		}
		file, anchor, _ := strings.Cut(at, "#")
		to := name
		if file != "" {
			to = path.Join(path.Dir(name), file)
		}
		switch {
		case to == "docs/requirements.md":
			return `href="requirements/index.html"`
		case path.Ext(to) != ".md":
			return fmt.Sprintf(`href="%s%s"`, repository, to)
		}
		known, there := b.anchors[target(to)]
		if !there || anchor != "" && !slices.Contains(known, anchor) {
			b.problems = append(b.problems, fmt.Sprintf("%s has a link to %s, which does not exist", name, at))
		}
		if anchor != "" {
			anchor = "#" + anchor
		}
		return fmt.Sprintf(`href="%s%s"`, target(to), anchor)
	})
	return codeOnly.ReplaceAllStringFunc(body, func(code string) string {
		id := codeOnly.FindStringSubmatch(code)[1]
		if slices.ContainsFunc(explanations, func(e explanation.Explanation) bool { return string(e.ID) == id }) {
			return fmt.Sprintf(`<a href="requirements/%s.html">%s</a>`, id, code)
		}
		return code
	})
}

// requirements makes a page for each requirement, and one with all.
func (b *builder) requirements(explanations []explanation.Explanation) {
	var index strings.Builder
	area := ""
	for _, e := range explanations {
		if e.ID.Area() != area {
			if area != "" {
				index.WriteString("</table>\n")
			}
			area = e.ID.Area()
			fmt.Fprintf(&index, "<h2 id=\"%s\">%[1]s</h2>\n<table>\n", area)
		}
		fmt.Fprintf(&index, "<tr><td><a href=\"%s.html\"><code>%[1]s</code></a></td><td>%s</td><td>%s</td></tr>\n", e.ID, e.Level, template.HTMLEscapeString(e.Statement))
		if err := b.put("requirements/"+string(e.ID)+".html", string(e.ID), e.HTML()); err != nil {
			b.problems = append(b.problems, err.Error())
		}
	}
	if err := b.put("requirements/index.html", "Requirements", "<h1>Requirements</h1>\n"+index.String()+"</table>\n"); err != nil {
		b.problems = append(b.problems, err.Error())
	}
}
