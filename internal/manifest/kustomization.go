package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/internal/files"
)

// IsKustomization reports whether a file is a kustomization, by its name.
func IsKustomization(file string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(file))
}

// KustomizationIn returns the path of the kustomization of a folder, or nothing.
func KustomizationIn(folder string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(folder, name)
		}
	}
	return ""
}

// building is held while a kustomization is built: kustomize keeps schemas in variables of its own.
var building sync.Mutex

// build builds the kustomization of a folder. Nothing is downloaded.
func build(folder string) ([]byte, error) {
	if err := checkLocal(folder, map[string]bool{}); err != nil {
		return nil, err
	}
	whole, err := filepath.Abs(folder) // a relative path with an @ may be a repository to kustomize, which would run git
	if err != nil {
		return nil, err
	}
	building.Lock()
	defer building.Unlock()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), whole)
	if err != nil {
		return nil, fmt.Errorf("the kustomization in %s: %w", folder, err)
	}
	data, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("the kustomization in %s: %w", folder, err)
	}
	return data, nil
}

// checkLocal fails when a kustomization, or one that it is made of, needs something from elsewhere. Kustomize would run git,
// or fetch a URL, as soon as it saw it.
func checkLocal(folder string, seen map[string]bool) error {
	file := KustomizationIn(folder)
	if file == "" || seen[filepath.Clean(folder)] {
		return nil // kustomize itself says what is missing
	}
	seen[filepath.Clean(folder)] = true
	k, err := kustomization(file)
	if err != nil {
		return err
	}
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 {
		return fmt.Errorf("%s: it has Helm charts, which are not rendered; run helm template, and give the output", file)
	}
	for _, entry := range entries(k) {
		if strings.Contains(entry, "\n") {
			continue // a patch or the like, written in place
		}
		path := filepath.Join(folder, entry)
		info, err := os.Stat(path)
		if isRemote(entry, err == nil && info.Mode().IsRegular()) {
			return fmt.Errorf("%s: %s is not on this machine, and nothing is downloaded; get a copy of it, or run kustomize build and give the output", file, entry)
		}
		if err == nil && info.IsDir() {
			if err := checkLocal(path, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// kustomization reads the file of a kustomization.
func kustomization(file string) (types.Kustomization, error) {
	var k types.Kustomization
	data, err := files.Read(file, files.Objects)
	if err != nil {
		return k, err
	}
	if err := yaml.Unmarshal(data, &k); err != nil {
		return k, fmt.Errorf("%s: %w", file, err)
	}
	return k, nil
}

// Parts are the files that a kustomization puts together, with those of the kustomizations that it is made of.
type Parts struct {
	Resources, Patches []string
}

// PartsOf returns the files on this machine that a kustomization puts together. It fails if a kustomization cannot be read.
func PartsOf(file string) (Parts, error) {
	var all Parts
	err := all.add(file, map[string]bool{})
	return all, err
}

func (p *Parts) add(file string, seen map[string]bool) error {
	folder := filepath.Dir(file)
	if seen[folder] {
		return nil
	}
	seen[folder] = true
	k, err := kustomization(file)
	if err != nil {
		return err
	}
	for _, entry := range slices.Concat(k.Resources, k.Bases, k.Components) { //nolint:staticcheck // bases are deprecated, and read all the same
		path := filepath.Join(folder, entry)
		switch info, err := os.Stat(path); {
		case err != nil: // building it says what is missing
		case !info.IsDir():
			p.Resources = append(p.Resources, path)
		case KustomizationIn(path) != "":
			if err := p.add(KustomizationIn(path), seen); err != nil {
				return err
			}
		}
	}
	for _, entry := range patches(k) {
		if path := filepath.Join(folder, entry); !strings.Contains(entry, "\n") {
			p.Patches = append(p.Patches, path)
		}
	}
	return nil
}

// patches returns the patches of a kustomization: paths, or text in place of one.
func patches(k types.Kustomization) []string {
	var all []string
	for _, patch := range k.PatchesStrategicMerge { //nolint:staticcheck // deprecated, and read all the same
		all = append(all, string(patch))
	}
	for _, patch := range slices.Concat(k.Patches, k.PatchesJson6902) { //nolint:staticcheck // deprecated, and read all the same
		if patch.Path != "" {
			all = append(all, patch.Path)
		}
	}
	return all
}

// entries returns whatever a kustomization names that kustomize would load.
func entries(k types.Kustomization) []string {
	all := slices.Concat(k.Resources, k.Bases, k.Components, k.Crds, k.Configurations, k.Generators, k.Transformers, k.Validators) //nolint:staticcheck // bases are deprecated, and read all the same
	for _, path := range k.OpenAPI {
		all = append(all, path)
	}
	all = append(all, patches(k)...)
	for _, replacement := range k.Replacements {
		all = append(all, replacement.Path)
	}
	var sources []types.KvPairSources
	for _, generator := range k.ConfigMapGenerator {
		sources = append(sources, generator.KvPairSources)
	}
	for _, generator := range k.SecretGenerator {
		sources = append(sources, generator.KvPairSources)
	}
	for _, source := range sources {
		all = append(all, source.EnvSource)
		all = append(all, source.EnvSources...)
		for _, file := range source.FileSources { // path, or key=path
			_, path, found := strings.Cut(file, "=")
			if !found {
				path = file
			}
			all = append(all, path)
		}
	}
	return slices.DeleteFunc(all, func(entry string) bool { return entry == "" })
}

// isRemote reports whether kustomize would look for an entry elsewhere: it has a scheme, a user, or GitHub for its host. A file
// that is there is read in place of the latter two.
func isRemote(entry string, isFile bool) bool {
	if strings.Contains(entry, "://") {
		return true
	}
	return !isFile && regexp.MustCompile(`(?i)^(git::|[^/@]+@|(www\.)?github\.com[/:])`).MatchString(entry)
}
