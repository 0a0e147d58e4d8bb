// Package state keeps in a file how far something is, so that another run can go on.
package state

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/crdconform/crdconform/internal/input"
)

// ErrOther is the error of Load for a file that Save did not write.
var ErrOther = errors.New("it is no such file")

// Load reads what Save wrote, and reports whether there is a file.
func Load(file string, into any) (bool, error) {
	raw, err := input.File(file, input.Objects)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return true, errors.Join(ErrOther, err)
	}
	return true, nil
}

// Save writes a file that is complete whenever the process is killed.
func Save(file string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
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

// Remove removes the file, if there is one.
func Remove(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
