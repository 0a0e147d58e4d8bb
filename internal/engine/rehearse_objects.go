package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/rehearsal"
	"github.com/crdconform/crdconform/internal/visible"
)

// readObjects reads the objects that the cluster has before the upgrade, or generates them.
func (p *RehearsalPlan) readObjects(ctx context.Context) error {
	oldest := p.releases[0]
	var err error
	if p.objects, err = rehearsal.NewObjects(p.dir, oldest.Definitions); err != nil {
		return err
	}
	mask, err := p.masking()
	if err != nil {
		return err
	}
	r := p.want.Rehearse
	for i, name := range r.Objects {
		at := p.want.Path(name)
		if name == "-" {
			at = name
		}
		if err := p.collect(ctx, at, options.Item("rehearse.objects", i), mask.edit()); err != nil {
			return err
		}
	}
	if r.FromContext != "" {
		if err := p.collectFrom(ctx, r.FromContext, mask.edit()); err != nil {
			return err
		}
	}
	if len(r.Objects) == 0 && r.FromContext == "" {
		if err := p.generate(oldest); err != nil { //nolint:contextcheck // definitions are validated without waiting for anything
			return err
		}
	} else if err := mask.used(p); err != nil {
		return err
	}
	return p.objects.Complete()
}

// collect adds the objects of a file.
func (p *RehearsalPlan) collect(ctx context.Context, name, key string, edit func(*unstructured.Unstructured) error) error {
	summary, err := p.objects.Collect(ctx, name, dump.Options{Stdin: p.given.Stdin}, edit)
	if err != nil {
		return p.want.At(key, "%w", err)
	}
	if len(summary.Others) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s: objects of other definitions were left out: %s", name, summary.OtherKinds()))
	}
	if summary.CBOR > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s: %s CBOR in etcd, brought in as JSON", name, visible.Count(summary.CBOR, "object is", "objects are")))
	}
	return nil
}

// collectFrom adds the objects of a cluster, and what it says of its definitions.
func (p *RehearsalPlan) collectFrom(ctx context.Context, name string, edit func(*unstructured.Unstructured) error) error {
	client, err := p.connect(ctx, name)
	if err != nil {
		return err
	}
	oldest := p.releases[0]
	var there []apiextensionsv1.CustomResourceDefinition
	for _, d := range oldest.Definitions {
		live, missing, unread := dump.DefinitionIn(ctx, client, d.Name)
		if unread != nil {
			return unread
		}
		if missing {
			p.notes = append(p.notes, fmt.Sprintf("the cluster of the context %s has no definition %s", name, d.Name))
			continue
		}
		p.objects.Stored[d.Name] = live.Status.StoredVersions
		there = append(there, live.CustomResourceDefinition)
	}
	if len(there) == 0 {
		return fmt.Errorf("the cluster of the context %s has none of the old definitions %s", name, namesOf(oldest.Definitions))
	}
	_, err = dump.FromCluster(ctx, client, there, dump.Options{}, func(o dump.Object) error { return p.objects.Add(o, edit) })
	return err
}

// generate makes objects at each version that the oldest release serves, and those that only its schemas allow.
func (p *RehearsalPlan) generate(oldest rehearsal.Release) error {
	made, stale := 0, 0
	var failed []error
	for i := range oldest.Definitions {
		crd := &oldest.Definitions[i].CustomResourceDefinition
		d, err := corpus.NewDefinition(crd.DeepCopy())
		if err != nil {
			failed = append(failed, fmt.Errorf("no objects of %s could be generated: %w", crd.Name, err))
			continue
		}
		later, names := p.later(crd.Name), map[string]bool{}
		for _, version := range crd.Spec.Versions {
			if !version.Served || !version.Storage && oldest.Build == nil && hasWebhookIn(oldest.Definitions[i]) { // nothing converts it
				continue
			}
			objects := d.Generator(version.Name, p.Seed(), nil).Objects(corpus.Plain, p.want.Generate.Objects)
			for n, object := range objects {
				object.SetName(fmt.Sprintf("generated-%s-%d", version.Name, n))
			}
			earlier := p.stale(d, later, version.Name, names)
			if err := p.add(d, version.Name, slices.Concat(objects, earlier)); err != nil {
				return err
			}
			made, stale = made+len(objects), stale+len(earlier)
		}
	}
	if made+stale == 0 {
		return errors.Join(append(failed, errors.New("no objects were given, and none could be generated from the schemas of the old release; give some from a cluster"))...)
	}
	for _, err := range failed {
		p.notes = append(p.notes, err.Error())
	}
	text := fmt.Sprintf("no objects were given, so %d were generated from the schemas of %s", made, oldest.Name)
	if stale > 0 {
		text += fmt.Sprintf(", and %d that it allows and later schemas would refuse, change or default differently", stale)
	}
	p.notes = append(p.notes, text+"; those of a real cluster show more")
	return nil
}

// later returns what the releases after the oldest have of a definition, as far as it can be compiled.
func (p *RehearsalPlan) later(name string) []*corpus.Definition {
	var all []*corpus.Definition
	for _, release := range p.releases[1:] {
		for i := range release.Definitions {
			if crd := &release.Definitions[i].CustomResourceDefinition; crd.Name == name {
				if d, err := corpus.NewDefinition(crd.DeepCopy()); err == nil { // the rehearsal notes why not
					all = append(all, d)
				}
			}
		}
	}
	return all
}

// stale returns objects of a version that a definition allows and later ones do not, each as it is stored and named. Differences that no
// object was found for are noted. Names has those that are taken.
func (p *RehearsalPlan) stale(d *corpus.Definition, later []*corpus.Definition, version string, names map[string]bool) []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	known, missed := map[string]bool{}, 0
	for _, now := range later {
		if !slices.Contains(now.Versions(), version) {
			continue
		}
		found, gaps := now.Generator(version, p.Seed(), nil).Earlier(d)
		for _, s := range found {
			if s.Path != "metadata.name" {
				s.Stored.SetName(fmt.Sprintf("earlier-%s-%d", version, len(objects)))
			}
			if difference := s.String(); !known[difference] && !names[s.Stored.GetName()] {
				known[difference], names[s.Stored.GetName()] = true, true
				objects = append(objects, s.Stored)
			}
		}
		missed += len(gaps)
	}
	if missed > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%s: no object was found that shows %s between the schemas of %s", d.Name(), visible.Count(missed, "difference", ""), version))
	}
	return objects
}

// add adds objects of a version that were made.
func (p *RehearsalPlan) add(d *corpus.Definition, version string, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		object.SetGenerateName("")
		object.SetResourceVersion("")
		unstructured.RemoveNestedField(object.Object, "metadata", "uid")
		if d.CRD.Spec.Scope == apiextensionsv1.NamespaceScoped {
			object.SetNamespace("default")
		}
		raw, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		if err := p.objects.Add(dump.Object{
			Group: d.CRD.Spec.Group, Version: version, Kind: d.CRD.Spec.Names.Kind, Namespace: object.GetNamespace(), Name: object.GetName(), JSON: raw,
			From: "generated object " + object.GetName(), Generated: true,
		}, nil); err != nil {
			return err
		}
	}
	return nil
}

// masking masks values of objects as they are read.
type masking struct {
	redaction recording.Redaction
	found     map[string]bool
	paths     []string // nil if nothing is masked
}

func (p *RehearsalPlan) masking() (*masking, error) {
	m := &masking{found: map[string]bool{}}
	if len(p.want.Redact) == 0 {
		return m, nil
	}
	var err error
	if m.redaction, err = recording.ParseRedaction(p.want.Redact); err != nil {
		return m, p.want.At("redact", "%w", err)
	}
	m.paths = m.redaction.Paths()
	return m, nil
}

// edit returns what masks an object; nil if nothing is masked.
func (m *masking) edit() func(*unstructured.Unstructured) error {
	if len(m.paths) == 0 {
		return nil
	}
	return func(object *unstructured.Unstructured) error {
		found, err := m.redaction.Objects([]*unstructured.Unstructured{object})
		for _, path := range found {
			m.found[path] = true
		}
		return err
	}
}

// used fails for a path at which no object has a value: it may be misspelt, which would leak the value that it was meant for.
func (m *masking) used(p *RehearsalPlan) error {
	for i, path := range m.paths {
		if !m.found[path] {
			return p.want.At(options.Item("redact", i), "no object has a value at %s; write the path as the objects have it, or remove it", path)
		}
	}
	if len(m.paths) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("Values of objects at %s were masked when they were read.", strings.Join(slices.Clone(m.paths), ", ")))
	}
	return nil
}
