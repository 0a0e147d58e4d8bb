package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// readEarlier reads the definitions of earlier releases, and assigns them to the kinds.
func (p *Plan) readEarlier() error {
	var errs []error
	for i, name := range p.want.Old {
		key := options.Item("old", i)
		if strings.HasPrefix(name, contextScheme) {
			p.notes = append(p.notes, name+" was left out: only \"crdconform rehearse\" reads definitions from a cluster")
			continue
		}
		read, err := dump.Definitions(context.Background(), p.want.Path(name), nil)
		if err != nil {
			errs = append(errs, p.want.At(key, "%w", err))
			continue
		}
		others, used := 0, 0
		var unusable []string
		for j := range read {
			switch known, err := p.addEarlier(name, read[j].DeepCopy()); {
			case err != nil:
				unusable = append(unusable, err.Error())
			case known:
				used++
			default:
				others++
			}
		}
		switch {
		case used == 0 && len(unusable) == 0:
			errs = append(errs, p.want.At(key, "no definition in %s is one of those that are checked (%s)", name, strings.Join(p.Definitions(), ", ")))
		case used == 0:
			errs = append(errs, p.want.At(key, "%s: %s", name, strings.Join(unusable, "; ")))
		case others > 0:
			p.notes = append(p.notes, fmt.Sprintf("definitions in %s that are not checked were left out: %d", name, others))
		}
		if used > 0 {
			p.notes = append(p.notes, unusable...)
		}
	}
	p.noteGone()
	return errors.Join(errs...)
}

// addEarlier adds an earlier definition to its kind. It is false if that is not checked.
func (p *Plan) addEarlier(source string, crd *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	name := cmp.Or(crd.Name, crd.Spec.Names.Plural+"."+crd.Spec.Group)
	at := slices.IndexFunc(p.kinds, func(kind corpus.Corpus) bool { return nameOf(kind) == name })
	if at < 0 {
		return false, nil
	}
	kind := &p.kinds[at]
	if crd.Spec.Names.Kind != kind.Kind {
		return true, fmt.Errorf("%s in %s was left out: it was of kind %s then, and is of kind %s now", name, source, crd.Spec.Names.Kind, kind.Kind)
	}
	definition, err := corpus.NewDefinition(crd)
	if err != nil {
		return true, fmt.Errorf("%s was left out: %w", source, err)
	}
	kind.Earlier = append(kind.Earlier, definition)
	return true, nil
}

// noteGone names the versions that only earlier definitions have.
func (p *Plan) noteGone() {
	for _, kind := range p.kinds {
		var gone []string
		for _, definition := range kind.Earlier {
			for _, version := range definition.CRD.Spec.Versions {
				if !slices.ContainsFunc(kind.Definition.CRD.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version.Name }) && !slices.Contains(gone, version.Name) {
					gone = append(gone, version.Name)
				}
			}
		}
		if len(gone) > 0 {
			p.notes = append(p.notes, fmt.Sprintf("%s: only earlier definitions have %s; API servers cannot decode objects that are stored there; \"crdconform storage safe-to-drop\" looks for such objects", nameOf(kind), strings.Join(gone, ", ")))
		}
	}
}

// noteStale says in the report how many objects of earlier releases were tried, and which differences were not.
func (s *session) noteStale(kind reports.Kind, objects int, missed []string) {
	const most = 3
	if kind.Definition == "" || objects+len(missed) == 0 {
		return
	}
	note := fmt.Sprintf("%s: %s tried that earlier definitions allow and the current one would refuse, change or default differently", kind.Definition, visible.Count(objects, "object was", "objects were"))
	if len(missed) > 0 {
		note += fmt.Sprintf("; %s not judged: %s", visible.Count(len(missed), "difference was", "differences were"), strings.Join(visible.Few(missed, most, ", in the log of "+string(requirement.WebhookFailureEarlierSchemas)), "; "))
	}
	s.note(note)
}
