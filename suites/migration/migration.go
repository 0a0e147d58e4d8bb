// Package migration checks that the documents' upgrade of stored objects holds while clients are at work, and that a version can be
// removed after it: a migrator of crdconform's own performs the upgrade, and a proof judges what it did.
package migration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/storage/proof"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// older is the storage version at first, and newer the one to which objects are migrated.
const (
	older = "v1beta1"
	newer = "v1"
)

// pageSize is how many objects a migrator lists at a time.
const pageSize = 4

// chapter declares the specs with a migrator.
type chapter struct {
	env     *suites.Env
	migrate proof.Migrator
}

// New returns the chapter on migrations of stored objects, with a migrator: crdconform's own if it is nil.
func New(m proof.Migrator) suites.Area {
	if m == nil {
		m = ours
	}
	return suites.Area{Name: "migration", Register: func(env *suites.Env) {
		c := chapter{env, m}
		c.objects()
		c.clients()
		c.refused()
		c.removal()
	}}
}

// ours is the migrator of crdconform.
func ours(ctx context.Context, j proof.Job) error {
	config := rest.CopyConfig(j.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutLeases{next} })
	result, err := migrate.Run(ctx, config, j.Definition, migrate.Options{PageSize: pageSize, Drop: j.Drop})
	for _, refusal := range result.Refused {
		err = errors.Join(err, errors.New(refusal.String()))
	}
	return err
}

// withoutLeases hides leases and reviews of rights from a migrator. Nobody else migrates the definition of a spec, and a run looks at its
// rights when it starts; it has none for leases.
type withoutLeases struct{ next http.RoundTripper }

// RoundTrip sends a request on.
func (t withoutLeases) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io") || strings.HasPrefix(r.URL.Path, "/apis/authorization.k8s.io") {
		if r.Body != nil {
			r.Body.Close()
		}
		return answer(r, http.StatusNotFound, metav1.StatusReasonNotFound, "it is hidden from the migrator"), nil
	}
	return t.next.RoundTrip(r)
}

// between is called before a request of the migrator is sent on. What it returns is the answer in place of the API server's, unless nil.
type between func(p *proof.Proof, r request) *http.Response

// prove has the objects of a definition migrated, and judges it. The error is the migrator's.
func (c chapter) prove(ctx SpecContext, crd *suites.Resource, options proof.Options, j proof.Job, meanwhile between) (proof.Report, error) {
	GinkgoHelper()
	if storage, ok := c.env.Cluster.(cluster.Storage); ok {
		options.Storage = storage
	}
	var history bytes.Buffer
	options.History = &history
	j.Config, j.Definition = c.env.Cluster.Config(), crd.Name()
	p, err := proof.Begin(ctx, j.Config, j.Definition, options)
	c.env.Require(err, "looking at the objects before the migration")
	if meanwhile != nil {
		j.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return &middleman{next: next, meanwhile: func(r request) *http.Response { return meanwhile(p, r) }, group: crd.Group()}
		})
	}
	migrated := c.migrate(ctx, j)
	report, err := p.End(ctx)
	c.env.Require(err, "looking at the objects after the migration")
	if history.Len() > 0 && (len(report.Of(requirement.MigrationClientsWrites)) > 0 || len(report.Of(requirement.MigrationClientsDeletions)) > 0) {
		c.env.Attach("history.jsonl", history.Bytes())
	}
	return report, migrated
}

// population creates n objects at the older version, named crontab-0 and so on, as a client that applies them. The first one is written
// once more, after the others.
func (c chapter) population(ctx SpecContext, crd *suites.Resource, n int) {
	GinkgoHelper()
	like := newer // without a webhook, the fields are the same at both versions
	if crd.Webhook != nil {
		like = older
	}
	for i := range n {
		object := fixtures.LocalCronTab.At(like)
		object.SetName(name(i))
		c.env.Require(suites.ErrorOf(crd.At(older).Apply(ctx, object, "kubectl")), "applying %s", name(i))
	}
	c.env.Require(suites.ErrorOf(crd.At(older).MergePatch(ctx, name(0), `{"metadata": {"labels": {"written": "again"}}}`)), "writing %s once more", name(0))
}

func name(i int) string { return fmt.Sprintf("crontab-%d", i) }

// in puts a definition into another scope.
func in(scope apiextensionsv1.ResourceScope) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = scope }
}
