// Command generate writes the site of the documentation: "crdconform explain --all --output json | generate ROOT SITE", where ROOT is the
// repository and SITE the folder to write to.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/site"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintf(os.Stderr, "generate: %v\n", err)
		os.Exit(1)
	}
}

func generate() error {
	if len(os.Args) != 3 {
		return errors.New("it requires the folder of the repository, and the one to write to")
	}
	var explanations []explanation.Explanation
	if err := json.NewDecoder(os.Stdin).Decode(&explanations); err != nil { //nolint:musttag,nolintlint // what has no tags in it is a text, which musttag sees only where it reads all packages
		return fmt.Errorf("standard input: %w", err)
	}
	files, err := site.Build(os.DirFS(os.Args[1]), explanations)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(os.Args[2], filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil { //nolint:gosec // it is to be served
			return err
		}
	}
	return nil
}
