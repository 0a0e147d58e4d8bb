package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
)

// cgroupsMounted is where hierarchies of cgroups are, see cgroups(7).
const cgroupsMounted = "/sys/fs/cgroup"

const (
	// goneLimit is how long processes that were killed may stay in a group.
	goneLimit = 5 * time.Second
	goneEvery = 20 * time.Millisecond
)

// cgroupVersion says how the files of a group are called.
type cgroupVersion struct {
	limit, swap, used, killed string
	noSwap                    func(limit uint64) uint64     // what to write so that nothing is swapped
	reached                   func(g *Cgroup) (bool, error) // whether the limit was
}

func cgroupVersions() (one, two cgroupVersion) {
	one = cgroupVersion{
		limit: "memory.limit_in_bytes", swap: "memory.memsw.limit_in_bytes", used: "memory.usage_in_bytes", killed: "memory.oom_control",
		noSwap: func(limit uint64) uint64 { return limit },
		reached: func(g *Cgroup) (bool, error) {
			times, err := g.read("memory.failcnt", "")
			return times > 0, err
		},
	}
	two = cgroupVersion{
		limit: "memory.max", swap: "memory.swap.max", used: "memory.current", killed: "memory.events",
		noSwap: func(uint64) uint64 { return 0 },
		reached: func(g *Cgroup) (bool, error) {
			times, err := g.read("memory.events", "max")
			return times > 0, err
		},
	}
	return one, two
}

// Cgroup is a cgroup of version 1 or 2 whose programs share a memory limit.
type Cgroup struct {
	dir     string
	version cgroupVersion
}

// NewCgroup makes a group as near to the one of this process as may be: in it, or in one that it is in. The error is a NoCgroupError where
// there is none that this process may use.
func NewCgroup(ctx context.Context) (*Cgroup, error) {
	root, own, naming, err := cgroupHierarchy()
	if err != nil {
		return nil, err
	}
	var refused error
	for path := own; ; path = filepath.Dir(path) {
		g, err := cgroupIn(ctx, filepath.Join(root, path), naming)
		if err == nil {
			return g, nil
		}
		if refused == nil || errors.Is(refused, os.ErrNotExist) {
			refused = err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if path == "/" {
			return nil, unavailable("%v", refused)
		}
	}
}

// cgroupHierarchy finds the cgroup of this process that the memory is counted in.
func cgroupHierarchy() (root, own string, v cgroupVersion, err error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", cgroupVersion{}, unavailable("%v", err)
	}
	one, two := cgroupVersions()
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			return filepath.Join(cgroupsMounted, "memory"), fields[2], one, nil
		case fields[1] == "":
			root, own, v = cgroupsMounted, fields[2], two
		}
	}
	if root == "" {
		return "", "", cgroupVersion{}, unavailable("this process is in none")
	}
	return root, own, v, nil
}

// cgroupIn makes a group in another one, if a process can be put there.
func cgroupIn(ctx context.Context, parent string, v cgroupVersion) (*Cgroup, error) {
	dir, err := os.MkdirTemp(parent, "crdconform-")
	if err != nil {
		return nil, err
	}
	g := &Cgroup{dir: dir, version: v}
	if err = g.try(ctx); err != nil {
		return nil, errors.Join(err, g.Remove(context.WithoutCancel(ctx)))
	}
	return g, nil
}

// try says why the group is of no use.
func (g *Cgroup) try(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(g.dir, g.version.limit)); err != nil {
		return err
	}
	if _, err := g.Seen(); err != nil {
		return err
	}
	enter := append(g.Enter(), "true")
	if out, err := exec.CommandContext(ctx, enter[0], enter[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// Enter is a command that puts itself into the group, and then becomes the program that is put behind it.
func (g *Cgroup) Enter() []string {
	return []string{"sh", "-c", `echo 0 > "$0" && exec "$@"`, filepath.Join(g.dir, "cgroup.procs")}
}

// Limit limits the memory of all programs in the group together, in bytes, with what is swapped where that is counted.
func (g *Cgroup) Limit(most uint64) error {
	if err := g.write(g.version.limit, most); err != nil {
		return fmt.Errorf("limiting memory: %w", err)
	}
	// Where memory and swap together are reached first, version 1 counts nothing, so that limit is only for machines that swap.
	if swaps, err := os.ReadFile("/proc/swaps"); err == nil && bytes.Count(swaps, []byte("\n")) < 2 {
		return nil
	}
	err := g.write(g.version.swap, g.version.noSwap(most))
	if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("limiting memory: %w", err)
	}
	return nil
}

func (g *Cgroup) write(name string, value uint64) error {
	f, err := os.OpenFile(filepath.Join(g.dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.FormatUint(value, 10))
	return errors.Join(err, f.Close())
}

// Used returns how much memory the programs use together, in bytes, with the files that they were the first to read.
func (g *Cgroup) Used() (uint64, error) {
	used, err := g.read(g.version.used, "")
	return uint64(max(0, used)), err //nolint:gosec // it is not negative
}

// Seen returns what became of the programs so far.
func (g *Cgroup) Seen() (CgroupSeen, error) {
	reached, err := g.version.reached(g)
	if err != nil {
		return CgroupSeen{}, err
	}
	killed, err := g.read(g.version.killed, "oom_kill")
	return CgroupSeen{Reached: reached, Killed: killed}, err
}

// read returns a number of a file that has it alone, or in a line with a name.
func (g *Cgroup) read(file, name string) (int, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 1 || len(fields) == 2 && fields[0] == name {
			return strconv.Atoi(fields[len(fields)-1])
		}
	}
	return 0, fmt.Errorf("%s of the cgroup says nothing of %s", file, name)
}

// Remove removes the group once its programs have ended.
func (g *Cgroup) Remove(ctx context.Context) error {
	for end := time.Now().Add(goneLimit); ; {
		err := os.Remove(g.dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) || pause.For(ctx, goneEvery) != nil {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
}
