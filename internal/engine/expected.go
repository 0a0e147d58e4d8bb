package engine

import (
	"strings"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/manifest"
)

// readExpected reads what objects are to become at other versions, and assigns it to the kinds.
func (p *Plan) readExpected() error {
	files, err := p.want.ExpectedFiles()
	if err != nil || len(files) == 0 {
		return err
	}
	objects := map[string][]manifest.Object{}
	for _, file := range files {
		data, err := manifest.Read(file)
		if err != nil {
			return p.want.At("expected", "%w", err)
		}
		if objects[file], err = manifest.Objects(file, data); err != nil {
			return p.want.At("expected", "%w", err)
		}
	}
	all, err := corpus.Expectations(objects)
	if err != nil {
		return p.want.At("expected", "%w", err)
	}
	for _, e := range all {
		if err := p.expect(e); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) expect(e corpus.Expectation) error {
	var known []string
	for i := range p.kinds {
		kind := &p.kinds[i]
		if kind.Group == e.GroupKind().Group && kind.Kind == e.GroupKind().Kind {
			if err := kind.Expect(e); err != nil {
				return p.want.At("expected", "%w", err)
			}
			return nil
		}
		known = append(known, kind.Kind+"."+kind.Group)
	}
	return p.want.At("expected", "%s: no definition of the kind %s is checked, only of %s", e.Input.From, e.GroupKind(), strings.Join(known, ", "))
}
