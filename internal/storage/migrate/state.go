package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/crdconform/crdconform/internal/input"
)

// state is what another run needs to resume. It holds for a definition that has not changed since.
type state struct {
	Definition string `json:"definition"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	Storage    string `json:"storage"`

	// Revision is that of the first list. Whatever was written after it is at the storage version.
	Revision string `json:"revision"`

	// Completed says that all objects are.
	Completed bool `json:"completed"`
}

// resume takes over the state of an earlier run, if it was about the definition as it is now.
func (m *migration) resume() error {
	m.start = state{Definition: m.name, UID: string(m.crd.UID), Generation: m.crd.Generation, Storage: m.storage}
	if !m.writes() {
		return nil
	}
	var earlier state
	var err error
	switch {
	case m.options.State != "":
		earlier, err = loadState(m.options.State)
	case m.lease != nil:
		earlier, err = m.lease.load()
	}
	if err != nil {
		return err
	}
	if earlier.Definition != "" && earlier.Definition != m.name {
		return misused("%s is about %s; give each definition a file of its own", m.options.State, earlier.Definition)
	}
	if earlier.UID == m.start.UID && earlier.Generation == m.start.Generation && earlier.Storage == m.start.Storage && earlier.Revision != "" {
		m.start, m.result.Resumed = earlier, true
	}
	return nil
}

// began notes the revision of the first list, from which on whatever is written is at the storage version.
func (m *migration) began(ctx context.Context, revision string) error {
	if m.start.Revision != "" {
		return nil
	}
	m.start.Revision = revision
	return m.save(ctx)
}

// completed notes that all objects are at the storage version, if they were looked at.
func (m *migration) completed(ctx context.Context) error {
	if _, err := m.unchanged(ctx, true); err != nil {
		return err
	}
	if !m.takes(Objects) {
		return nil
	}
	m.start.Completed = true
	return m.save(ctx)
}

// keepsState reports whether a later run with other steps needs the state of this one.
func (m *migration) keepsState() bool { return m.start.Completed && !m.takes(StoredVersions) }

func (m *migration) save(ctx context.Context) error {
	text, err := json.Marshal(m.start)
	switch {
	case err != nil:
		return err
	case !m.writes():
		return nil
	case m.options.State != "":
		return saveState(m.options.State, text)
	case m.lease != nil:
		return m.lease.save(ctx, string(text))
	}
	return nil
}

// forget removes the file when nothing in it is needed any more.
func (m *migration) forget(succeeded bool) error {
	if m.options.State == "" || !succeeded || m.keepsState() {
		return nil
	}
	if err := os.Remove(m.options.State); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func loadState(file string) (state, error) {
	var s state
	raw, err := input.File(file, input.Objects)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(raw, &s); err != nil || s.Definition == "" {
		return s, misused("%s is not the state of a migration; name another file, or remove it", file)
	}
	return s, nil
}

// saveState writes a file that is complete whenever the process is killed.
func saveState(file string, text []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err1 := temporary.Write(slices.Concat(text, []byte("\n")))
	err2 := temporary.Close()
	if err := errors.Join(err1, err2); err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return os.Rename(temporary.Name(), file)
}
