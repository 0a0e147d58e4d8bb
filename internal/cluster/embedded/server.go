package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace/noop"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/openapi"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/cluster/storage"
)

type serverConfig struct {
	dir        string
	authority  *pki.Authority
	listener   net.Listener
	etcd       string // endpoint
	watchCache bool
	services   *services
	lines      *lines
}

// server is one life of the API server.
type server struct {
	cancel   context.CancelFunc
	done     chan error // receives what the server ended with
	listener *connections
}

func startServer(config serverConfig) (*server, error) {
	tracked := &connections{Listener: config.listener}
	config.listener = tracked
	generic, etcdOptions, err := genericConfig(config)
	if err != nil {
		return nil, err
	}
	completed := (&apiserver.Config{
		GenericConfig: generic,
		ExtraConfig: apiserver.ExtraConfig{
			CRDRESTOptionsGetter: crdoptions.NewCRDRESTOptionsGetter(*etcdOptions, generic.ResourceTransformers, generic.StorageObjectCountTracker),
			MasterCount:          1,
			ServiceResolver:      config.services,
			AuthResolverWrapper:  bounding(webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, generic.LoopbackClientConfig, noop.NewTracerProvider()), config.lines),
		},
	}).Complete()
	// Upstream leaves /apis to the aggregator, which is not here.
	completed.GenericConfig.EnableDiscovery = true
	crds, err := completed.New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	if err := crds.GenericAPIServer.AddPostStartHook("crdconform-group-list", func(hook genericapiserver.PostStartHookContext) error {
		return keepGroupList(hook, crds)
	}); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{cancel: cancel, done: make(chan error, 1), listener: tracked}
	prepared := crds.GenericAPIServer.PrepareRun()
	go func() { s.done <- prepared.RunWithContext(ctx) }()
	return s, nil
}

// kill ends the server at once.
func (s *server) kill() error {
	s.listener.breakAll()
	return s.stop()
}

// stop ends the server, which finishes the requests in flight first.
func (s *server) stop() error {
	s.cancel()
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	select {
	case err := <-s.done:
		s.listener.breakAll()
		return err
	case <-timeout.C:
		s.listener.breakAll()
		return fmt.Errorf("the API server did not stop within %s", stopTimeout)
	}
}

func genericConfig(config serverConfig) (*genericapiserver.RecommendedConfig, *genericoptions.EtcdOptions, error) {
	generic := genericapiserver.NewRecommendedConfig(apiserver.Codecs)
	generic.EffectiveVersion = effectiveVersion()
	generic.FeatureGate = utilfeature.DefaultFeatureGate
	if err := errors.Join(serving(generic, config), authentication(generic, config.authority)); err != nil {
		return nil, nil, err
	}
	generic.Authorization.Authorizer = authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)

	backend := storagebackend.NewDefaultConfig(storage.Prefix, apiserver.Codecs.LegacyCodec(apiextensionsv1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion))
	backend.Transport.ServerList = []string{config.etcd}
	etcdOptions := genericoptions.NewEtcdOptions(backend)
	etcdOptions.EnableWatchCache = config.watchCache
	if err := etcdOptions.ApplyTo(&generic.Config); err != nil {
		return nil, nil, err
	}

	// Upstream's code calls the chain without looking whether there is one when an object is patched while its
	// definition is being deleted.
	generic.AdmissionControl = admission.NewChainHandler()
	generic.MergedResourceConfig = apiserver.DefaultAPIResourceConfigSource()
	definitions := openapi.GetOpenAPIDefinitionsWithoutDisabledFeatures(generatedopenapi.GetOpenAPIDefinitions)
	namer := openapinamer.NewDefinitionNamer(apiserver.Scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	generic.SkipOpenAPIInstallation = false
	return generic, etcdOptions, nil
}

func serving(generic *genericapiserver.RecommendedConfig, config serverConfig) error {
	pair, err := config.authority.Server("localhost", "127.0.0.1", "::1", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	files := genericoptions.CertKey{
		CertFile: filepath.Join(config.dir, "tls.crt"),
		KeyFile:  filepath.Join(config.dir, "tls.key"),
	}
	if err := errors.Join(os.WriteFile(files.CertFile, pair.Certificate, 0o600), os.WriteFile(files.KeyFile, pair.Key, 0o600)); err != nil {
		return err
	}
	options := genericoptions.NewSecureServingOptions()
	options.Listener = config.listener
	options.BindAddress = net.IPv4(127, 0, 0, 1)
	options.BindPort = config.listener.Addr().(*net.TCPAddr).Port //nolint:errcheck // it is a TCP listener
	options.ServerCert.CertKey = files
	if err := options.ApplyTo(&generic.SecureServing); err != nil {
		return err
	}
	return loopback(generic, config.authority)
}

// loopback lets the API server be its own client, as options.WithLoopback does, but without RSA keys, which take most of the time of a start.
func loopback(generic *genericapiserver.RecommendedConfig, authority *pki.Authority) error {
	const name = genericapiserver.LoopbackClientServerNameOverride
	pair, err := authority.Server(name)
	if err != nil {
		return err
	}
	provider, err := dynamiccertificates.NewStaticSNICertKeyContent("loopback", pair.Certificate, pair.Key, name)
	if err != nil {
		return err
	}
	generic.SecureServing.SNICerts = append(generic.SecureServing.SNICerts, provider)
	generic.LoopbackClientConfig, err = generic.SecureServing.NewLoopbackClientConfig(rand.Text(), authority.PEM())
	return err
}

// authentication lets those in who have a certificate of the authority.
func authentication(generic *genericapiserver.RecommendedConfig, authority *pki.Authority) error {
	clients, err := dynamiccertificates.NewStaticCAContent("crdconform", authority.PEM())
	if err != nil {
		return err
	}
	if err := generic.Authentication.ApplyClientCert(clients, generic.SecureServing); err != nil {
		return err
	}
	generic.Authentication.Authenticator = onceEach(x509request.NewDynamic(clients.VerifyOptions, x509request.CommonNameUserConversion))
	return nil
}

// onceEach verifies each certificate once as long as it is valid, and not for each request: the authority stays the same.
func onceEach(verifying authenticator.Request) authenticator.Request {
	var verified sync.Map // responses by certificate
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return nil, false, nil
		}
		certificate := string(r.TLS.PeerCertificates[0].Raw)
		if known, is := verified.Load(certificate); is && time.Now().Before(r.TLS.PeerCertificates[0].NotAfter) {
			return known.(*authenticator.Response), true, nil //nolint:errcheck // nothing else is in it
		}
		who, is, err := verifying.AuthenticateRequest(r)
		if is && err == nil {
			verified.Store(certificate, who)
		}
		return who, is, err
	})
}

// connections is a listener that can break all of its connections.
type connections struct {
	net.Listener

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	broken bool
}

// Accept returns the next connection. Once everything is broken it continues to accept, because upstream's server panics when
// its listener fails before it was stopped, but the connections are dead.
func (c *connections) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &connection{accepted, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken {
		accepted.Close() // breaking it is the point
		return tracked, nil
	}
	if c.open == nil {
		c.open = map[net.Conn]struct{}{}
	}
	c.open[tracked] = struct{}{}
	return tracked, nil
}

// breakAll closes every connection, those to come included.
func (c *connections) breakAll() {
	c.mu.Lock()
	open := c.open
	c.open, c.broken = nil, true
	c.mu.Unlock()
	for connection := range open {
		connection.Close() // breaking it is the point
	}
}

type connection struct {
	net.Conn
	of *connections
}

func (c *connection) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}
