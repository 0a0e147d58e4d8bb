package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/version"
)

var (
	//go:embed knative.go.tmpl
	knativeMain string

	//go:embed handler.go.tmpl
	handlerMain string
)

// style is how an operator serves its conversions, if not with controller-runtime.
type style struct {
	Style     string   `json:"style,omitempty"`     // knative, handler, or program
	Kind      string   `json:"kind,omitempty"`      // knative: with its group, such as Task.tekton.dev
	Hub       string   `json:"hub,omitempty"`       // knative: the version
	Context   string   `json:"context,omitempty"`   // knative: what the project makes of the context ctx
	Handle    string   `json:"handle,omitempty"`    // handler: the http.Handler
	Arguments []string `json:"arguments,omitempty"` // program: they make it listen on {port}, with {certs}
	Template  bool     `json:"template,omitempty"`  // the file of definitions is a template of a chart
}

// mains are the sources of webhooks, by style.
func mains() map[string]string {
	return map[string]string{"": operatorMain, "knative": knativeMain, "handler": handlerMain, "program": ""}
}

// source is the webhook of a subject, for a version of controller-runtime; an operator that is a program of its own needs none.
func (s subject) source(runtime string) ([]byte, error) {
	t, err := template.New("webhook").Funcs(template.FuncMap{"version": path.Base, "name": name, "isVersion": isVersion}).Parse(mains()[s.Style])
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	err = t.Execute(&b, struct {
		subject

		Handler string
	}{s, handler(runtime)})
	return []byte(b.String()), err
}

// handler is what makes the handler of a version of controller-runtime.
func handler(runtime string) string {
	v, err := version.ParseSemantic(runtime)
	switch {
	case err == nil && v.LessThan(version.MustParseSemantic("v0.15.0")):
		return "injected(scheme)"
	case err == nil && v.LessThan(version.MustParseSemantic("v0.23.0")):
		return "conversion.NewWebhookHandler(scheme)"
	}
	return "conversion.NewWebhookHandler(scheme, conversion.NewRegistry())"
}

// controllerRuntime is the version that a module in a folder is built with; empty if it is built without.
func controllerRuntime(ctx context.Context, dir string) string {
	c := inFolder(ctx, dir, "go", "list", "-m", "-f", "{{.Version}}", "sigs.k8s.io/controller-runtime")
	c.Stdout = nil
	out, err := c.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// builds are the commands that make the program webhook of a subject, and how to start it.
func (s subject) builds() (commands [][]string, start []string) {
	what, get := ".", "."
	start = []string{"./webhook", "--port={port}", "--certs={certs}"}
	if s.Style == "program" {
		what = s.Module + "/" + s.Packages[0]
		get, start = what+"@"+s.Version, append(start[:1], s.Arguments...)
	}
	return [][]string{{"go", "get", get}, {"go", "build", "-o", "webhook", what}}, start
}

// rendered leaves out the lines that a chart fills in: they are labels, and where the webhook is.
func (s style) rendered(definitions []byte) []byte {
	if !s.Template {
		return definitions
	}
	return regexp.MustCompile(`(?m)^.*\{\{.*\}\}.*\n`).ReplaceAll(definitions, nil)
}

// module is where a module is.
type module struct {
	Dir   string `json:"Dir"`
	GoMod string `json:"GoMod"`
}

func download(ctx context.Context, name string) (m module, err error) {
	out, err := exec.CommandContext(ctx, "go", "mod", "download", "-json", name).Output() //nolint:gosec // they are ours
	if err != nil {
		return m, fmt.Errorf("%w: %s", err, out)
	}
	return m, json.Unmarshal(out, &m)
}

// goMod is what a go.mod replaces.
type goMod struct {
	Replace []replacement `json:"Replace"`
}

type replacement struct {
	Old moduleVersion `json:"Old"`
	New moduleVersion `json:"New"`
}

type moduleVersion struct {
	Path    string `json:"Path"`
	Version string `json:"Version"`
}

// modfile is the go.mod for a webhook: what the module replaces by other versions is replaced here too, as it is built so by the project.
func (s subject) modfile(ctx context.Context, m module) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "module scoreboard/%s\n\ngo 1.26.0\n\nrequire %s %s\n", s.Name, s.Module, s.Version)
	for _, other := range s.Requires {
		fmt.Fprintf(&b, "require %s\n", strings.Replace(other, "@", " ", 1))
	}
	out, err := exec.CommandContext(ctx, "go", "mod", "edit", "-json", m.GoMod).Output() //nolint:gosec // it is in the module cache
	if err != nil {
		return "", err
	}
	var file goMod
	if err = json.Unmarshal(out, &file); err != nil {
		return "", err
	}
	for _, r := range file.Replace {
		if r.New.Version != "" {
			fmt.Fprintf(&b, "\nreplace %s %s => %s %s\n", r.Old.Path, r.Old.Version, r.New.Path, r.New.Version)
		}
	}
	return b.String(), nil
}

// name is that of a kind with a group.
func name(kind string) string {
	before, _, _ := strings.Cut(kind, ".")
	return before
}

// isVersion reports whether a package has the types of a version.
func isVersion(name string) bool {
	return regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`).MatchString(path.Base(name))
}
