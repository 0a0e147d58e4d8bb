package main

import (
	"bytes"
	"path/filepath"
	"slices"

	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/manifest"
)

// kustomizations are those beside the files that are judged, and above them, by the name of their file. Each is built once.
type kustomizations map[string]*lint.Kustomization

// of returns the kustomization that a file belongs to: the one above its folder or the one in it, in this order, of those that list the
// file. If none does, it is the nearest. It is nil if there is none.
func (k kustomizations) of(name string) *lint.Kustomization {
	folder := filepath.Dir(filepath.Clean(name))
	var nearest, broken *lint.Kustomization
	for _, at := range []string{filepath.Join(folder, ".."), folder} {
		one := k.in(at)
		if one == nil {
			continue
		}
		nearest = one
		isFile := func(other lint.File) bool { return other.Name == displayed(name) }
		switch {
		case !slices.ContainsFunc(slices.Concat(one.Resources, one.Patches), isFile):
		case k.build(one, at):
			return one
		default:
			broken = one
		}
	}
	if broken != nil {
		return broken
	}
	return nearest
}

// in returns the kustomization in a folder, nil if there is none.
func (k kustomizations) in(folder string) *lint.Kustomization {
	file := manifest.KustomizationIn(folder)
	if file == "" {
		return nil
	}
	one, known := k[file]
	if known {
		return one
	}
	one = &lint.Kustomization{Name: displayed(file)}
	k[file] = one
	parts, err := manifest.PartsOf(file)
	if err != nil {
		one.Err = err
		return one
	}
	one.Resources, one.Patches = definitionsIn(parts.Resources), definitionsIn(parts.Patches)
	return one
}

// build builds a kustomization that is in a folder. It is false if that fails.
func (k kustomizations) build(one *lint.Kustomization, folder string) bool {
	if one.Built == nil && one.Err == nil {
		one.Built, one.Err = manifest.Read(manifest.KustomizationIn(folder))
	}
	return one.Err == nil
}

// definitionsIn reads the files with definitions, or parts of them. What cannot be read is left out; building says why.
func definitionsIn(names []string) []lint.File {
	var all []lint.File
	for _, name := range names {
		data, err := files.Read(name, files.Objects)
		if err == nil && bytes.Contains(data, []byte("CustomResourceDefinition")) {
			all = append(all, lint.File{Name: displayed(name), Data: data})
		}
	}
	return all
}

// withKustomizations adds to files the kustomizations that they belong to, and the files that the kustomization of a folder is made of.
func withKustomizations(read []lint.File, folders []string) []lint.File {
	k := kustomizations{}
	var all []lint.File
	for _, folder := range folders {
		one := k.in(folder)
		if one == nil || !k.build(one, folder) {
			continue
		}
		for _, file := range one.Resources {
			file.Kustomization = one
			all = append(all, file)
		}
	}
	for _, file := range read {
		file.Kustomization = k.of(file.Name)
		all = append(all, file)
	}
	return unique(all)
}
