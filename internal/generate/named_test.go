package main

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNamed fails when users of the public API meet types of internal packages that they cannot name. Packages below suites are not
// for users: their chapters stand there to be found, and only the engine runs them.
func TestNamed(t *testing.T) {
	t.Parallel()
	names, err := exported(root)
	if err != nil {
		t.Fatal(err)
	}
	folders := []string{"suites/versions"} // where such types are found
	for _, name := range names {
		folder, _, _ := strings.Cut(name, ":")
		folders = append(folders, folder)
	}
	found, err := unnamed(root, slices.Compact(folders))
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range found {
		if !strings.HasPrefix(at, "suites/") {
			t.Errorf("%s, which users cannot name; use a type of a public package, or declare an alias in one", at)
		}
	}
	if len(found) == 0 {
		t.Error("not even chapters are found to have types of internal packages")
	}
}

// module is the path of this module.
const module = "github.com/crdconform/crdconform"

// source imports the packages of this module from their source. Those of others are empty: what comes from them has no type, which
// the errors of the type checker say that nobody needs here.
type source struct {
	root   string
	files  *token.FileSet
	loaded map[string]*types.Package
}

func (s *source) Import(name string) (*types.Package, error) {
	if p := s.loaded[name]; p != nil {
		return p, nil
	}
	folder, isOurs := strings.CutPrefix(name+"/", module+"/")
	if !isOurs {
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		s.loaded[name] = p
		return p, nil
	}
	dir := filepath.Join(s.root, folder)
	found, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var parsed []*ast.File
	for _, file := range found.GoFiles {
		f, err := parser.ParseFile(s.files, filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	check := types.Config{Importer: s, IgnoreFuncBodies: true, Error: func(error) {}}
	p, _ := check.Check(name, s.files, parsed, nil)
	s.loaded[name] = p
	return p, nil
}

// unnamed returns where the exported names of packages show types of internal packages that users cannot name: types that none of the
// packages has an alias for.
func unnamed(root string, folders []string) ([]string, error) {
	s := &source{root: root, files: token.NewFileSet(), loaded: map[string]*types.Package{}}
	w := &walk{nameable: map[*types.TypeName]bool{}, seen: map[*types.TypeName]bool{}}
	var public []*types.Package
	for _, folder := range folders {
		p, err := s.Import(path.Join(module, folder))
		if err != nil {
			return nil, err
		}
		public = append(public, p)
		for _, name := range p.Scope().Names() {
			object := p.Scope().Lookup(name)
			if named, is := types.Unalias(object.Type()).(*types.Named); is && object.Exported() && isType(object) {
				w.nameable[named.Obj()] = true
			}
		}
	}
	for _, p := range public {
		for _, name := range p.Scope().Names() {
			if object := p.Scope().Lookup(name); object.Exported() {
				w.object(strings.TrimPrefix(p.Path(), module+"/")+"."+name, object)
			}
		}
	}
	slices.Sort(w.found)
	return slices.Compact(w.found), nil
}

func isType(object types.Object) bool {
	_, is := object.(*types.TypeName)
	return is
}

// walk goes through all that users can reach from exported names.
type walk struct {
	nameable map[*types.TypeName]bool // declared in a public package, or with an alias there
	seen     map[*types.TypeName]bool
	found    []string
}

// object follows a name that is declared at the top of a package.
func (w *walk) object(at string, object types.Object) {
	if named, is := types.Unalias(object.Type()).(*types.Named); is && isType(object) {
		w.members(at, named)
		return
	}
	w.shown(at, object.Type())
}

// members follows the fields and the methods of a type.
func (w *walk) members(at string, named *types.Named) {
	if w.seen[named.Obj()] {
		return
	}
	w.seen[named.Obj()] = true
	w.shown(at, named.Underlying())
	for method := range named.Methods() {
		if method.Exported() {
			w.shown(at+"."+method.Name(), method.Type())
		}
	}
}

// shown follows a type that stands somewhere.
func (w *walk) shown(at string, t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		w.named(at, t)
	case *types.Pointer:
		w.shown(at, t.Elem())
	case *types.Slice:
		w.shown(at, t.Elem())
	case *types.Array:
		w.shown(at, t.Elem())
	case *types.Chan:
		w.shown(at, t.Elem())
	case *types.Map:
		w.shown(at, t.Key())
		w.shown(at, t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.shown(at, v.Type())
		}
		for v := range t.Results().Variables() {
			w.shown(at, v.Type())
		}
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() || field.Embedded() {
				w.shown(at+"."+field.Name(), field.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			w.shown(at+"."+method.Name(), method.Type())
		}
	}
}

// named follows a type with a name, unless that is of another module.
func (w *walk) named(at string, t *types.Named) {
	for argument := range t.TypeArgs().Types() {
		w.shown(at, argument)
	}
	from := t.Obj().Pkg()
	if from == nil || !strings.HasPrefix(from.Path()+"/", module+"/") {
		return
	}
	isInternal := strings.Contains(from.Path(), "/internal/")
	if isInternal && !w.nameable[t.Obj()] {
		w.found = append(w.found, fmt.Sprintf("%s shows %s.%s", at, strings.TrimPrefix(from.Path(), module+"/"), t.Obj().Name()))
		return
	}
	w.members(strings.TrimPrefix(from.Path(), module+"/")+"."+t.Obj().Name(), t)
}
