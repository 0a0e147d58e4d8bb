package dump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"strings"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/manifest"
)

const gitScheme = "git://"

// git reads the file, or the files of the folder, at REF:PATH in the repository of the current directory.
func (c *collector) git(ctx context.Context, at string) error {
	ref, name, found := strings.Cut(at, ":")
	if !found || ref == "" || name == "" || strings.HasPrefix(ref, "-") {
		return fmt.Errorf("%s%s is not of the form git://REF:PATH, such as git://v1.4.0:config/crd/bases", gitScheme, at)
	}
	revision, err := gitCommit(ctx, gitScheme+at, ref)
	if err != nil {
		return err
	}
	name = path.Clean(name)
	kind, err := git(ctx, "cat-file", "-t", revision+":"+name)
	if err != nil {
		return fmt.Errorf("there is no %s at %s in git: %w; the path begins at the root of the repository", name, ref, err)
	}
	files := []string{name}
	if strings.TrimSpace(string(kind)) == "tree" {
		if files, err = gitFolder(ctx, ref, revision, name); err != nil {
			return err
		}
	}
	for _, file := range files {
		data, err := git(ctx, "cat-file", "blob", revision+":"+file)
		if err != nil {
			return fmt.Errorf("reading %s at %s from git: %w", file, ref, err)
		}
		if err := c.text(ref+":"+file, bufio.NewReader(bytes.NewReader(data))); err != nil {
			return err
		}
	}
	return nil
}

// gitCommit returns the commit that the reference of a source is of in the repository of the current directory.
func gitCommit(ctx context.Context, source, ref string) (string, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", fmt.Errorf("%s needs the program git, which is not installed: %w", source, err)
	}
	if _, err := git(ctx, "rev-parse", "--git-dir"); err != nil {
		return "", fmt.Errorf("%s: %w", source, err) // there is no repository, or it is somebody else's
	}
	commit, err := git(ctx, "rev-parse", "--verify", ref+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("git has no revision %s: %w; a checkout of CI may have the last commit only", ref, err)
	}
	return strings.TrimSpace(string(commit)), nil
}

// gitFolder returns the files of YAML and JSON in a folder.
func gitFolder(ctx context.Context, ref, revision, folder string) ([]string, error) {
	list, err := git(ctx, "ls-tree", "-z", "--name-only", revision+":"+folder)
	if err != nil {
		return nil, fmt.Errorf("reading %s at %s from git: %w", folder, ref, err)
	}
	var files []string
	for file := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if manifest.IsKustomization(file) {
			return nil, fmt.Errorf("%s at %s has a kustomization, which is built from files only; run \"git worktree add\" for %s, and give the folder there", folder, ref, ref)
		}
		if manifest.IsFile(file) {
			files = append(files, path.Join(folder, file))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("there is no .yaml, .yml or .json file in %s at %s in git", folder, ref)
	}
	return files, nil
}

// git returns what a command of git writes.
func git(ctx context.Context, arguments ...string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends it when it writes too much
	command := exec.CommandContext(ctx, "git", arguments...)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err = command.Start(); err != nil {
		return nil, err
	}
	data, err := files.ReadAll(out, "its output", files.Objects)
	if err != nil {
		cancel()
	}
	if ended := command.Wait(); err == nil && ended != nil {
		err = ended
		if said, _, _ := strings.Cut(strings.TrimSpace(complaints.String()), "\n"); said != "" {
			err = errors.New(strings.TrimPrefix(said, "fatal: "))
		}
	}
	return data, err
}
