package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// exported returns the exported names and methods of the public packages of a module, one a line after its package. The IDs of
// requirements are left out: requirement/ids.go is generated from the catalogue. So are the chapters, which are made of types that only
// packages of ours can name.
func exported(root string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"internal", "suites", "testdata"}, name) || isModule(path)):
			return filepath.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		folder, err := filepath.Rel(root, path)
		if err != nil || filepath.ToSlash(folder) == "requirement/ids.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil || file.Name.Name == "main" {
			return err
		}
		for _, declaration := range file.Decls {
			for _, name := range declared(declaration) {
				names = append(names, filepath.ToSlash(filepath.Dir(folder))+": "+name)
			}
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), err // a name may stand in a file for each system
}

// isModule reports whether a folder is a module of its own.
func isModule(path string) bool {
	_, err := os.Stat(filepath.Join(path, "go.mod"))
	return err == nil
}

// declared returns the exported names of a declaration.
func declared(declaration ast.Decl) []string {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		receiver := ""
		if d.Recv != nil {
			receiver = typeName(d.Recv.List[0].Type)
		}
		switch {
		case !d.Name.IsExported() || receiver != "" && !ast.IsExported(receiver):
			return nil
		case receiver != "":
			return []string{"method " + receiver + "." + d.Name.Name}
		}
		return []string{"func " + d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			names = append(names, specified(d.Tok, spec)...)
		}
		return names
	}
	return nil
}

func specified(token token.Token, spec ast.Spec) []string {
	var names []string
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			names = append(names, "type "+s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				names = append(names, token.String()+" "+name.Name)
			}
		}
	}
	return names
}

// typeName is the name of a receiver's type.
func typeName(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
