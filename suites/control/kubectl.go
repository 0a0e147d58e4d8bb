package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/suites"
)

// kubectl is the program, with a configuration and a home directory of its own: nothing that a user has configured changes
// what it does.
type kubectl struct {
	program string
	home    string // which has the configuration
}

// kubectl finds the program and points it to the cluster, or skips the spec when there is none on PATH.
func (c chapter) kubectl() kubectl {
	GinkgoHelper()
	program, err := exec.LookPath(c.options.Kubectl)
	if c.options.Kubectl == "" {
		program, err = exec.LookPath("kubectl")
		if err != nil {
			c.env.Inapplicable("needs kubectl, which is not on PATH")
		}
	}
	c.env.Require(err, "looking for kubectl")
	home, err := files.TemporaryDir("", "kubectl-")
	c.env.Require(err, "making a home directory for kubectl")
	DeferCleanup(func() error { return os.RemoveAll(home) })
	k := kubectl{program, home}
	c.env.Require(clientcmd.WriteToFile(kubeconfig(c.env.Cluster.Config()), k.config()), "writing a configuration for kubectl")
	return k
}

func (k kubectl) config() string { return filepath.Join(k.home, "kubeconfig") }

// kubeconfig says in kubectl's terms how to reach a cluster.
func kubeconfig(config *rest.Config) clientcmdapi.Config {
	const name = "crdconform"
	server := &clientcmdapi.Cluster{
		Server:                   config.Host,
		TLSServerName:            config.ServerName,
		CertificateAuthority:     config.CAFile,
		CertificateAuthorityData: config.CAData,
	}
	user := &clientcmdapi.AuthInfo{
		ClientCertificate:     config.CertFile,
		ClientCertificateData: config.CertData,
		ClientKey:             config.KeyFile,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
		TokenFile:             config.BearerTokenFile,
		Username:              config.Username,
		Password:              config.Password,
		Impersonate:           config.Impersonate.UserName,
		ImpersonateUID:        config.Impersonate.UID,
		ImpersonateGroups:     config.Impersonate.Groups,
		ImpersonateUserExtra:  config.Impersonate.Extra,
		AuthProvider:          config.AuthProvider,
		Exec:                  config.ExecProvider,
	}
	return clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: server},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: user},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: suites.Namespace}},
		CurrentContext: name,
	}
}

// ran is what came of a call of kubectl.
type ran struct {
	out    string // what it printed
	failed string // what it said when it failed, with the command; empty otherwise
	err    error  // why it could not be called, or was killed
}

// run calls kubectl with a manifest as its input, which may be empty.
func (k kubectl) run(ctx context.Context, manifest []byte, arguments ...string) ran {
	command := exec.CommandContext(ctx, k.program, arguments...)
	command.Stdin = bytes.NewReader(manifest)
	// HOME has its cache, and would have its preferences. Of variables that come twice the last one counts.
	command.Env = append(command.Environ(), "HOME="+k.home, "KUBECONFIG="+k.config(), "KUBECACHEDIR="+filepath.Join(k.home, "cache"), "KUBERC=off")
	command.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	err := command.Run()
	r := ran{out: out.String()}
	said := fmt.Sprintf("kubectl %s: %s", strings.Join(arguments, " "), strings.TrimSpace(complaint.String()))
	var exited *exec.ExitError
	switch {
	case errors.As(err, &exited) && exited.Exited():
		r.failed = fmt.Sprintf("%s (%s)", said, exited)
	case err != nil:
		r.err = fmt.Errorf("%s: %w", said, err)
	}
	fmt.Fprintf(GinkgoWriter, "%s\n%s", said, r.out)
	return r
}

// does calls kubectl and returns what it prints. Its failure is one of the spec, unless it could not be called.
func (c chapter) does(ctx SpecContext, k kubectl, manifest []byte, arguments ...string) string {
	GinkgoHelper()
	r := k.run(ctx, manifest, arguments...)
	c.env.Require(r.err, "calling kubectl")
	Expect(r.failed).To(BeEmpty(), "kubectl must not fail")
	return r.out
}

// table returns the rows that kubectl printed, with their cells divided by bars and ages by a word for them. There are two
// spaces or more between cells, while the text of one may have single ones.
func table(text string) []string {
	age := regexp.MustCompile(`^([0-9]+[dhms])+$`)
	var rows []string
	for line := range strings.Lines(text) {
		var cells []string
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, age.ReplaceAllString(cell, "(age)"))
			}
		}
		rows = append(rows, strings.Join(cells, " | "))
	}
	return rows
}
