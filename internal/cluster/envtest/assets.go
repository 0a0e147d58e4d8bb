//go:build unix

package envtest

import (
	"context"
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/visible"
)

const (
	apiServerName = "kube-apiserver"
	etcdName      = "etcd"

	// usualAssets is the folder that envtest uses by default.
	usualAssets = "/usr/local/kubebuilder/bin"

	// assetsVariable names the folder with the programs, for every program that uses envtest.
	assetsVariable = "KUBEBUILDER_ASSETS"

	// oldestMinor is the oldest minor of Kubernetes 1 with which crdconform is known to work.
	oldestMinor = 28

	// askTimeout is how long a program may take to say what it is. It takes a fraction of a second.
	askTimeout = 20 * time.Second
)

// assets are the programs of a control plane.
type assets struct{ apiServer, etcd string }

// look returns where the programs are to be, in the order in which envtest looks for them. It does not look whether they
// are there.
func look(folder string, variable func(string) (string, bool)) (found assets, origin string) {
	in := func(folder string) assets {
		return assets{filepath.Join(folder, apiServerName), filepath.Join(folder, etcdName)}
	}
	if folder != "" {
		return in(folder), ""
	}
	found, origin = in(usualAssets), "where envtest looks when "+assetsVariable+" is not set"
	if folder, set := variable(assetsVariable); set {
		found, origin = in(folder), "which "+assetsVariable+" names"
	}
	if path, set := variable("TEST_ASSET_KUBE_APISERVER"); set {
		found.apiServer, origin = path, "which TEST_ASSET_KUBE_APISERVER names"
	}
	if path, set := variable("TEST_ASSET_ETCD"); set {
		found.etcd = path
	}
	return found, origin
}

// Validate reports whether the programs are there. Start reports whether they can be used.
func (o Options) Validate() error {
	_, err := locate(o)
	return err
}

// find returns the programs of a control plane, or why there are none that can be used.
func find(ctx context.Context, options Options) (assets, error) {
	found, err := locate(options)
	if err != nil {
		return found, err
	}
	return found, found.ask(ctx)
}

// locate returns the programs of a control plane, or which of them is not there.
func locate(options Options) (assets, error) {
	variable := options.Variable
	if variable == nil {
		variable = func(string) (string, bool) { return "", false }
	}
	found, origin := look(options.Assets, variable)
	for _, path := range []*string{&found.apiServer, &found.etcd} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return found, err
		}
		*path = absolute
		if err := isProgram(absolute, origin); err != nil {
			return found, err
		}
	}
	return found, nil
}

// isProgram returns an error unless there is a file that can be run. The origin says who named it.
func isProgram(path, origin string) error {
	folder, name := filepath.Split(path)
	folder = filepath.Clean(folder)
	if origin != "" {
		folder += " (" + origin + ")"
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s in %s: set the assets option or %[5]s to a folder with %[3]s and %[4]s; setup-envtest downloads one and prints its name: setup-envtest use -p path",
			name, folder, apiServerName, etcdName, assetsVariable)
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case info.IsDir():
		return fmt.Errorf("%s is a folder, not a program", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable; run chmod +x %s", path, path)
	}
	return nil
}

// ask has the programs say what they are. It returns an error when they cannot be run here, or are too old.
func (a assets) ask(ctx context.Context) error {
	var asked sync.WaitGroup
	var server, etcd error
	asked.Go(func() { server = recent(ctx, a.apiServer) })
	asked.Go(func() { etcd = knows(ctx, a.etcd, httpFlag) })
	asked.Wait()
	return errors.Join(server, etcd)
}

var releasePattern = regexp.MustCompile(`v1\.(\d+)\.\S+`)

// recent returns an error unless a program is a kube-apiserver of a minor with which crdconform works.
func recent(ctx context.Context, path string) error {
	said, err := says(ctx, path, "--version")
	if err != nil {
		return err
	}
	release := releasePattern.FindStringSubmatch(said)
	if release == nil {
		return fmt.Errorf("%s does not report its Kubernetes release: --version prints %q", path, visible.Short(visible.Line(said), mostQuoted))
	}
	if minor, err := strconv.Atoi(release[1]); err != nil || minor < oldestMinor {
		return fmt.Errorf("%s is Kubernetes %s, but crdconform requires 1.%d or later", path, release[0], oldestMinor)
	}
	return nil
}

// knows returns an error unless a program has a flag.
func knows(ctx context.Context, path, flag string) error {
	help, err := says(ctx, path, "--help")
	if err != nil {
		return err
	}
	if !strings.Contains(help, "--"+flag) {
		return fmt.Errorf("%s is not etcd, or is too old: it has no flag --%s; use the one that comes with Kubernetes 1.%d or later", path, flag, oldestMinor)
	}
	return nil
}

// says runs a program with one argument and returns what it writes.
func says(ctx context.Context, path, argument string) (string, error) {
	within, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	command := exec.CommandContext(within, path, argument)
	command.WaitDelay = time.Second
	said, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case within.Err() != nil:
		return "", fmt.Errorf("%s %s did not end within %s", path, argument, askTimeout)
	case errors.Is(err, syscall.ENOEXEC):
		return "", fmt.Errorf("%s cannot run on this machine, which is %s/%s: it is %s", path, runtime.GOOS, runtime.GOARCH, platform(path))
	case err != nil && len(said) > 0:
		return "", fmt.Errorf("%s %s: %w: %s", path, argument, err, visible.Short(visible.Line(string(said)), mostQuoted))
	case err != nil:
		return "", fmt.Errorf("%s %s: %w", path, argument, err)
	}
	return string(said), nil
}

// platform says what a file is that cannot be run here.
func platform(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer file.Close() //nolint:errcheck // closing what was only read from can't lose anything
	if program, err := elf.NewFile(file); err == nil {
		return "for " + strings.ToLower(strings.TrimPrefix(program.Machine.String(), "EM_"))
	}
	if _, err := macho.NewFile(file); err == nil {
		return "for macOS"
	}
	return "not a program for this system"
}

// mostQuoted is how many bytes of what a program writes are in a message.
const mostQuoted = 300
