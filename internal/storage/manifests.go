package storage

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// Manifests are objects in files of the user's, as far as they matter here: who names which version.
type Manifests struct {
	named    []named
	unparsed []manifest.Document // templates, and what is neither YAML nor JSON
}

// named is an object in a manifest.
type named struct {
	apiVersion, kind, namespace, name string
	from                              string // FILE:LINE
}

// ReadManifests reads files of YAML and JSON, and those of folders at any depth; folders whose names begin with a dot are left out. The
// files that a kustomization lists are read as they are. It fails if there is no file, or if one cannot be read.
func ReadManifests(paths []string) (*Manifests, error) {
	all := &Manifests{}
	for _, path := range paths {
		below := []string{path}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			below, err = manifest.Below(path, manifest.IsFile)
		}
		if err == nil && len(below) == 0 {
			err = fmt.Errorf("there is no .yaml, .yml or .json file in %s", path)
		}
		if err != nil {
			return nil, fmt.Errorf("the manifests: %w", err)
		}
		for _, name := range below {
			data, err := files.Read(name, files.Objects)
			if err != nil {
				return nil, fmt.Errorf("the manifests: %w", err)
			}
			all.read(name, data)
		}
	}
	return all, nil
}

// read adds what a file has.
func (m *Manifests) read(file string, data []byte) {
	for _, document := range manifest.Documents(file, data) {
		text, err := document.JSON()
		if err != nil {
			m.unparsed = append(m.unparsed, document)
			continue
		}
		object := gjson.ParseBytes(text)
		m.named = append(m.named, namedIn(object, document.String()))
		for n, item := range object.Get("items").Array() {
			m.named = append(m.named, namedIn(item, fmt.Sprintf("%s, item %d", document, n+1)))
		}
	}
}

func namedIn(object gjson.Result, from string) named {
	return named{object.Get("apiVersion").String(), object.Get("kind").String(), object.Get("metadata.namespace").String(), object.Get("metadata.name").String(), from}
}

// of returns the objects of a definition, by version, and what may have some but cannot be read. Lines of a template that name a version
// count as well.
func (m *Manifests) of(d *Definition) (found map[string][]named, gaps []Gap) {
	found = map[string][]named{}
	for _, n := range m.named {
		if version, is := versionOf(n.apiVersion, d.Group); is && n.kind == d.Kind {
			found[version] = append(found[version], n)
		}
	}
	kind := regexp.MustCompile(`(?m)^\s*["']?kind["']?:\s*["']?` + regexp.QuoteMeta(d.Kind) + `["',]*\s*$`)
	apiVersion := regexp.MustCompile(`(?m)^\s*["']?apiVersion["']?:\s*["']?` + regexp.QuoteMeta(d.Group) + `/(\w+)`)
	for _, document := range m.unparsed {
		if !kind.Match(document.Text) {
			continue
		}
		match := apiVersion.FindSubmatch(document.Text)
		if match == nil {
			gaps = append(gaps, Gap{What: document.String(), Why: "it has a " + d.Kind + " and cannot be parsed, and no line says at which version it is"})
			continue
		}
		version := string(match[1])
		found[version] = append(found[version], named{kind: d.Kind, from: document.String()})
	}
	return found, gaps
}

// manifests enters which versions the user's manifests name.
func (i *inspector) manifests() error {
	if i.options.Manifests == nil {
		return nil
	}
	if err := i.book.mark(); err != nil {
		return err
	}
	for _, d := range i.inventory.Definitions {
		found, gaps := i.options.Manifests.of(d)
		d.Manifests, d.ManifestGaps = new(int64), gaps
		for version, objects := range found {
			*d.Manifests += int64(len(objects))
			for _, n := range objects {
				if err := i.book.enter(place{d, version}, Manifest, n.blocker(Manifest, d, n.from)); err != nil {
					return err
				}
			}
		}
	}
	i.book.keep()
	return nil
}

func (n named) blocker(kind Kind, d *Definition, by string) func() Blocker {
	return func() Blocker {
		return Blocker{Kind: kind, Resource: d.Resource(), Namespace: n.namespace, Name: n.name, By: by}
	}
}

// manifests is about everything that is applied or upgraded once more and names the version.
func (j judgement) manifests() []Condition {
	d, v := j.definition, j.version
	to := d.successor(v.Name)
	all := []Condition{
		{
			Kind: LastApplied, Count: v.LastApplied,
			Text: fmt.Sprintf("%s last applied at %s by kubectl, which finds in that what a manifest no longer has: a field that %s names otherwise stays when it is removed from the manifest.",
				visible.Count(v.LastApplied, "object was", "objects were"), v.Name, to),
			Mend: fmt.Sprintf("rewrite their manifests to %s without removing anything, and use the command shown for each before they change", to),
		},
		{
			Kind: HelmRelease, Count: v.HelmReleases,
			Text: fmt.Sprintf("%s %s: without it, the next upgrade fails, since Helm looks for the objects of the release that it replaces.",
				visible.Count(v.HelmReleases, "object of a deployed Helm release names", "objects of deployed Helm releases name"), v.Name),
			Mend: fmt.Sprintf("upgrade these releases to charts that name %s, while %s is still served", to, v.Name),
		},
		{
			Kind: Manifest, Count: v.Manifests,
			Text: fmt.Sprintf("%s %s, and cannot be applied without it.", visible.Count(v.Manifests, "manifest names", "manifests name"), v.Name),
			Mend: fmt.Sprintf("rewrite these manifests to %s; \"crdconform convert\" shows what becomes of them", to),
		},
	}
	var blocked []Condition
	for _, c := range all {
		if c.Count > 0 {
			c.Requirement, c.Answer, c.First = requirement.StorageDropManifests, NotSafe, v.First[c.Kind]
			blocked = append(blocked, c)
		}
	}
	if len(blocked) > 0 {
		return blocked
	}
	c := Condition{Requirement: requirement.StorageDropManifests, Answer: Safe, Text: fmt.Sprintf("No annotation of kubectl and no release of Helm names %s; manifests elsewhere were not looked at.", v.Name)}
	if d.Manifests != nil {
		c.Text = fmt.Sprintf("No annotation of kubectl, no release of Helm and none of %s names %s.", visible.Count(*d.Manifests, "manifest", "manifests"), v.Name)
	}
	if left := j.inventory.Skipped; len(left) > 0 {
		c.Text += " Not looked at, as you asked: " + strings.Join(left, ", ") + "."
	}
	if gaps := slices.Concat(d.Gaps, d.ManifestGaps, j.inventory.HelmGaps); len(gaps) > 0 {
		c.Answer, c.Gaps, c.Text = CannotTell, gaps, fmt.Sprintf("Not everything could be read that may name %s.", v.Name)
	}
	return []Condition{c}
}
