package resource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// most is how many samples of a version are used, and mostGenerated how many generated objects, if it takes so many to have all fields.
	most, mostGenerated = 3, 6

	// mostWritten is how many objects of a version are written at most, with those that losing adds.
	mostWritten = mostGenerated + mostLosing

	// mark is an annotation, and a label, that every object has.
	mark = "crdconform.dev/spec"
)

// chapter is what the specs of a run have in common.
type chapter struct {
	env       *suites.Env
	generated map[string][]*unstructured.Unstructured // by version, see generate
	enough    map[string]int                          // by version: how many of these are used
	surviving map[corpus.Pair]*corpus.Survivors       // see survivors
	written   map[write]*corpus.Coverage              // see wrote
	refusals  map[string]string                       // by version: what was wrong with a conversion of a generated object
	proved    map[string]bool                         // see sound
	patched   map[pass]formed                         // see patchedBefore
	ran       map[requirement.ID]bool                 // the specs that ran, and whether they failed
	owed      map[requirement.ID]violation            // what specs left to these requirements, whose specs run later

	// silent says why nothing more is asked: an API server waited in vain for the webhook, which may take half a minute each
	// time, or the webhook answers nobody any more.
	silent string
}

// round is what one spec does.
type round struct {
	*chapter

	id         requirement.ID
	crd        *suites.Resource
	definition *corpus.Definition
	storage    string // version
	initially  string // the storage version that the definition has
	journal    journal
	turn       int // how often samples were created, which gives them their names
	afresh     int // how many objects were created to see whether it is a patch that spoils them

	// aboutWhole says that the fields of objects are no matter, so that those with the fewest come first.
	aboutWhole bool

	// generated says that this time there are generated objects only, as without samples: these take nothing away.
	generated bool

	spec  SpecContext
	body  func(ctx SpecContext, r *round)
	trial *trial // nil for what counts

	lost []loss // what the spec is about to fail for

	statusWritten map[string]bool  // fields of statuses, with their version, that API servers took
	statusRefused map[string]error // those that were in a status which they refused

	holding map[held][]string // what is known of the places that show others

	blocked   string // why the spec cannot be judged, when another requirement is broken; empty otherwise
	tolerated bool
}

// it declares the spec of a requirement. What another requirement covers is left to it: the spec continues with what works,
// and if it finds nothing itself it cannot be judged.
func (c *chapter) it(id requirement.ID, text string, body func(ctx SpecContext, r *round), labels ...string) {
	GinkgoHelper()
	c.env.Own().It(id, text, func(ctx SpecContext, crd *suites.Resource) {
		if c.silent != "" {
			Skip(c.silent)
		}
		if gone := c.env.Subject.Gone(); gone != nil {
			Skip(fmt.Sprintf("cannot be judged: %v", gone))
		}
		defer c.reportWritten()
		defer func() {
			if _, known := c.ran[id]; !known {
				c.ran[id] = false
			}
		}()
		r := c.round(id, crd, crd.StorageVersion(ctx), ctx, body)
		body(ctx, r)
		if r.generated = r.addsGenerated(); r.generated {
			body(ctx, r)
		}
		if v, is := c.owed[id]; is { // the objects of this spec do not show it
			r.report(ctx, requirement.Failed, v)
		}
		if r.blocked != "" {
			Skip(r.blocked)
		}
	}, labels...)
}

// round returns a round of a spec, with the storage version that the definition has.
func (c *chapter) round(id requirement.ID, crd *suites.Resource, storage string, spec SpecContext, body func(ctx SpecContext, r *round)) *round {
	return &round{
		chapter: c, id: id, crd: crd, definition: c.env.Subject.Corpus.Definition, storage: storage, initially: storage, spec: spec, body: body,
		statusWritten: map[string]bool{}, statusRefused: map[string]error{}, holding: map[held][]string{},
	}
}

// addsGenerated reports whether there are samples, beside which what generated objects show is to be found as well.
func (r *round) addsGenerated() bool {
	return r.env.Subject.Objects >= 0 && slices.ContainsFunc(r.served(), func(version string) bool { return len(r.env.Subject.Corpus.Objects(version)) > 0 })
}

// isGenerated reports whether the objects of a version are not the user's.
func (r *round) isGenerated(version string) bool {
	return r.generated || len(r.env.Subject.Corpus.Objects(version)) == 0
}

// known returns the objects of a version that a spec is about: the user's samples, or generated ones.
func (r *round) known(ctx context.Context, version string) []*unstructured.Unstructured {
	if r.isGenerated(version) {
		return r.generate(ctx, version)
	}
	return r.env.Subject.Corpus.Objects(version)
}

// donors returns the objects of a version whose fields others may be given: those that the spec is about, and generated ones.
func (r *round) donors(ctx context.Context, version string) []*unstructured.Unstructured {
	donors := r.known(ctx, version)
	if !r.isGenerated(version) && r.env.Subject.Objects >= 0 {
		donors = append(donors, r.generate(ctx, version)...)
	}
	return donors
}

// served returns the versions that are served, in the definition's order.
func (r *round) served() []string {
	var versions []string
	for _, version := range r.definition.CRD.Spec.Versions {
		if version.Served {
			versions = append(versions, version.Name)
		}
	}
	return versions
}

// home is a served version at which what is stored needs no conversion, if there is one.
func (r *round) home() string {
	served := r.served()
	if slices.Contains(served, r.storage) {
		return r.storage
	}
	return served[0]
}

// subresources returns those of a version, never nil.
func (r *round) subresources(version string) *apiextensionsv1.CustomResourceSubresources {
	for _, v := range r.definition.CRD.Spec.Versions {
		if v.Name == version && v.Subresources != nil {
			return v.Subresources
		}
	}
	return &apiextensionsv1.CustomResourceSubresources{}
}

// object is one that was sent at a version.
type object struct {
	version  string
	name     string
	sent     *unstructured.Unstructured
	expected map[string]any // what a read at the version has to have
	applied  bool           // it was created by an apply
}

// samples returns objects to create at a version, as clients send them: the user's, or generated ones.
func (r *round) samples(ctx context.Context, version string) []*unstructured.Unstructured {
	if r.trial != nil && r.trial.version != version {
		return nil
	}
	var known []*unstructured.Unstructured
	if r.trial != nil {
		known = []*unstructured.Unstructured{r.trial.sample}
	} else {
		known = r.known(ctx, version)
	}
	switch cause := r.refusals[version]; {
	case len(known) > 0:
	case r.generated:
		return nil // there are samples
	case cause != "":
		Skip(fmt.Sprintf("cannot be judged while %s fails: the webhook converts no object generated at %s", cause, version))
	default:
		r.require(errors.New("give a sample"), "the schema of %s allows no object that could be generated", version)
	}
	topic := strings.ReplaceAll(strings.TrimPrefix(string(r.id), "resource."), ".", "-")
	var samples []*unstructured.Unstructured
	number := most
	if r.trial == nil && r.isGenerated(version) {
		number = r.enough[version]
	}
	known = known[:min(len(known), number)]
	if r.aboutWhole {
		known = slices.SortedStableFunc(slices.Values(known), func(a, b *unstructured.Unstructured) int { return len(corpus.Leaves(a)) - len(corpus.Leaves(b)) })
	}
	for i, sample := range known {
		samples = append(samples, clean(sample, fmt.Sprintf("%s-%s-%d", topic, version, r.turn+i)))
	}
	return samples
}

// clean leaves of an object what a client sends, under another name.
func clean(from *unstructured.Unstructured, name string) *unstructured.Unstructured {
	fields := maps.Clone(from.Object)
	delete(fields, "metadata")
	to := (&unstructured.Unstructured{Object: fields}).DeepCopy()
	to.SetName(name)
	labels, annotations := from.GetLabels(), from.GetAnnotations()
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[mark], annotations[mark] = "sample", "sample"
	to.SetLabels(labels)
	to.SetAnnotations(annotations)
	return to
}

// of returns what is known of an object that is sent at a version.
func (r *round) of(version string, sent *unstructured.Unstructured) *object {
	expected := sent.DeepCopy().Object
	r.definition.Schema(version).Prepare(expected)
	if r.subresources(version).Status != nil {
		delete(expected, "status") // it is written by the subresource only
	}
	return &object{version: version, name: sent.GetName(), sent: sent, expected: expected}
}

// create creates the samples of a version, up to a number, and has them removed after the spec. Those that the API server
// refuses are left out; the spec is Errored when it refuses all.
func (r *round) create(ctx context.Context, version string, number int) []*object {
	GinkgoHelper()
	var created []*object
	var refused []error
	converts := true
	samples := r.samples(ctx, version)
	r.turn += len(samples)
	for _, sample := range samples {
		if len(created) == number {
			break
		}
		o := r.of(version, sample)
		r.removeAfter(o.name)
		got, err := r.crd.At(version).Create(ctx, sample)
		r.journal.addWith(version, sample, o.name, "kubectl create")
		switch {
		case r.unconverted(ctx, err):
			converts = false
			r.blame(ctx, requirement.ResourceCreateEveryVersion, o, "creating an object at %s (stored at %s): expected it to be created, got: %v", version, r.storage, err)
		case err != nil:
			refused = append(refused, err)
		default:
			if r.id == requirement.ResourceCreateEveryVersion {
				r.kept(ctx, o, got, "the response to creating an object at %s (stored at %s)", version, r.storage)
				r.env.Tried(1)
			}
			r.wrote(creates, version, o.expected)
			created = append(created, o)
		}
	}
	if len(created) == 0 && len(samples) > 0 && converts {
		r.require(errors.Join(refused...), "creating the samples at %s, all of which the API server refuses", version)
	}
	return created
}

// one creates an object at a version, nil when the webhook fails.
func (r *round) one(ctx context.Context, version string) *object {
	GinkgoHelper()
	if created := r.create(ctx, version, 1); len(created) > 0 {
		return created[0]
	}
	return nil
}

// oneSound creates an object that keeps what was written, nil when the webhook fails.
func (r *round) oneSound(ctx context.Context, version string) *object {
	GinkgoHelper()
	if o := r.one(ctx, version); o != nil && r.sound(ctx, o) {
		return o
	}
	return nil
}

// read reads an object at a version, nil when the webhook fails.
func (r *round) read(ctx context.Context, o *object, version string) *unstructured.Unstructured {
	GinkgoHelper()
	got, err := r.crd.At(version).Get(ctx, o.name)
	return r.hasRead(ctx, o, version, got, err)
}

// afterWrite is an object at its own version after a write at a version, whose answer shows it there. An answer is what a read is: API servers
// decode what they have stored for both.
func (r *round) afterWrite(ctx context.Context, o *object, version string, answer *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	if version == o.version {
		return answer
	}
	return r.read(ctx, o, o.version)
}

// readEverywhere reads an object at all served versions at once, but for those at which it is known, until one cannot be read; it is false then.
func (r *round) readEverywhere(ctx context.Context, o *object, known map[string]*unstructured.Unstructured) (views map[string]*unstructured.Unstructured, all bool) {
	GinkgoHelper()
	versions := slices.DeleteFunc(r.served(), func(version string) bool { return known[version] != nil })
	got, errs := make([]*unstructured.Unstructured, len(versions)), make([]error, len(versions))
	var reading sync.WaitGroup
	for i, version := range versions {
		reading.Go(func() { got[i], errs[i] = r.crd.At(version).Get(ctx, o.name) })
	}
	reading.Wait()
	views = map[string]*unstructured.Unstructured{}
	maps.Copy(views, known)
	for i, version := range versions {
		if views[version] = r.hasRead(ctx, o, version, got[i], errs[i]); views[version] == nil {
			return views, false
		}
	}
	return views, true
}

// hasRead is what a read returned, nil when the webhook failed.
func (r *round) hasRead(ctx context.Context, o *object, version string, got *unstructured.Unstructured, err error) *unstructured.Unstructured {
	GinkgoHelper()
	r.journal.add(o.name, "kubectl get %s -o yaml", r.address(version, o.name))
	if r.unconverted(ctx, err) {
		r.blame(ctx, requirement.ResourceReadEveryVersion, o, "reading at %s what was created at %s (stored at %s): expected the object, got: %v", version, o.version, r.storage, err)
		return nil
	}
	r.require(err, "reading %s at %s", o.name, version)
	return got
}

// removeAfter removes an object when the spec, or the trial, is over.
func (r *round) removeAfter(name string) {
	if r.trial != nil {
		r.trial.made = append(r.trial.made, name)
		return
	}
	DeferCleanup(r.removeUnder, r.storage, name)
}

// removeUnder removes an object while a version is the storage version: where it was created under the same, that needs
// no conversion. It does so when the run was stopped too.
func (r *round) removeUnder(ctx SpecContext, storage, name string) {
	enough, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r.store(enough, storage)
	r.require(r.remove(enough, r.home(), name), "removing %s", name)
}

func (r *round) remove(ctx context.Context, version, name string) error {
	objects := r.crd.At(version)
	kept, err := objects.Remove(ctx, name)
	if kept {
		_, err = objects.MergePatch(ctx, name, `{"metadata":{"finalizers":null}}`)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
