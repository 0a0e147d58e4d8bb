package engine

import (
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/options"
)

// readExpected reads what objects are to become at other versions, and assigns it to the kinds.
func (p *Plan) readExpected() error {
	files, err := p.expectedFiles()
	if err != nil {
		return err
	}
	objects := map[string][]manifest.Object{}
	for _, file := range files {
		var data []byte
		if data, err = manifest.Read(file); err == nil {
			objects[file], err = manifest.Objects(file, data)
		}
		if err != nil {
			return p.want.At("expected", "%w", err)
		}
	}
	all, err := corpus.Expectations(objects)
	if err != nil {
		return p.want.At("expected", "%w", err)
	}
	for _, e := range all {
		if err = p.expect(e); err != nil {
			return err
		}
	}
	return nil
}

// expectedFiles returns the files that say it. A folder stands for its subfolders too.
func (p *Plan) expectedFiles() ([]string, error) {
	var all []string
	for i, name := range p.want.Expected {
		name = p.want.Path(name)
		found, err := manifest.Below(name, manifest.IsFile)
		if err != nil || len(found) == 0 { // a file, a pattern, or nothing
			found, err = manifest.Files(name)
		}
		if err != nil {
			return nil, p.want.At(options.Item("expected", i), "%w", err)
		}
		all = append(all, found...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func (p *Plan) expect(e corpus.Expectation) error {
	var known []string
	for i := range p.kinds {
		kind := &p.kinds[i]
		if kind.Group == e.GroupKind().Group && kind.Kind == e.GroupKind().Kind {
			with, err := kind.Expect(e)
			if err != nil {
				return p.want.At("expected", "%w", err)
			}
			*kind = with
			return nil
		}
		known = append(known, kind.Kind+"."+kind.Group)
	}
	return p.want.At("expected", "%s: no definition of the kind %s is checked, only of %s", e.Input.From, e.GroupKind(), strings.Join(known, ", "))
}
