package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/storage"
)

// atOnce is how many requests are under way at a time.
const atOnce = 16

// Dialer opens a connection to a service: the namespace, the name and the port.
type Dialer func(ctx context.Context, namespace, name string, port int32) (net.Conn, error)

// Options say what to look at.
type Options struct {
	Names     []string // of definitions; all if there are none
	Namespace string   // of webhooks, if only definitions with those are to be looked at

	// Dial opens connections to services, for the certificates that they serve. Without one, nothing is known of them but what the API
	// server says of conversions.
	Dial Dialer

	// Progress gets what is being looked at. It may be nil.
	Progress func(what string)
}

// looker looks at one cluster.
type looker struct {
	options Options
	config  *rest.Config
	clients *kube.Clients
	core    kubernetes.Interface
}

// Look looks at a cluster. It fails if the definitions cannot be read; whatever else cannot is noted where it is missing.
func Look(ctx context.Context, config *rest.Config, options Options) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	clients, err := kube.Connect(config)
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfigAndClient(config, clients.Once.HTTP())
	if err != nil {
		return nil, err
	}
	l := &looker{options: options, config: config, clients: clients, core: core}
	c, err := l.definitions(ctx)
	if err != nil {
		return nil, err
	}
	l.progress("webhooks")
	l.webhooks(ctx, c)
	l.progress("objects")
	l.stored(ctx, c)
	each(c.Definitions, func(d *Definition) {
		l.convert(ctx, d)
		d.lint(ctx, time.Now())
	})
	return c, ctx.Err()
}

func (l *looker) progress(what string) {
	if l.options.Progress != nil {
		l.options.Progress(what)
	}
}

// each does something with all of them, some at a time.
func each[T any](all []T, do func(T)) {
	var running sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, one := range all {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			do(one)
		})
	}
	running.Wait()
}

// definitions reads the definitions.
func (l *looker) definitions(ctx context.Context) (*Cluster, error) {
	c := &Cluster{}
	if version, err := l.core.Discovery().ServerVersion(); err == nil {
		c.Version = version.GitVersion
	}
	l.progress("definitions")
	all := kube.Pager[*apiextensionsv1.CustomResourceDefinitionList]{List: l.clients.Definitions.Client.List, Options: metav1.ListOptions{Limit: 100}}
	err := all.Each(ctx, func(page *apiextensionsv1.CustomResourceDefinitionList) error {
		for i := range page.Items {
			c.Definitions = append(c.Definitions, &Definition{CustomResourceDefinition: &page.Items[i]})
		}
		return nil
	})
	if err != nil {
		return nil, sentence("the definitions of the cluster cannot be read", "list", "customresourcedefinitions.apiextensions.k8s.io", err)
	}
	c.holders()
	return c, l.choose(c)
}

// holders notes who has the names that are not accepted.
func (c *Cluster) holders() {
	for _, d := range c.Definitions {
		if apihelpers.IsCRDConditionFalse(d.CustomResourceDefinition, apiextensionsv1.NamesAccepted) {
			for _, other := range c.Definitions {
				if holder := kube.Holder(d.CustomResourceDefinition, other.CustomResourceDefinition); holder != "" {
					d.Holders = append(d.Holders, holder)
				}
			}
		}
	}
}

// choose leaves those definitions that were asked for.
func (l *looker) choose(c *Cluster) error {
	for _, name := range l.options.Names {
		if !slices.ContainsFunc(c.Definitions, func(d *Definition) bool { return d.Name == name }) {
			return &storage.NoDefinitionError{Name: name}
		}
	}
	c.Definitions = slices.DeleteFunc(c.Definitions, func(d *Definition) bool {
		service := d.service()
		return len(l.options.Names) > 0 && !slices.Contains(l.options.Names, d.Name) ||
			l.options.Namespace != "" && (service == nil || service.Namespace != l.options.Namespace)
	})
	slices.SortFunc(c.Definitions, func(a, b *Definition) int { return cmp.Compare(a.Name, b.Name) })
	if len(c.Definitions) == 0 && l.options.Namespace != "" {
		return &EmptyError{"no definition has a webhook in the namespace " + l.options.Namespace}
	}
	return nil
}

// EmptyError says that there is nothing to look at.
type EmptyError struct{ text string }

func (e *EmptyError) Error() string { return e.text }

// client is how the webhook of a definition is called, or nil.
func (d *Definition) client() *apiextensionsv1.WebhookClientConfig {
	if c := d.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter && c.Webhook != nil {
		return c.Webhook.ClientConfig
	}
	return nil
}

// service is the service of the webhook of a definition, or nil.
func (d *Definition) service() *apiextensionsv1.ServiceReference {
	if c := d.client(); c != nil {
		return c.Service
	}
	return nil
}

// lint judges the definition by itself.
func (d *Definition) lint(ctx context.Context, now time.Time) {
	text := d.DeepCopy()
	text.TypeMeta = metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}
	text.ManagedFields = nil
	data, err := yaml.Marshal(text)
	if err != nil {
		d.Unlinted = err.Error()
		return
	}
	report, err := lint.Check(ctx, []lint.File{{Name: d.Name + ".yaml", Data: data}}, lint.Options{Now: now})
	if err != nil {
		d.Unlinted = err.Error()
		return
	}
	d.Lint = report.Findings
}

// stored looks at the objects of definitions of which that shows something: several versions are stored, or one is deprecated.
func (l *looker) stored(ctx context.Context, c *Cluster) {
	each(c.Definitions, func(d *Definition) {
		deprecated := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served && v.Deprecated }
		if len(d.Status.StoredVersions) < 2 && !slices.ContainsFunc(d.Spec.Versions, deprecated) || d.DeletionTimestamp != nil {
			return
		}
		inventory, _, err := storage.Inspect(ctx, l.config, []string{d.Name}, storage.Options{Own: true})
		switch {
		case err != nil:
			d.Unstored = err.Error()
		case len(inventory.Definitions[0].Gaps) > 0:
			d.Unstored = inventory.Definitions[0].Gaps[0].Why
			d.Storage = inventory.Definitions[0]
		default:
			d.Storage = inventory.Definitions[0]
		}
	})
}

// sentence says what could not be read, and which right it takes if that is the reason.
func sentence(what, verb, resource string, err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return &RightError{fmt.Sprintf("%s: the user may not %s %s; deploy/doctor-rbac.yaml has the rights", what, verb, resource)}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// RightError says which right is missing.
type RightError struct{ text string }

func (e *RightError) Error() string { return e.text }

// missing reports whether an error is that of a right.
func missing(err error) bool {
	_, is := errors.AsType[*RightError](err)
	return is
}
