package kind

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	kindexec "sigs.k8s.io/kind/pkg/exec"

	"github.com/crdconform/crdconform/internal/visible"
)

// address finds <address>:<port> in what a program says.
var address = regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-f:]+\]):\d+`)

// explain says in a sentence what went wrong with a program that kind or this package ran, and what to do. Errors of other
// sorts stay as they are.
func explain(err error) error {
	run := kindexec.RunErrorForError(err)
	if run == nil {
		if err != nil && strings.Contains(err.Error(), "could not find a log line that matches") {
			return errors.New("a node was started but did not become ready: its image is not a kind node image, or is for another architecture")
		}
		return err
	}
	program, said := run.Command[0], string(run.Output)
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(said, text) })
	}
	switch {
	case has("permission denied") && has(".sock", "Docker daemon socket", "docker API"):
		return fmt.Errorf("this user may not use %s (%s); add it to the group %s, or set up rootless mode", program, last(said), program)
	case has("Cannot connect to", "Is the docker daemon running", "cannot access containerd socket", "failed to connect to the docker API"):
		return fmt.Errorf("%s is installed but does not respond (%s); start it, or check its address (DOCKER_HOST, or `%s context ls`)", program, last(said), program)
	case has("no space left on device"):
		return fmt.Errorf("the disk is full (%s); free some space; `%s system df` shows the usage of containers and images", last(said), program)
	case has("port is already allocated", "address already in use"):
		where := address.FindString(said)
		if where == "" {
			where = "a required address"
		}
		return fmt.Errorf("%s is in use: choose another port in the kind configuration (apiServerPort, or hostPort of a mapping), or stop the program that uses it", where)
	case has("is already in use by container", "name is already in use"):
		return errors.New("a container with the name of a node already exists; choose another name for the cluster")
	case has("exec format error"):
		return errors.New("the node image is for another architecture than this machine; use an image for this architecture")
	case isSlow(err):
		return errors.New("the API server of the new cluster runs but did not answer in time, twice: this machine is too busy; run fewer programs at the same time")
	}
	return errors.New(failureOf(run))
}

// isSlow reports whether kubeadm found an API server that is healthy, and then had no answer to its first request in time.
func isSlow(err error) bool {
	run := kindexec.RunErrorForError(err)
	return run != nil && strings.Contains(string(run.Output), "could not bootstrap the admin user") && strings.Contains(string(run.Output), "deadline exceeded")
}

// failureOf says which program failed and what it said last.
func failureOf(run *kindexec.RunError) string {
	command := visible.Short(run.PrettyCommand(), 100)
	if said := last(string(run.Output)); said != "" {
		return fmt.Sprintf("`%s` says: %s", command, said)
	}
	return fmt.Sprintf("`%s` failed: %v", command, run.Inner)
}

// last returns the most informative line of a program's output: the last one that contains an error, or else the last.
func last(said string) string {
	found := ""
	errored := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		found = line
		if lower := strings.ToLower(line); strings.HasPrefix(lower, "error") || strings.HasPrefix(lower, "[error") || strings.Contains(lower, "error response from daemon") {
			errored = line
		}
	}
	if errored != "" {
		return errored
	}
	return found
}
