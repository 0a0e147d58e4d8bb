package dump

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/manifest"
)

// IsGit reports whether a source is of the form git://REF or git://REF:PATH.
func IsGit(source string) bool { return strings.HasPrefix(source, gitScheme) }

// GitFile is a file as it was in a revision.
type GitFile struct {
	Name string // REF:PATH
	Path string // relative to the working directory, if it was looked for by a path
	Data []byte
}

// GitFiles returns the files of YAML and JSON at git://REF:PATH with those below it, or, for git://REF, those at the paths, which are
// relative to the working directory. What was not there at REF is left out. Files that mention no CustomResourceDefinition are too.
func GitFiles(ctx context.Context, source string, paths []string) ([]GitFile, error) {
	ref, name, whole := strings.Cut(strings.TrimPrefix(source, gitScheme), ":")
	if ref == "" || strings.HasPrefix(ref, "-") || whole && name == "" {
		return nil, fmt.Errorf("%s is not of the form git://REF or git://REF:PATH, such as git://main or git://v1.4.0:config/crd/bases", source)
	}
	revision, err := gitCommit(ctx, source, ref)
	if err != nil {
		return nil, err
	}
	if whole {
		return gitWhole(ctx, ref, revision, name)
	}
	prefix, err := git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	here := strings.TrimSpace(string(prefix))
	var all []GitFile
	for _, one := range paths {
		if filepath.IsAbs(one) || one == "-" {
			return nil, fmt.Errorf("%s has no path, and %s is not one relative to the working directory; give git://%s:PATH", source, one, ref)
		}
		files, err := gitBelow(ctx, ref, revision, path.Join(here, filepath.ToSlash(one)), here)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

// gitWhole returns a file, or those below a folder, of which there must be one.
func gitWhole(ctx context.Context, ref, revision, name string) ([]GitFile, error) {
	files, err := gitBelow(ctx, ref, revision, path.Clean(name), "")
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("there is no file with a CustomResourceDefinition in %s at %s in git; the path begins at the root of the repository", name, ref)
	}
	return files, err
}

// gitBelow returns a file, or those below a folder.
func gitBelow(ctx context.Context, ref, revision, name, here string) ([]GitFile, error) {
	arguments := []string{"ls-tree", "-r", "-z", "--full-tree", "--name-only", revision}
	if name != "." {
		arguments = append(arguments, "--", name)
	}
	list, err := git(ctx, arguments...)
	if err != nil {
		return nil, fmt.Errorf("reading %s at %s from git: %w", name, ref, err)
	}
	var all []GitFile
	for file := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if !manifest.IsFile(file) {
			continue
		}
		data, err := git(ctx, "cat-file", "blob", revision+":"+file)
		if err != nil {
			return nil, fmt.Errorf("reading %s at %s from git: %w", file, ref, err)
		}
		if bytes.Contains(data, []byte("CustomResourceDefinition")) {
			all = append(all, GitFile{ref + ":" + file, strings.TrimPrefix(file, here), data})
		}
	}
	return all, nil
}

// GitTree writes the files of YAML and JSON of a revision that are beside, above and below some of its files to a folder, at their paths, so that
// kustomizations can be built there. The files are named as GitFiles names them; it returns where they are.
func GitTree(ctx context.Context, files []GitFile, into string) ([]string, error) {
	tops := map[string][]string{} // of the paths, by revision
	var names []string
	for _, f := range files {
		ref, name, _ := strings.Cut(f.Name, ":")
		top, _, below := strings.Cut(name, "/")
		if !below {
			top = "."
		}
		if !slices.Contains(tops[ref], top) {
			tops[ref] = append(tops[ref], top)
		}
		names = append(names, filepath.Join(into, filepath.FromSlash(name)))
	}
	for ref, paths := range tops {
		root, err := git(ctx, "rev-parse", "--show-toplevel")
		if err != nil {
			return nil, err
		}
		archive, err := git(ctx, append([]string{"-C", strings.TrimSpace(string(root)), "archive", "--format=tar", ref, "--"}, paths...)...)
		if err != nil {
			return nil, fmt.Errorf("reading %s at %s from git: %w", strings.Join(paths, ", "), ref, err)
		}
		if err := extract(archive, into); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// extract writes the files of YAML and JSON of an archive to a folder.
func extract(archive []byte, into string) error {
	all := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := all.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(header.Name)
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || !manifest.IsFile(name) && !manifest.IsKustomization(name) {
			continue
		}
		data, err := io.ReadAll(all)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(into, name)), 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(into, name), data, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
