package disruption

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
)

// Server is the API server of a disruption, which is made for it.
type Server interface {
	cluster.Cluster
	cluster.Services

	// Kill takes the API server down at once, and Resume brings it up again on the same data.
	Kill() error
	Resume(ctx context.Context) error

	// Client returns a client of its etcd.
	Client() (*clientv3.Client, error)
}

// ServerName is the name that the certificates of programs are valid for.
const ServerName = serviceName + "." + serviceNamespace + ".svc"

// The service by which the definition names the webhook. API servers talk HTTP/1.1 to services, so that is what programs get.
const (
	serviceNamespace = "crdconform-disrupt"
	serviceName      = "webhook"
	firstPort        = 10000
)

const (
	effectPoll = 20 * time.Millisecond

	// seedPatience is how long a program may fail the first conversions.
	seedPatience = 10 * time.Second

	// settleQuiet is how long requests must succeed until a change of the definition counts as being in effect.
	settleQuiet = 200 * time.Millisecond
)

// lab is a definition with its objects in an API server. Scenarios use it one after the other.
type lab struct {
	*Plan

	cluster  cluster.Cluster
	server   Server // nil where the webhook runs as pods
	clients  *fleet.Clients
	name     string   // of the definition
	versions []string // that are served
	storage  string   // version
	things   []thing
	owned    kube.Owned

	definitions kube.Definitions
	definition  *apiextensionsv1.CustomResourceDefinition // as it was created
	port        int32                                     // of the service, which is another one for each scenario
	dir         string
}

func newLab(p *Plan, c cluster.Cluster, dir string) (*lab, error) {
	server, is := c.(Server)
	if p.Pods == nil && !is {
		return nil, fmt.Errorf("the API server %s can't be disrupted", c.Name())
	}
	l := &lab{Plan: p, cluster: c, server: server, port: firstPort, dir: dir, name: p.Definition.Name}
	l.versions, l.storage = kube.ServedVersions(p.Definition), kube.StorageVersion(p.Definition)
	clients, err := kube.Connect(c.Config())
	if err != nil {
		return nil, err
	}
	l.definitions, l.owned.Client = clients.Definitions, clients.Objects
	l.clients = fleet.New(clients.Once, p.Definition, namespace, written, patience)
	return l, nil
}

func portOf(address string) (int, error) {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// kubeconfig is the file that programs get.
func (l *lab) kubeconfig() (string, error) {
	file := filepath.Join(l.dir, "kubeconfig")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	return file, kube.WriteConfig(file, l.cluster.Config())
}

// serverName is the name that the webhook's certificate is valid for.
func (l *lab) serverName() string {
	if l.Pods == nil {
		return ServerName
	}
	service := l.Pods.ClientConfig().Service
	return service.Name + "." + service.Namespace + ".svc"
}

// conversion names the webhook by its service; that of programs has another port in each scenario.
func (l *lab) conversion(ca []byte) *apiextensionsv1.CustomResourceConversion {
	service := &apiextensionsv1.ServiceReference{Namespace: serviceNamespace, Name: serviceName, Port: &l.port, Path: &l.Path}
	if l.Pods != nil {
		service = l.Pods.ClientConfig().Service
	}
	return kube.ConvertedBy(l.Definition, apiextensionsv1.WebhookClientConfig{Service: service, CABundle: ca})
}

// install creates the definition, and waits until its objects can be created.
func (l *lab) install(ctx context.Context, ca []byte) error {
	crd := kube.Fresh(l.Definition)
	crd.ObjectMeta = l.labelled(crd.ObjectMeta)
	crd.Spec.Conversion = l.conversion(ca)
	created, err := l.definitions.Create(ctx, crd)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("the cluster has a definition %s already, and only one that crdconform created is disrupted; use another cluster", crd.Name)
	}
	if err != nil {
		return fmt.Errorf("installing %s: %w", crd.Name, err)
	}
	if l.definition = created; l.Run != "" {
		l.owned.Add(kube.DefinitionObject(created))
	}
	hold, err := l.definitions.Established(ctx, crd.Name)
	if err != nil {
		return err
	}
	return hold.Wait(ctx)
}

// change changes the definition.
func (l *lab) change(ctx context.Context, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	return l.definitions.Change(ctx, l.definition, change)
}

// convertBy has the API server ask the webhook at the port of the scenario, trusting an authority.
func (l *lab) convertBy(ctx context.Context, ca []byte) error {
	return l.change(ctx, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion = l.conversion(ca) })
}

// settled waits until an object can be read at every version for a moment without a failure.
func (l *lab) settled(ctx context.Context) error {
	var last error
	var since time.Time
	within, cancel := context.WithTimeout(ctx, kube.Effect)
	defer cancel()
	err := kube.Until(within, effectPoll, func(ctx context.Context) (bool, error) {
		for _, version := range l.versions {
			for _, t := range l.things[:min(2, len(l.things))] {
				if _, last = l.clients.Do(ctx, l.clients.Request(history.Read, version, t.name, "", nil)); last != nil {
					since = time.Time{}
					return false, nil //nolint:nilerr // it is tried again
				}
			}
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) >= settleQuiet, nil
	})
	if err != nil && ctx.Err() == nil && last != nil {
		return undisturbed(fmt.Errorf("the objects cannot be read at every version: %w", last))
	}
	return err
}

// seed creates the objects: at each version that has samples, some that are written at that version alone, and some that are never
// written.
func (l *lab) seed(ctx context.Context) error {
	var refused error
	for v, version := range l.versions {
		if len(l.Samples[version]) == 0 {
			continue
		}
		var templates []*unstructured.Unstructured
		for _, sample := range l.Samples[version] {
			t := thing{name: fmt.Sprintf("crdconform-try-%d-%d", v, len(templates)), version: version, fixed: true}
			if refused = l.try(ctx, sample, t); refused != nil {
				continue
			}
			templates = append(templates, l.survivor(ctx, sample, t))
		}
		if len(templates) == 0 {
			err := fmt.Errorf("none of the %d samples at %s can be created and read at every version: %w", len(l.Samples[version]), version, errors.Join(refused, context.Cause(ctx)))
			if answered(refused).error == record.Answer { // what is made up may mean nothing to it
				return err
			}
			return undisturbed(err)
		}
		for i := range max(2, l.Objects/len(l.versions)) {
			t := thing{name: fmt.Sprintf("crdconform-%d-%d", v, i), version: version, fixed: i%2 == 1}
			if err := l.create(ctx, templates[i%len(templates)], t); err != nil {
				return undisturbed(fmt.Errorf("creating an object at %s: %w", version, err))
			}
		}
	}
	if len(l.things) == 0 {
		return fmt.Errorf("%s has no sample at any version that is served (%s), so clients have nothing to work with", l.name, strings.Join(l.versions, ", "))
	}
	return nil
}

// try creates an object. As long as there is none, the program may not convert yet, so it is tried for a while.
func (l *lab) try(ctx context.Context, sample *unstructured.Unstructured, t thing) error {
	for end := time.Now().Add(seedPatience); ; {
		err := l.create(ctx, sample, t)
		if err == nil || len(l.things) > 0 || time.Now().After(end) {
			return err
		}
		if err = pause.For(ctx, effectPoll); err != nil {
			return err
		}
	}
}

// create creates an object, writes it once, so that what a conversion loses is lost already, and reads it at every version.
func (l *lab) create(ctx context.Context, sample *unstructured.Unstructured, t thing) error {
	body, err := l.clients.Copy(sample, t.name, "created").MarshalJSON()
	if err != nil {
		return err
	}
	asks := []kube.Request{
		l.clients.Request(history.Create, t.version, t.name, "", body),
		l.clients.Request(history.Patch, t.version, t.name, "", l.clients.Marking("seeded")),
	}
	for _, version := range l.versions {
		asks = append(asks, l.clients.Request(history.Read, version, t.name, "", nil))
	}
	for i, q := range asks {
		_, err := l.clients.Do(ctx, q)
		if err == nil || i == 0 && answered(err).error == record.There { // it was created before, when the answer could not be converted
			continue
		}
		if i > 0 { // it is there, and not to be listed
			_, _ = l.clients.Do(context.WithoutCancel(ctx), l.clients.Request(history.Delete, t.version, t.name, "", nil))
		}
		return fmt.Errorf("%s: %w", q, err)
	}
	l.things = append(l.things, t)
	return nil
}

// survivor returns what is left of a sample, of which there is an object, when it has been stored at each version: what conversions lose while
// nothing is disrupted is no effect of a disruption. A sample that cannot be is returned as it is.
func (l *lab) survivor(ctx context.Context, sample *unstructured.Unstructured, t thing) *unstructured.Unstructured {
	ask := func(kind history.Kind, version, name string, body []byte) (*unstructured.Unstructured, error) {
		raw, err := l.clients.Do(ctx, l.clients.Request(kind, version, name, "", body))
		got := &unstructured.Unstructured{}
		if err == nil && kind != history.Delete {
			err = got.UnmarshalJSON(raw)
		}
		return got, err
	}
	name := t.name
	for _, version := range l.versions {
		if version == t.version {
			continue
		}
		there, err := ask(history.Read, version, name, nil)
		if err != nil {
			return sample
		}
		name += "-" + version
		next := l.clients.Copy(there, name, "created")
		kept := next.GetAnnotations()
		maps.Copy(kept, there.GetAnnotations()) // in which webhooks keep what has no field
		next.SetAnnotations(kept)
		body, err := next.MarshalJSON()
		if err == nil {
			_, err = ask(history.Create, version, name, body)
		}
		if err != nil {
			return sample
		}
		defer ask(history.Delete, version, name, nil) //nolint:errcheck // one more object harms nobody
		if there, err = ask(history.Read, t.version, name, nil); err != nil {
			return sample
		}
		sample = there
	}
	return sample
}

// before returns what is there at the beginning of a scenario.
func (l *lab) before(ctx context.Context) (map[string]history.State, error) {
	body, err := l.clients.Do(ctx, kube.Request{Path: l.clients.Path(l.readable())})
	if err != nil {
		return nil, undisturbed(fmt.Errorf("listing the objects: %w", err))
	}
	all, err := fleet.Listed[json.RawMessage](body)
	if err != nil {
		return nil, err
	}
	states := map[string]history.State{}
	for _, item := range all.Items {
		s, err := sees(l.clients, item)
		if err != nil {
			return nil, err
		}
		states[s.key] = s.state
	}
	return states, nil
}

// readable is the version at which objects can be read with the least ado.
func (l *lab) readable() string {
	if slices.Contains(l.versions, l.storage) {
		return l.storage
	}
	return l.versions[0]
}
