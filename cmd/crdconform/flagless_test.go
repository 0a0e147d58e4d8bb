package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestLibrariesNameNoFlags wants messages of packages to name no flag of this program: users of the Go API have none, and others may have
// said it by crdconform.yaml. Whole commands to run are fine, and so are arguments of other programs, which are no sentences.
func TestLibrariesNameNoFlags(t *testing.T) {
	t.Parallel()
	flags := map[string]bool{}
	for _, cmd := range commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	}
	named := regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
	command := regexp.MustCompile(`\b(crdconform|kubectl|kind|docker) [a-z]+ |\b(crdconform|kubectl) (--|[a-z]+)|\./bin/manager|^[^ ]+$`)
	root, files := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		// The commands, the table of options itself, programs for tests, and folders of others.
		case slices.Contains([]string{"cmd", "internal/options", "internal/test"}, name),
			entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, is := n.(*ast.BasicLit); is && text.Kind == token.STRING && !command.MatchString(text.Value) {
				for _, flag := range named.FindAllStringSubmatch(text.Value, -1) {
					if flags[flag[1]] {
						t.Errorf("%s names --%s: %s", set.Position(text.Pos()), flag[1], text.Value)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 200 {
		t.Errorf("%v, or there are only %d files", err, files)
	}
}
