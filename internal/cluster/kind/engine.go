package kind

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	kindcluster "sigs.k8s.io/kind/pkg/cluster"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// engine is a program that runs containers.
type engine struct {
	name     string   // of the program
	banner   string   // the beginning of its version output
	platform []string // arguments that make it print <os>/<architecture> of its containers; nil if there are none
	option   func() kindcluster.ProviderOption
}

// engines returns the programs by which kind can run nodes, in the order in which it looks for them.
func engines() []engine {
	nerdctl := func(name string) engine {
		return engine{name: name, banner: name + " version", option: func() kindcluster.ProviderOption { return kindcluster.ProviderWithNerdctl(name) }}
	}
	return []engine{
		{"docker", "Docker version", []string{"version", "--format", "{{.Server.Os}}/{{.Server.Arch}}"}, kindcluster.ProviderWithDocker},
		nerdctl("nerdctl"),
		nerdctl("finch"),
		{"podman", "podman version", []string{"info", "--format", "{{.Host.OS}}/{{.Host.Arch}}"}, kindcluster.ProviderWithPodman},
	}
}

// engineNamed returns the program of a name, or the first that is there if the name is empty. It fails when that does not
// work.
func engineNamed(ctx context.Context, name string) (engine, error) {
	var names []string
	for _, e := range engines() {
		names = append(names, e.name)
		if name != "" && name != e.name {
			continue
		}
		version, err := e.run(ctx, "-v")
		if ctx.Err() != nil {
			return engine{}, context.Cause(ctx)
		}
		if err != nil || !strings.HasPrefix(version, e.banner) {
			if name != "" {
				return engine{}, fmt.Errorf("%s, which runs the nodes, is not on PATH; install it", name)
			}
			continue
		}
		if _, err := e.run(ctx, "info"); err != nil {
			return engine{}, explain(err)
		}
		return e, nil
	}
	if name != "" {
		return engine{}, fmt.Errorf("kind cannot run nodes with %q (want %s)", name, strings.Join(names, ", "))
	}
	return engine{}, fmt.Errorf("no program to run nodes: none of %s is on PATH; install Docker, for example", strings.Join(names, ", "))
}

// killDelay is how long a program has to let go of its output after its context has ended.
const killDelay = 5 * time.Second

// run runs the program and returns what it says, without space around it. What it says when it fails is in the error.
func (e engine) run(ctx context.Context, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, e.name, arguments...)
	cmd.WaitDelay = killDelay
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		out.Write(said.Bytes()) // the cause comes last
		return "", &kindexec.RunError{Command: cmd.Args, Output: out.Bytes(), Inner: err}
	}
	return strings.TrimSpace(out.String()), nil
}

// ensure makes sure that an image is available and that this machine can run it. kind would do the former too, but cannot be
// interrupted, and would try for a long time.
func (e engine) ensure(ctx context.Context, image string) error {
	platform, err := e.platformOf(ctx, image)
	if err != nil && ctx.Err() == nil {
		if _, pulled := e.run(ctx, "pull", image); pulled != nil && ctx.Err() == nil {
			return fmt.Errorf("the node image %s is not available locally and cannot be pulled: %w", image, explain(pulled))
		}
		platform, err = e.platformOf(ctx, image)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("the node image %s: %w", image, explain(err))
	}
	own, err := e.ownPlatform(ctx)
	if err != nil {
		return err
	}
	if own != "" && own != platform {
		return fmt.Errorf("the node image %s is for %s, but %s runs containers for %s; use an image for that architecture", image, platform, e.name, own)
	}
	return nil
}

// platformOf returns the operating system and the architecture of an image that is there.
func (e engine) platformOf(ctx context.Context, image string) (string, error) {
	return e.run(ctx, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}}", image)
}

// ownPlatform returns the operating system and the architecture of what the program runs; empty if it does not say.
func (e engine) ownPlatform(ctx context.Context) (string, error) {
	if e.platform == nil {
		return "", nil
	}
	own, err := e.run(ctx, e.platform...)
	return own, explain(err)
}

// save writes an image as an archive.
func (e engine) save(ctx context.Context, image string, to io.Writer) error {
	cmd := exec.CommandContext(ctx, e.name, "save", image)
	cmd.WaitDelay = killDelay
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = to, &said
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return explain(&kindexec.RunError{Command: cmd.Args, Output: said.Bytes(), Inner: err})
}
