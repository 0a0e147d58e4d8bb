package files

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ErrNoState is the error of LoadState for a file that SaveState did not write.
var ErrNoState = errors.New("it is no such file")

// LoadState reads what SaveState wrote, and reports whether there is a file.
func LoadState(file string, into any) (bool, error) {
	raw, err := Read(file, Objects)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return true, errors.Join(ErrNoState, err)
	}
	return true, nil
}

// SaveState writes a file that is complete whenever the process is killed.
func SaveState(file string, value any) error {
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

// RemoveState removes the file, if there is one.
func RemoveState(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
