package engine

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/manifest"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
	"github.com/crdconform/crdconform/suites/webhook"
)

// Plan is a check whose files were read and are valid. Nothing was started yet.
type Plan struct {
	want     Description
	kinds    []corpus.Corpus // one for each kind of objects
	selects  func(requirement.ID) bool
	selected []requirement.ID          // those with a spec
	known    map[requirement.ID]string // why requirements are known to fail
	flaky    map[requirement.ID]string // why some are known to fail in some runs only
	ca       []byte
	client   *tls.Certificate
	notes    []string
	run      string      // ID of the run
	memory   uint64      // that the machine has, for the program under test; 0 for what it has
	loads    []*LoadTest // to send one after another; none when no load is to be sent

	recorded *recording.Recording // that the load sends again; nil when it sends none
}

// Prepare reads the files of a check. All of its errors are about these files or about the check itself, and say what to do.
func (c Description) Prepare() (*Plan, error) {
	p := c.plan()
	if err := p.want.Validate(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.readKinds(), p.readCertificates(), p.subject()); err != nil {
		return nil, err
	}
	if err := p.readExpected(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.selection(), p.prepareLoads()); err != nil {
		return nil, err
	}
	p.noteIdleLosses()
	p.noteIdleMeanings()
	return p, nil
}

// plan completes a description, and returns the plan of a run of which nothing else is known yet.
func (c Description) plan() *Plan {
	c.Config = completed(c.Config)
	if c.Source == nil {
		var known bool
		if c.Source, known = sources()[c.APIServer]; !known {
			c.Source = unknownSource(c.APIServer)
		}
	}
	p := &Plan{want: c, known: map[requirement.ID]string{}, flaky: map[requirement.ID]string{}, run: NewRunID()}
	p.selects = func(id requirement.ID) bool { return (len(c.Filter) == 0 || anyOf(c.Filter, id)) && !anyOf(c.Skip, id) }
	for _, k := range c.KnownFailing {
		p.known[requirement.ID(k.ID)] = k.Reason
	}
	for _, k := range c.KnownFlaky {
		p.flaky[requirement.ID(k.ID)] = k.Reason
	}
	return p
}

// chapters returns the chapters to check, given what runs as pods.
func (p *Plan) chapters(pods Pods) []suites.Area {
	if p.want.Chapters != nil {
		return p.want.Chapters(pods)
	}
	all := []suites.Area{webhook.Area}
	if p.want.APIServer != config.None && slices.ContainsFunc(p.kinds, func(k corpus.Corpus) bool { return k.Definition != nil && !k.Documented }) {
		all = append(all, resource.Area)
	}
	return all
}

// NewSeed returns a seed for all random choices.
func NewSeed() int64 { return mathrand.Int64N(1<<31-1) + 1 }

// NewRunID returns an ID for a run, which is a DNS label.
func NewRunID() string { return strings.ToLower(rand.Text()[:10]) }

// completed fills in what a caller left out. A configuration with an apiVersion is complete: it was read from a file, or is the default.
func completed(c config.Config) config.Config {
	if c.APIVersion == "" {
		c.APIVersion, c.Kind = config.APIVersion, config.Kind
		if c.Webhook.Command != nil { // which is the caller's
			command := *c.Webhook.Command
			c.Webhook.Command = &command
		}
		options.SetDefaults(&c, "")
	}
	if c.Generate.Seed == 0 {
		c.Generate.Seed = NewSeed()
	}
	return c
}

// Seed returns the seed of all random choices. A check without one gets a new one.
func (p *Plan) Seed() int64 { return p.want.Generate.Seed }

// CRDs returns the user's definitions to check; none if there are only samples.
func (p *Plan) CRDs() []*apiextensionsv1.CustomResourceDefinition {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range p.kinds {
		if kind.Definition != nil && !kind.Documented {
			all = append(all, kind.Definition.CRD)
		}
	}
	return all
}

// ReportDir returns the folder for the reports.
func (p *Plan) ReportDir() string { return p.want.Path(p.want.ReportDir) }

// Definitions returns the names of the definitions to check, such as widgets.example.com.
func (p *Plan) Definitions() []string {
	var names []string
	for _, kind := range p.kinds {
		names = append(names, nameOf(kind))
	}
	return names
}

// nameOf returns the name of a kind's definition; "" if there are only samples, and for the CronTabs of the documents.
func nameOf(c corpus.Corpus) string {
	if c.Definition == nil || c.Documented {
		return ""
	}
	return c.Definition.Name()
}

// readKinds reads the definitions and the samples, and assigns the samples to the definitions.
func (p *Plan) readKinds() error {
	definitions, err := p.readDefinitions()
	if err != nil {
		return err
	}
	samples, err := p.readSamples()
	if err != nil {
		return err
	}
	if err = p.redact(samples); err != nil {
		return err
	}
	if len(p.want.CRDs) > 0 {
		if err = p.sort(definitions, samples); err != nil {
			return err
		}
		return p.readEarlier()
	}
	if len(p.want.Old) > 0 {
		return p.want.At("old", "there is no current definition to compare with; give %s", options.Key("crds"))
	}
	if len(samples) == 0 {
		p.kinds = []corpus.Corpus{corpus.CronTabs("v1alpha1", "v1beta1", "v1")}
		if p.want.Webhook.Reference == nil && !p.want.JudgesServer && p.want.Load.Recording == "" {
			p.notes = append(p.notes, "the objects are the CronTabs of the documents, since there is neither a definition nor a sample"+p.want.ObjectsAdvice)
		}
		return nil
	}
	var all []*unstructured.Unstructured
	for _, s := range samples {
		all = append(all, s.object)
	}
	c, err := corpus.FromSamples(all)
	if err != nil {
		return p.want.At("samples", "%s: %w", strings.Join(filesOf(samples), ", "), err)
	}
	for _, s := range samples {
		c.Trace(s.object, s.file)
	}
	p.kinds = []corpus.Corpus{c}
	return nil
}

func (p *Plan) readDefinitions() ([]*corpus.Definition, error) {
	files, err := p.want.Files("crds", p.want.CRDs)
	if err != nil {
		return nil, err
	}
	from := map[string]string{} // file by name of the definition
	var definitions []*corpus.Definition
	for _, file := range files {
		data, err := manifest.Read(file)
		if err != nil {
			return nil, p.want.At("crds", "%w", err)
		}
		read, others, err := corpus.ReadDefinitions(file, data)
		if err != nil {
			return nil, p.want.At("crds", "%w", err)
		}
		if others > 0 && len(read) > 0 {
			p.notes = append(p.notes, fmt.Sprintf("objects in %s other than CustomResourceDefinitions were left out: %d", file, others))
		}
		for _, d := range read {
			if before, twice := from[d.Name()]; twice {
				if before == file {
					return nil, p.want.At("crds", "%s is in %s twice; remove one", d.Name(), file)
				}
				return nil, p.want.At("crds", "%s is in %s and in %s; leave one of them out", d.Name(), before, file)
			}
			from[d.Name()] = file
		}
		if beside := manifest.KustomizationIn(filepath.Dir(filepath.Dir(file))); beside != "" && !manifest.IsKustomization(file) && !slices.ContainsFunc(read, hasWebhook) {
			note := fmt.Sprintf("the definitions in %s were read without %s, which may add the webhook; give %s to check what that builds", filepath.Dir(file), beside, filepath.Dir(beside))
			p.notes = append(slices.DeleteFunc(p.notes, func(other string) bool { return other == note }), note)
		}
		definitions = append(definitions, read...)
	}
	if len(files) > 0 && len(definitions) == 0 {
		return nil, p.want.At("crds", "no CustomResourceDefinition in %s", strings.Join(files, ", "))
	}
	return definitions, nil
}

// sample is an object with the file that it comes from.
type sample struct {
	object *unstructured.Unstructured
	file   string
}

// sort makes a kind of each definition whose objects are converted, with its samples. Samples of other kinds are left out, because
// folders of samples also contain other objects that operators need.
func (p *Plan) sort(definitions []*corpus.Definition, samples []sample) error {
	definitions, err := p.converted(definitions)
	if err != nil {
		return err
	}
	used := map[string]bool{}
	var errs []error
	for _, d := range definitions {
		c, err := corpus.New(d, nil)
		if err != nil {
			return p.want.At("crds", "%w", err)
		}
		for _, s := range samples {
			if s.object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: c.Group, Kind: c.Kind}) {
				continue
			}
			used[s.file] = true
			if err := c.Add(s.object); err != nil {
				errs = append(errs, p.want.At("samples", "%s: %w", s.file, err))
			}
			c.Trace(s.object, s.file)
		}
		p.kinds = append(p.kinds, c)
	}
	for _, s := range samples {
		if !used[s.file] {
			used[s.file] = true
			p.notes = append(p.notes, s.file+" has no objects of these definitions and was left out")
		}
	}
	return errors.Join(errs...)
}

func hasWebhook(d *corpus.Definition) bool {
	conversion := d.CRD.Spec.Conversion
	return conversion != nil && conversion.Strategy == apiextensionsv1.WebhookConverter
}

// converted returns the definitions with two or more versions that are served or stored, or a webhook for those that are not; if any of
// them have a conversion webhook, only those. If none has one, the stanza may be added at deployment.
func (p *Plan) converted(definitions []*corpus.Definition) ([]*corpus.Definition, error) {
	var several, withWebhook []*corpus.Definition
	for _, d := range definitions {
		unserved := strings.Join(d.Unserved(), ", ")
		switch {
		case !d.Converts():
			p.notes = append(p.notes, d.Name()+" has only one version, so nothing is converted, and was left out")
			continue
		case len(d.Versions()) < 2 && !hasWebhook(d):
			p.notes = append(p.notes, fmt.Sprintf("%s has only one version besides %s, which is not served, and no conversion webhook, and was left out", d.Name(), unserved))
			continue
		case unserved != "":
			p.notes = append(p.notes, fmt.Sprintf("%s: objects may be stored at %s, which is not served, so the conversion from there is checked", d.Name(), unserved))
		}
		several = append(several, d)
		if hasWebhook(d) {
			withWebhook = append(withWebhook, d)
		}
	}
	if len(several) == 0 {
		return nil, p.want.At("crds", "every definition has only one version, and a conversion needs two, or spec.conversion with a webhook for versions that are not served")
	}
	if len(withWebhook) > 0 {
		for _, d := range several {
			if !slices.Contains(withWebhook, d) {
				p.notes = append(p.notes, d.Name()+" has no conversion webhook, unlike others, and was left out")
			}
		}
		return withWebhook, nil
	}
	if p.want.Webhook.FromCRD != nil {
		return nil, p.want.At("webhook.fromCRD", "no definition has a conversion webhook; set spec.conversion, or give webhook.url")
	}
	for _, d := range several {
		has := "no spec.conversion"
		if d.CRD.Spec.Conversion != nil {
			has = "spec.conversion.strategy None"
		}
		p.notes = append(p.notes, fmt.Sprintf("%s has %s in the file; it is assumed to name this webhook", d.Name(), has))
		metav1.SetMetaDataAnnotation(&d.CRD.ObjectMeta, suites.Assumed, "the conversion webhook")
		d.CRD.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook:  &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1", "v1beta1"}},
		}
	}
	return several, nil
}

// readCertificates reads the certificates and the key.
func (p *Plan) readCertificates() error {
	w := p.want.Webhook
	p.ca = p.want.CA
	if len(p.ca) == 0 && w.CAFile != "" {
		var err error
		if p.ca, err = files.Read(p.want.Path(w.CAFile), files.Certificates); err != nil {
			return p.want.At("webhook.caFile", "%w", err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(p.ca) {
			return p.want.At("webhook.caFile", "there is no certificate in %s; give PEM, beginning with -----BEGIN CERTIFICATE-----", w.CAFile)
		}
	}
	if chosen := w.ClientCertificate; chosen.CertFile != "" {
		pair, err := files.KeyPair(p.want.Path(chosen.CertFile), p.want.Path(chosen.KeyFile))
		if err != nil {
			return p.want.At("webhook.clientCertificate.certFile", "%w", err)
		}
		p.client = &pair
	}
	return nil
}

// subject fails if the webhook to check is not specified, or not sufficiently.
func (p *Plan) subject() error {
	if p.want.Webhook.Source() == "" && p.want.Handler == nil {
		return errors.New("no webhook specified; give its URL, or one of url, fromCRD, command, inCluster and reference under webhook in crdconform.yaml")
	}
	if p.want.Webhook.FromCRD != nil && p.want.Handler == nil && len(p.want.CRDs) == 0 {
		return p.want.At("webhook.fromCRD", "there is no definition to take it from; give %s", options.Key("crds"))
	}
	if p.want.Webhook.InCluster != nil && p.want.Handler == nil {
		if err := Deployable(p.want.Config, p.want.Source); err != nil {
			return err
		}
	}
	if p.want.Webhook.Command != nil && p.want.Handler == nil {
		if p.want.Source == nil && p.program().Uses("kubeconfig") {
			return p.want.At("webhook.command", "{kubeconfig} needs an API server; %s none has none", options.Key("apiServer"))
		}
		if err := p.program().Validate(); err != nil {
			return err
		}
	}
	if p.want.Webhook.Reference != nil && len(p.want.CRDs)+len(p.want.Samples) > 0 {
		return p.want.At("webhook.reference", "it converts the CronTabs of the documents only; leave crds and samples out")
	}
	return nil
}

// selection determines which requirements to check.
func (p *Plan) selection() error {
	for _, spec := range suites.Preview(p.chapters(Pods{})) {
		if p.selects(spec.Requirement) {
			p.selected = append(p.selected, spec.Requirement)
		}
	}
	if len(p.selected) > 0 {
		return nil
	}
	return errors.New("filter and skip leave no requirement to check; \"crdconform list --filter webhook\" shows those of webhooks")
}

func anyOf(patterns []string, id requirement.ID) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		like, err := id.Matches(pattern)
		return err == nil && like
	})
}
