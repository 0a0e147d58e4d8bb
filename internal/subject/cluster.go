package subject

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/crdconform/crdconform/internal/files"
)

// absent is the context of a kubeconfig that names no cluster. It is not in the file, because for an empty file clients look elsewhere:
// kubectl at localhost:8080, and others at what pods find their cluster by.
const absent = "crdconform-without-cluster"

// noCluster writes a kubeconfig that names no cluster, and returns its path.
func (p *Process) noCluster() (string, error) {
	var err error
	if p.alone, err = files.TemporaryDir("", "kubeconfig-"); err != nil {
		return "", err
	}
	file := filepath.Join(p.alone, "kubeconfig")
	return file, os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\ncurrent-context: "+absent+"\n"), 0o600)
}

// seekers are what programs write that look for a cluster and find none, or not the one of the run.
var seekers = regexp.MustCompile(absent + `|unable to load in-cluster config|KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined|` +
	`Service host/port is not set|Invalid kube-config file`)

// electors are what programs write that cannot elect a leader outside a pod, or without Leases.
var electors = regexp.MustCompile(`unable to find leader election namespace: not running in-cluster|error retrieving resource lock \S+: the server could not find the requested resource`)

// lacks are what programs write that ask for what an API server does not serve. The last words name it.
var lacks = []*regexp.Regexp{
	regexp.MustCompile(`no matches for kind \\*"([^"\\]+)\\*" in version \\*"([^"\\]+)\\*"`),
	regexp.MustCompile(`the server could not find the requested resource \((?:get|post|put|patch|delete|list|watch) ([^ )]+)[^)]*\)`),
	regexp.MustCompile(`unable to retrieve the complete list of server APIs: ([^: ]+): the server could not find`),
}

// cause says in a sentence what a program lacked that ended, or never responded, if its output shows that it was something of a cluster.
// It is empty otherwise.
func (p *Process) cause(output string) string {
	switch {
	case electors.MatchString(output):
		return "it wants to elect a leader, for which this run has no Leases: start it without leader election, such as with --leader-elect=false"
	case p.alone != "" && seekers.MatchString(output):
		return "it looks for a cluster, and this run has none: choose another cluster than none, or start the program so that it serves conversions without one"
	case seekers.MatchString(output):
		return "it looks for the cluster of its pod and does not read $KUBECONFIG, which names the API server of this run: give it that by {kubeconfig} in an argument or a variable"
	}
	for _, pattern := range lacks {
		if found := pattern.FindStringSubmatch(output); found != nil {
			asked := "it asks for " + strings.Join(found[1:], " of ") + ", which "
			if isCustom(found[len(found)-1]) {
				return asked + "no definition that is installed serves: one that does is enough, or start the program without what needs it"
			}
			return asked + "the API server of this run does not serve: check on a whole control plane, such as those of envtest and kind, or start the program without what needs it"
		}
	}
	return ""
}

// builtIn are the groups of Kubernetes that have a dot. Definitions of custom resources have other groups below k8s.io, with one name more.
var builtIn = regexp.MustCompile(`^([a-z]+|(flowcontrol|internal)\.apiserver|rbac\.authorization)\.k8s\.io$`)

// isCustom reports whether something is a custom resource: a resource with its group, or a group with a version.
func isCustom(what string) bool {
	group, _, isVersion := strings.Cut(what, "/")
	if !isVersion {
		_, group, _ = strings.Cut(what, ".")
	}
	return strings.Contains(group, ".") && !builtIn.MatchString(group)
}

// lastWords is what the program said at its end, for errors: what it lacked, if that is known, the beginning of its crash, or else its last
// lines.
func (p *Process) lastWords() string {
	output := p.written()
	text := output.Text(shownLines)
	if strings.TrimSpace(text) == "" {
		return "it wrote nothing"
	}
	if cause := p.cause(text); cause != "" {
		return cause
	}
	if crash := output.Crash(); crash != "" {
		return crash
	}
	return "its last output:\n" + text
}
