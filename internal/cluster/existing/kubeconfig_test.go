package existing

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// secret is a credential that must not be in any message.
const secret = "s3cr3t-t0k3n"

// written writes a kubeconfig with the contexts good and bad, changed by a function, and returns its path.
func written(t *testing.T, change func(*api.Config)) string {
	t.Helper()
	config := api.NewConfig()
	config.Clusters["there"] = &api.Cluster{Server: "https://127.0.0.1:1"}
	config.AuthInfos["me"] = &api.AuthInfo{Token: secret}
	config.Contexts["good"] = &api.Context{Cluster: "there", AuthInfo: "me"}
	config.Contexts["other"] = &api.Context{Cluster: "there", AuthInfo: "me"}
	config.CurrentContext = "good"
	if change != nil {
		change(config)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// certificate returns a client certificate that ends at a time, with its key.
func certificate(t *testing.T, end time.Time) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.Add(-time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// TestUsage gives Start what it cannot work with. Each must be an error of usage, in a sentence without a credential.
func TestUsage(t *testing.T) {
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("users:\n- name: me\n  user:\n    token: "+secret+"\n  - ["), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("clusters: [{name: a, cluster: {certificate-authority-data: '!!!'}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"no ID":             {Options{}, `the ID of the run, "", must be a DNS label`},
		"no label":          {Options{Run: "a.b"}, `the ID of the run, "a.b", must be a DNS label`},
		"nowhere to listen": {Options{Run: "a", WebhookListen: "9443"}, "cluster.listen 9443: write it as host:port"},
		"no such port":      {Options{Run: "a", WebhookListen: ":99999"}, "cluster.listen :99999: write it as host:port"},
		"a port too":        {Options{Run: "a", WebhookHost: "10.0.0.1:9443"}, "cluster.webhookHost 10.0.0.1:9443: give the address alone; cluster.listen is for the port"},
		"no host":           {Options{Run: "a", WebhookHost: "https://host"}, "cluster.webhookHost https://host: it is neither an IP address nor the name of a host"},
		"hosts will do":     {Options{Run: "a", WebhookHost: "Laptop.lan"}, "there is no kubeconfig"},
		"addresses will do": {Options{Run: "a", WebhookHost: "fd00::1"}, "there is no kubeconfig"},
		"no kubeconfig":     {Options{Run: "a"}, "there is no kubeconfig; give a file"},
		"no such file":      {Options{Run: "a", Kubeconfig: "/no/such/file"}, "kubeconfig /no/such/file: the file does not exist"},
		"garbage":           {Options{Run: "a", Kubeconfig: garbage, Context: "good"}, garbage + " is not a kubeconfig"},
		"no context":        {Options{Run: "a", Kubeconfig: written(t, nil)}, "no cluster specified; give a context, there are good, other"},
		"unknown context":   {Options{Run: "a", Kubeconfig: written(t, nil), Context: "bad"}, "unknown context bad; there are good, other"},
		"no contexts": {Options{Run: "a", Context: "bad", Kubeconfig: written(t, func(c *api.Config) {
			c.Contexts = nil
		})}, "unknown context bad; the kubeconfig contains no contexts"},
		"no cluster": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Contexts["good"].Cluster = "away"
		})}, `the context good refers to the cluster "away", which the kubeconfig does not contain`},
		"no server": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Clusters["there"].Server = ""
		})}, `the context good refers to the cluster "there", which the kubeconfig does not contain`},
		"no user": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Contexts["good"].AuthInfo = "you"
		})}, `the context good refers to the user "you", which the kubeconfig does not contain`},
		"no encryption": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Clusters["there"].Server = "http://127.0.0.1:1"
		})}, "the context good: http://127.0.0.1:1 is not https, so the identity of the cluster cannot be verified; give the https URL of the API server, since a proxy of this machine is taken only for reading"},
		"no encryption elsewhere": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Clusters["there"].Server = "http://10.0.0.1:1"
		})}, "the context good: http://10.0.0.1:1 is not https, so the identity of the cluster cannot be verified; give the https URL of the API server"},
		"no verification": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Clusters["there"].InsecureSkipTLSVerify = true
		})}, "the context good disables verification of the API server's certificate"},
		"no key file": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.AuthInfos["me"].ClientCertificate, c.AuthInfos["me"].ClientKey = "/no/such/cert", "/no/such/key"
		})}, "the context good of the kubeconfig cannot be used: unable to read client-cert /no/such/cert for me due to open /no/such/cert: no such file or directory"},
		"a folder":   {Options{Run: "a", Kubeconfig: filepath.Dir(garbage), Context: "good"}, "the kubeconfig " + filepath.Dir(garbage) + " is a folder; give a file"},
		"not base64": {Options{Run: "a", Kubeconfig: broken, Context: "good"}, broken + " is not a kubeconfig: one of its values whose keys end in -data is not base64"},
		"no authority": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.Clusters["there"].CertificateAuthorityData = []byte("hello")
		})}, "the context good: the certificate-authority-data of the cluster in the kubeconfig contains no certificate in PEM"},
		"no certificate": {Options{Run: "a", Context: "good", Kubeconfig: written(t, func(c *api.Config) {
			c.AuthInfos["me"].ClientCertificateData, c.AuthInfos["me"].ClientKeyData = []byte("x"), []byte("y")
		})}, "the context good: the client certificate of the user in the kubeconfig is not PEM"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), test.options)
			var misused *UsageError
			if !errors.As(err, &misused) || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			discreet(t, err)
		})
	}
}

// discreet wants an error to be one line without the secret.
func discreet(t *testing.T, err error) {
	t.Helper()
	if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is not one line, or has the secret in it: %v", err)
	}
}

func TestNothingAnswers(t *testing.T) {
	_, err := Start(t.Context(), Options{Run: "a", Kubeconfig: written(t, nil), Context: "good"})
	if err == nil || !strings.HasPrefix(err.Error(), "the cluster of the context good: nothing answers at https://127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
	discreet(t, err)
}

// TestSeveralFiles reads a list of files as kubectl does, of which not all need to be there.
func TestSeveralFiles(t *testing.T) {
	first := written(t, nil)
	second := written(t, func(c *api.Config) {
		c.Contexts = map[string]*api.Context{"third": {Cluster: "there", AuthInfo: "me"}}
	})
	list := strings.Join([]string{first, "/no/such/file", second}, string(filepath.ListSeparator))
	_, err := Start(t.Context(), Options{Run: "a", Kubeconfig: list, Context: "bad"})
	if err == nil || err.Error() != "unknown context bad; there are good, other, third" {
		t.Errorf("got %v", err)
	}
}

func TestExpiredCertificate(t *testing.T) {
	cert, key := certificate(t, time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC))
	path := written(t, func(c *api.Config) {
		*c.AuthInfos["me"] = api.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	})
	_, err := Start(t.Context(), Options{Run: "a", Kubeconfig: path, Context: "good"})
	const want = "the context good: the client certificate expired at 2020-01-02T03:04:05Z; get a new kubeconfig, or log in again"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	cert, key = certificate(t, time.Now().Add(time.Hour))
	if err := unexpired(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: cert, KeyData: key}}); err != nil {
		t.Errorf("a valid certificate: %v", err)
	}
}

// answering is a server that answers everything in the same way.
func answering(t *testing.T, status int, body string) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := w.Write([]byte(body)); err != nil {
			t.Error(err)
		}
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// trusting makes a kubeconfig about a server, whose certificate it trusts.
func trusting(server *httptest.Server) func(*api.Config) {
	return func(c *api.Config) {
		c.Clusters["there"].Server = server.URL + "/"
		c.Clusters["there"].CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	}
}

// TestServersThatWillNotDo has API servers that are away or not what they should be: each has a message of its own.
func TestServersThatWillNotDo(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	status := func(reason string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"you sent ` + secret + `","reason":"` + reason + `"}`
	}
	for name, test := range map[string]struct {
		change func(*api.Config)
		want   string
	}{
		"away": {
			func(c *api.Config) { c.Clusters["there"].Server = "https://" + closed.Addr().String() },
			"nothing answers at https://" + closed.Addr().String() + " (dial tcp " + closed.Addr().String() + ": connect: connection refused); is the cluster up",
		},
		"no such name": {
			func(c *api.Config) { c.Clusters["there"].Server = "cluster.invalid" },
			"nothing answers at https://cluster.invalid (dial tcp: lookup cluster.invalid",
		},
		"a certificate of somebody's": {func(c *api.Config) {
			c.Clusters["there"].Server = answering(t, 200, "{}").URL
		}, "is not trusted (x509: certificate signed by unknown authority); the kubeconfig's certificate-authority must be that of the cluster"},
		"a certificate of another host": {func(c *api.Config) {
			server := answering(t, 200, "{}")
			trusting(server)(c)
			c.Clusters["there"].TLSServerName = "cluster.example.org"
		}, "is not trusted (x509: certificate is valid for example.com"},
		"credentials that expired": {
			trusting(answering(t, 401, status("Unauthorized"))),
			"it does not recognize the user: the credentials are wrong or have expired; log in again, or get a new kubeconfig",
		},
		"nothing allowed": {
			trusting(answering(t, 403, status("Forbidden"))),
			"the user may not read /version; system:public-info-viewer and system:discovery allow that",
		},
		"an error with the credential": {
			trusting(answering(t, 500, status("InternalError"))),
			"does not respond like an API server: ",
		},
		"another kind of server": {
			trusting(answering(t, 200, "<html>welcome</html>")),
			"is not a Kubernetes API server: its /version is not JSON",
		},
		"no version": {
			trusting(answering(t, 200, `{"major":"","minor":""}`)),
			`is not a Kubernetes API server: "." is not a Kubernetes version`,
		},
		"too old": {
			trusting(answering(t, 200, `{"major":"1","minor":"15+"}`)),
			"its Kubernetes 1.15 is too old: apiextensions.k8s.io/v1, which was added in 1.16, is required",
		},
		"a program that fails": {func(c *api.Config) {
			c.AuthInfos["me"] = &api.AuthInfo{Exec: &api.ExecConfig{
				Command: "crdconform-no-such-program", Args: []string{secret}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode,
			}}
		}, "the program that provides the credentials failed; log in again, or correct the user's exec in the kubeconfig: getting credentials: exec: executable crdconform-no-such-program not found"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), Options{Run: "a", Kubeconfig: written(t, test.change), Context: "good"})
			var misused *UsageError
			if err == nil || errors.As(err, &misused) || !strings.HasPrefix(err.Error(), "the cluster of the context good: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			discreet(t, err)
		})
	}
}

// TestSilentServer ends with the context, and says that nothing answers when the time for that is over.
func TestSilentServer(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(stopped) })
	_, err := Start(ctx, Options{Run: "a", Kubeconfig: written(t, trusting(server)), Context: "good"})
	if !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	late := explain(context.DeadlineExceeded, "https://me:"+secret+"@host")
	if want := "nothing answers at https://me:xxxxx@host within 15s"; !strings.HasPrefix(late.Error(), want) {
		t.Errorf("got %v, want %s", late, want)
	}
}

func TestAddresses(t *testing.T) {
	for server, want := range map[string]string{
		"https://a:6443":    "https://a:6443",
		"https://a:6443/":   "https://a:6443",
		"https://a/k8s/c1/": "https://a/k8s/c1",
		"a:6443":            "https://a:6443",
		"[::1]:6443":        "https://[::1]:6443",
	} {
		if got, err := address(server); got != want || err != nil {
			t.Errorf("%s is %s, %v", server, got, err)
		}
	}
	for _, server := range []string{"", "http://a", "unix:///a", "https://", "https://a b"} {
		if got, err := address(server); err == nil {
			t.Errorf("%q is taken for %s", server, got)
		}
	}
}

// TestProxy reads through kubectl proxy on this machine, and through nothing else that has no TLS.
func TestProxy(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]bool{"http://127.0.0.1:8001": true, "http://localhost:8001": true, "http://[::1]:8001": true, "http://10.0.0.1:8001": false, "https://127.0.0.1:8001": false, "127.0.0.1:8001": false} {
		if got := isProxy(server); got != want {
			t.Errorf("%s: got %t", server, got)
		}
	}
	kubeconfig := written(t, func(c *api.Config) { c.Clusters["there"].Server = "http://127.0.0.1:1" })
	if _, err := Start(t.Context(), Options{Run: "a", Kubeconfig: kubeconfig, Context: "good", ReadOnly: true}); err == nil || strings.Contains(err.Error(), "is not https") {
		t.Errorf("got %v", err)
	}
}
