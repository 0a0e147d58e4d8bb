package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// serve brings the API server up on a free port of loopback. It returns its URL, and what receives the error that it ends
// with.
func serve(o order, services *services) (url string, failed <-chan error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens for as long as the process lives
	if err != nil {
		return "", nil, err
	}
	generic, options, err := genericConfig(o, listener)
	if err != nil {
		return "", nil, err
	}
	completed := (&apiserver.Config{
		GenericConfig: generic,
		ExtraConfig: apiserver.ExtraConfig{
			CRDRESTOptionsGetter: restOptions(generic, *options),
			MasterCount:          1,
			ServiceResolver:      services,
			AuthResolverWrapper:  authResolver(generic),
		},
	}).Complete()
	// Upstream leaves /apis to the aggregator, which is not here.
	completed.GenericConfig.EnableDiscovery = true
	setVersion(generic) // 1.21 puts another one in its place
	crds, err := completed.New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		return "", nil, err
	}
	err = crds.GenericAPIServer.AddPostStartHook("crdconform-group-list", func(genericapiserver.PostStartHookContext) error {
		keepGroupList(crds)
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	prepared := crds.GenericAPIServer.PrepareRun()
	ended := make(chan error, 1)
	go func() {
		ended <- prepared.Run(wait.NeverStop) //nolint:staticcheck // the successor that it names came with 1.31
	}()
	return fmt.Sprintf("https://%s", listener.Addr()), ended, nil
}

func genericConfig(o order, listener net.Listener) (*genericapiserver.RecommendedConfig, *genericoptions.EtcdOptions, error) {
	generic := genericapiserver.NewRecommendedConfig(apiserver.Codecs)
	setVersion(generic)
	if err := secure(generic, o.Dir, listener); err != nil {
		return nil, nil, err
	}
	generic.Authorization.Authorizer = authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)

	backend := storagebackend.NewDefaultConfig("/registry", apiserver.Codecs.LegacyCodec(apiextensionsv1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion))
	backend.Transport.ServerList = []string{o.Etcd}
	options := genericoptions.NewEtcdOptions(backend)
	options.EnableWatchCache = o.WatchCache
	if err := options.ApplyTo(&generic.Config); err != nil {
		return nil, nil, err
	}

	// Upstream's code calls the chain without looking whether there is one when an object is patched while its
	// definition is being deleted.
	generic.AdmissionControl = admission.NewChainHandler()
	generic.MergedResourceConfig = apiserver.DefaultAPIResourceConfigSource()
	setOpenAPI(generic)
	return generic, options, nil
}

// secure makes the API server serve with the certificate in a directory, and lets those in who have one of the same authority.
func secure(generic *genericapiserver.RecommendedConfig, dir string, listener net.Listener) error {
	options := genericoptions.NewSecureServingOptions()
	options.Listener = listener
	options.BindAddress = net.IPv4(127, 0, 0, 1)
	options.BindPort = listener.Addr().(*net.TCPAddr).Port //nolint:errcheck // it is a TCP listener
	options.ServerCert.CertKey = genericoptions.CertKey{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	if err := options.WithLoopback().ApplyTo(&generic.SecureServing, &generic.LoopbackClientConfig); err != nil {
		return err
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return err
	}
	clients, err := dynamiccertificates.NewStaticCAContent("crdconform", authority)
	if err != nil {
		return err
	}
	if err := generic.Authentication.ApplyClientCert(clients, generic.SecureServing); err != nil {
		return err
	}
	generic.Authentication.Authenticator = x509request.NewDynamic(clients.VerifyOptions, x509request.CommonNameUserConversion)
	return nil
}
