package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/engine"
	"github.com/crdconform/crdconform/internal/manifest"
)

// settled is how long no file changes before those that did are taken to be complete: editors and compilers write more than once.
const settled = 200 * time.Millisecond

// roots are the files and folders that are watched.
type roots struct {
	names    []string
	leaveOut string          // the folder of the report
	products map[string]bool // files that builds write
}

// watched returns what a check is made from: the program, or what it is built from, the definitions, and what belongs to them.
func (c *checker) watched(check engine.Description) roots {
	r := roots{leaveOut: absolute(check.Path(check.ReportDir)), products: map[string]bool{}}
	dir := check.Path(check.Webhook.Command.Dir)
	program := check.Webhook.Command.Args
	if found, err := exec.LookPath(program[0]); err == nil && !strings.ContainsRune(program[0], filepath.Separator) {
		program = append([]string{found}, program[1:]...)
	}
	for i, word := range program { // an interpreter's program is one of its arguments
		if file := in(dir, word); i == 0 || is(file, fs.FileMode.IsRegular) {
			r.names = append(r.names, file)
		}
	}
	if c.watching.build != "" {
		r.products[in(dir, program[0])] = true
		r.names = append(slices.DeleteFunc(r.names, func(name string) bool { return r.products[name] }), absolute("."))
	}
	for _, name := range slices.Concat([]string{cmp.Or(c.file, config.FileName)}, paths(check, check.CRDs), paths(check, check.Samples), paths(check, check.Expected)) {
		if _, err := os.Stat(name); err == nil {
			r.names = append(r.names, absolute(name))
		}
	}
	return r
}

// paths returns the files and folders that names of the configuration stand for.
func paths(check engine.Description, names []string) []string {
	var all []string
	for _, name := range names {
		name = check.Path(name)
		if files, err := filepath.Glob(name); err == nil && len(files) > 0 {
			all = append(all, files...)
		} else {
			all = append(all, name)
		}
	}
	for _, name := range all {
		if manifest.IsKustomization(name) {
			all = append(all, filepath.Dir(name))
		}
	}
	return all
}

func absolute(name string) string {
	if full, err := filepath.Abs(name); err == nil {
		return full
	}
	return name
}

// in returns a file of a program that runs in a folder.
func in(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return absolute(filepath.Join(dir, name))
}

func is(name string, of func(fs.FileMode) bool) bool {
	info, err := os.Stat(name)
	return err == nil && of(info.Mode())
}

// version is what shows that a file has changed.
type version struct {
	size    int64
	changed time.Time
}

// watched are files of which it is known what they were.
type watched struct {
	roots
	events *fsnotify.Watcher
	known  map[string]version
	built  bool // at least once
}

// look begins to watch.
func look(r roots) (*watched, error) {
	events, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watched{roots: r, events: events}
	w.known, err = w.look()
	if err != nil {
		return nil, errors.Join(err, events.Close())
	}
	return w, nil
}

func (w *watched) close() { _ = w.events.Close() } // it only reads

// look returns the versions of all files, and has the system report changes in their folders, of which there may be new ones.
func (w *watched) look() (map[string]version, error) {
	now := map[string]version{}
	for _, root := range w.names {
		if !is(root, fs.FileMode.IsDir) {
			if err := w.events.Add(filepath.Dir(root)); err != nil { // editors replace files
				return nil, err
			}
			note(now, root)
			continue
		}
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // it is gone again
			case name != root && isLeftOut(entry.Name()), name == w.leaveOut:
				if entry.IsDir() {
					return fs.SkipDir
				}
				return nil
			case entry.IsDir():
				return w.events.Add(name)
			}
			note(now, name)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return now, nil
}

// isLeftOut reports whether a file or folder is no source: .git, and what editors keep beside a file.
func isLeftOut(name string) bool { return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") }

// note adds the version of a regular file.
func note(all map[string]version, name string) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		all[name] = version{info.Size(), info.ModTime()}
	}
}

// busy is called before a program is built and run, and what it returns when it is built. What the build has written is no change: new files,
// those that the first build wrote, and the program itself. Everything else that changed meanwhile has been edited.
func (w *watched) busy(builds bool) func() {
	if now, err := w.look(); err == nil {
		w.known = now
	}
	return func() {
		now, err := w.look()
		if err != nil || !builds {
			return
		}
		for name, is := range now {
			was, known := w.known[name]
			if is == was {
				continue
			}
			if !known || !w.built {
				w.products[name] = true
			}
			if w.products[name] {
				w.known[name] = is
			}
		}
		w.built = true
	}
}

// wait waits until files have changed and no more do, and reports whether they have; the context may end before.
func (w *watched) wait(ctx context.Context) bool {
	quiet := time.NewTimer(settled) // something may have changed during the run
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-w.events.Events:
			quiet.Reset(settled)
		case <-w.events.Errors: //nolint:errcheck // some events were lost, so all files are looked at
			quiet.Reset(settled)
		case <-quiet.C:
			if now, err := w.look(); err == nil && !maps.Equal(now, w.known) && w.complete(now) {
				return true
			}
		}
	}
}

// complete reports whether each file is there that is watched by its name: editors and compilers remove some before they write them.
func (w *watched) complete(now map[string]version) bool {
	return !slices.ContainsFunc(w.names, func(root string) bool {
		_, there := now[root]
		_, was := w.known[root]
		return was && !there
	})
}
