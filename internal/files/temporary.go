package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/process"
)

// prefix begins the names of all folders.
const prefix = "crdconform-"

// note is the file of a folder that says which process made it.
const note = ".crdconform-owner"

// owner is a process, on any machine or container that shares the folder for temporary files.
type owner struct {
	Host      string `json:"host"`
	Boot      string `json:"boot"`      // of the machine, so that two of the same name differ; empty where it has no name
	Namespace string `json:"namespace"` // of process IDs; empty where there are none
	Process   int    `json:"process"`
	Started   string `json:"started"` // in the words of the system; empty where they are not known
}

// self is this process.
func self() (owner, error) {
	host, err := os.Hostname()
	if err != nil {
		return owner{}, err
	}
	namespace, _ := os.Readlink("/proc/self/ns/pid")          // other systems have none
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // nor has it a name there
	started, _ := process.Started(os.Getpid())
	return owner{host, strings.TrimSpace(string(boot)), namespace, os.Getpid(), started}, nil
}

// isGone reports whether a process has ended. What cannot be seen from here may run.
func (o owner) isGone() bool {
	here, err := self()
	if err != nil || o.Host != here.Host || o.Boot != here.Boot || o.Namespace != here.Namespace || o.Process <= 0 {
		return false
	}
	if runtime.GOOS == "linux" && (here.Boot == "" || here.Started == "" || o.Started == "") { // without /proc no process is seen
		return false
	}
	started, running := process.Started(o.Process)
	return !running || started != "" && started != o.Started
}

// TemporaryDir makes a folder for this process in another one, or in that of the system if it is empty. Its name is crdconform-, words, and a
// number.
func TemporaryDir(in, words string) (string, error) {
	dir, err := os.MkdirTemp(in, prefix+words)
	if err != nil && in == "" {
		return "", fmt.Errorf("no folder for temporary files can be made in %s (%w); set TMPDIR to a folder in which it can", os.TempDir(), err)
	}
	if err != nil {
		return "", err
	}
	o, err1 := self()
	text, err2 := json.Marshal(o)
	if err := errors.Join(err1, err2, os.WriteFile(filepath.Join(dir, note), text, 0o600)); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// Leftover is a folder whose process is gone.
type Leftover struct {
	Path    string
	Created time.Time
}

// Left returns the folders in another one whose processes are gone, sorted by name. What cannot be read is of other users.
func Left(in string) ([]Leftover, error) {
	entries, err := os.ReadDir(in)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for temporary files: %w", err)
	}
	var left []Leftover
	for _, entry := range entries {
		path := filepath.Join(in, entry.Name())
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), prefix) || !isAbandoned(path) {
			continue
		}
		if info, err := os.Lstat(filepath.Join(path, note)); err == nil {
			left = append(left, Leftover{path, info.ModTime()})
		}
	}
	return left, nil
}

// isAbandoned reports whether a folder has a note whose process is gone.
func isAbandoned(path string) bool {
	file := filepath.Join(path, note)
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := Read(file, Lists)
	var o owner
	return err == nil && json.Unmarshal(text, &o) == nil && o.isGone()
}

// Remove removes the folder, and last its note: what cannot be removed can be found again.
func (l Leftover) Remove() error {
	entries, err := os.ReadDir(l.Path)
	errs := []error{err}
	for _, entry := range entries {
		if entry.Name() != note {
			errs = append(errs, os.RemoveAll(filepath.Join(l.Path, entry.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return os.RemoveAll(l.Path)
}
