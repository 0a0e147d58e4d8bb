package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// inWords is the text of an error, where what the system says of a path reads as a sentence that fits what is wrong with it.
func inWords(err error) string {
	text := err.Error()
	at, is := errors.AsType[*fs.PathError](err)
	if !is {
		return text
	}
	wrong := ""
	_, lost := os.Lstat(at.Path)
	switch {
	case errors.Is(at.Err, syscall.EISDIR):
		wrong = "is a folder, where a file is expected"
	case errors.Is(at.Err, syscall.ENOTDIR) && lost == nil:
		wrong = "is a file, not a folder"
	case errors.Is(at.Err, syscall.ENOTDIR):
		wrong = "is not in a folder: what is above it is a file"
	case errors.Is(at.Err, syscall.ELOOP):
		wrong = "is a symbolic link that leads in a circle"
	case errors.Is(at.Err, syscall.EROFS):
		wrong = "cannot be written, because its file system is read-only"
	case (errors.Is(at.Err, syscall.ENOENT) || errors.Is(at.Err, syscall.EEXIST)) && lost == nil && isMissing(at.Path):
		wrong = "is a symbolic link to a file that does not exist"
	case errors.Is(at.Err, syscall.EEXIST) && at.Op == "mkdir":
		wrong = "exists, and is not a folder"
	case errors.Is(at.Err, syscall.ENOENT) && at.Op != "fork/exec" && isMissing(filepath.Dir(at.Path)):
		wrong = "is in a folder that does not exist"
	case errors.Is(at.Err, syscall.ENOENT) && at.Op != "fork/exec" && at.Op != "mkdir":
		wrong = "does not exist"
	default:
		return text
	}
	return strings.ReplaceAll(text, at.Error(), at.Path+" "+wrong)
}

// isMissing reports whether nothing is at a path, or at what it links to.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
