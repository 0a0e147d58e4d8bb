package existing

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/loopback"
)

// load returns how to reach the cluster of a context, and the name of the context.
func load(options Options) (*rest.Config, string, error) {
	kubeconfig, rules, err := read(options.Kubeconfig)
	if err != nil {
		return nil, "", err
	}
	name, err := choose(kubeconfig, options)
	if err != nil {
		return nil, "", err
	}
	if err = whole(kubeconfig, name, options.Overrides.Context); err != nil {
		return nil, "", err
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*kubeconfig, name, &options.Overrides, rules).ClientConfig()
	if err != nil {
		if several, is := errors.AsType[utilerrors.Aggregate](err); is { // a certificate and its key are mostly wrong together
			err = several.Errors()[0]
		}
		return nil, "", misused("the context %s of the kubeconfig cannot be used: %v", name, err)
	}
	if !options.ReadOnly || !isProxy(config.Host) {
		if config.Host, err = address(config.Host); err != nil {
			return nil, "", misused("the context %s: %v", name, err)
		}
	}
	if config.Insecure {
		return nil, "", misused("the context %s disables verification of the API server's certificate; give its cluster a certificate-authority in the kubeconfig, and remove insecure-skip-tls-verify", name)
	}
	if err = unexpired(config); err != nil {
		return nil, "", fmt.Errorf("the context %s: %w", name, err)
	}
	config.QPS, config.UserAgent, config.WarningHandler = -1, "crdconform", rest.NoWarnings{}
	return config, name, nil
}

// isPipe reports whether a path is that of a named pipe, for whose writer reading would wait. What a shell has opened has no path.
func isPipe(path string) bool {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	info, err := os.Stat(file)
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}

// read reads the files of a kubeconfig.
func read(list string) (*api.Config, *clientcmd.ClientConfigLoadingRules, error) {
	paths := slices.DeleteFunc(filepath.SplitList(list), func(path string) bool { return path == "" })
	if len(paths) == 0 {
		return nil, nil, misused("there is no kubeconfig; give a file, or set KUBECONFIG or HOME")
	}
	var missing error
	there := 0
	for _, path := range paths {
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			missing = &UsageError{"kubeconfig", path, "the file does not exist; give another one"}
		case err != nil:
			return nil, nil, misused("the kubeconfig cannot be read: %v", err)
		case info.IsDir():
			return nil, nil, misused("the kubeconfig %s is a folder; give a file", path)
		case isPipe(path):
			return nil, nil, misused("the kubeconfig %s is a pipe; give a file", path)
		case info.Mode()&os.ModeDevice != 0:
			return nil, nil, misused("the kubeconfig %s is a device; give a file", path)
		case info.Size() > files.Objects:
			return nil, nil, misused("the kubeconfig %s is larger than %d MiB; give another one", path, files.Objects>>20)
		default:
			there++
		}
	}
	if there == 0 {
		return nil, nil, missing
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: paths}
	kubeconfig, err := rules.Load()
	if err != nil {
		// What the parser says may quote the file, and so what is secret in it.
		at := ""
		if line := regexp.MustCompile(`line \d+`).FindString(err.Error()); line != "" {
			at = ", see " + line
		} else if strings.Contains(err.Error(), "illegal base64") {
			at = ": one of its values whose keys end in -data is not base64"
		}
		return nil, nil, misused("%s is not a kubeconfig%s", strings.Join(paths, ", "), at)
	}
	return kubeconfig, rules, nil
}

// choose returns the context to use.
func choose(kubeconfig *api.Config, options Options) (string, error) {
	var known []string
	for name := range kubeconfig.Contexts {
		known = append(known, name)
	}
	slices.Sort(known)
	there := "the kubeconfig contains no contexts"
	if len(known) > 0 {
		there = "there are " + strings.Join(known, ", ")
	}
	name := options.Context
	if name == "" && options.Current {
		name = kubeconfig.CurrentContext
	}
	switch {
	case name == "" && options.Current:
		return "", misused("the kubeconfig has no current context; give a context, %s", there)
	case name == "":
		return "", misused("no cluster specified; give a context, %s", there)
	case kubeconfig.Contexts[name] == nil:
		return "", misused("unknown context %s; %s", name, there)
	default:
		return name, nil
	}
}

// whole reports whether the kubeconfig has what a context names, or what was given in its place.
func whole(kubeconfig *api.Config, name string, instead api.Context) error {
	chosen := *kubeconfig.Contexts[name]
	chosen.Cluster, chosen.AuthInfo = cmp.Or(instead.Cluster, chosen.Cluster), cmp.Or(instead.AuthInfo, chosen.AuthInfo)
	at := kubeconfig.Clusters[chosen.Cluster]
	if at == nil || at.Server == "" {
		return misused("the context %s refers to the cluster %q, which the kubeconfig does not contain", name, chosen.Cluster)
	}
	if chosen.AuthInfo != "" && kubeconfig.AuthInfos[chosen.AuthInfo] == nil {
		return misused("the context %s refers to the user %q, which the kubeconfig does not contain", name, chosen.AuthInfo)
	}
	return nil
}

// address returns the URL of an API server so that paths can be put behind it.
func address(server string) (string, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return "", errors.New("the server is not a URL such as https://host:6443")
	}
	if u.Scheme != "https" {
		instead := "give the https URL of the API server"
		if isProxy(server) {
			instead += ", since a proxy of this machine is taken only for reading"
		}
		return "", fmt.Errorf("%s is not https, so the identity of the cluster cannot be verified; %s", u.Redacted(), instead)
	}
	return strings.TrimRight(server, "/"), nil
}

// isProxy reports whether a server is one of this machine without TLS, as kubectl proxy is, which verifies the cluster itself.
func isProxy(server string) bool {
	u, err := url.Parse(server)
	return err == nil && u.Scheme == "http" && loopback.Is(u.Hostname())
}

// unexpired reports whether the certificates of a configuration, if it has some, can be read, and the client's is still valid. API
// servers answer merely that they do not know the user.
func unexpired(config *rest.Config) error {
	data := config.CertData
	if len(data) == 0 && config.CertFile != "" {
		var err error
		if data, err = files.Read(config.CertFile, files.Certificates); err != nil {
			return misused("client-certificate: %v", err)
		}
	}
	if len(config.CAData) > 0 && !x509.NewCertPool().AppendCertsFromPEM(config.CAData) {
		return misused("the certificate-authority-data of the cluster in the kubeconfig contains no certificate in PEM; get a new kubeconfig")
	}
	if len(data) == 0 {
		return nil
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return misused("the client certificate of the user in the kubeconfig is not PEM; get a new kubeconfig, or log in again")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return misused("the client certificate is malformed: %v", err)
	}
	if time.Now().After(certificate.NotAfter) {
		return fmt.Errorf("the client certificate expired at %s; get a new kubeconfig, or log in again", certificate.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}
