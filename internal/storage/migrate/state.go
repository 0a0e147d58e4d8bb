package migrate

import (
	"context"
	"encoding/json"
	"errors"

	files "github.com/crdconform/crdconform/internal/files"
)

// state is what another run needs to resume. It holds for a definition that has not changed since.
type state struct {
	Definition string `json:"definition"`
	UID        string `json:"uid"`
	Generation int64  `json:"generation"`
	Storage    string `json:"storage"`

	// Revision is that of the first list. Whatever was written after it is patched at the end only.
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

// began notes the revision of the first list.
func (m *migration) began(ctx context.Context, revision string) error {
	if m.start.Revision != "" {
		return nil
	}
	m.start.Revision = revision
	return m.save(ctx)
}

// completed notes that all objects are at the storage version, if they were looked at.
func (m *migration) completed(ctx context.Context) error {
	if _, err := m.unchanged(ctx); err != nil {
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
	switch {
	case !m.writes():
		return nil
	case m.options.State != "":
		return files.SaveState(m.options.State, m.start)
	case m.lease == nil:
		return nil
	}
	text, err := json.Marshal(m.start)
	if err != nil {
		return err
	}
	return m.lease.save(ctx, string(text))
}

// forget removes the file when nothing in it is needed any more.
func (m *migration) forget(succeeded bool) error {
	if m.options.State == "" || !succeeded || m.keepsState() {
		return nil
	}
	return files.RemoveState(m.options.State)
}

func loadState(file string) (state, error) {
	var s state
	found, err := files.LoadState(file, &s)
	if errors.Is(err, files.ErrNoState) || err == nil && found && s.Definition == "" {
		return s, misused("%s is not the state of a migration; name another file, or remove it", file)
	}
	return s, err
}
