package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files makes a folder with these files in it and returns it.
func filesOf(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		write(t, filepath.Join(dir, name), "x")
	}
	return dir
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := filesOf(t, "crds/b.yaml", "crds/a.yml", "crds/c.json", "crds/readme.md", "crds/sub/d.yaml", "crds/sub.yaml/e.yaml", "odd[1].yaml", "one.txt", "empty/readme.md", "built/Kustomization", "built/a.yaml", "built/deep/b.yaml")
	absolute := filepath.Join(filesOf(t, "f.yaml"), "f.yaml")
	for name, test := range map[string]struct {
		names []string
		want  []string // relative to the folder
	}{
		"none":              {nil, nil},
		"a file":            {[]string{"one.txt"}, []string{"one.txt"}},
		"a pattern":         {[]string{"crds/*.yaml"}, []string{"crds/b.yaml", "crds/sub.yaml/e.yaml"}},
		"a folder":          {[]string{"crds"}, []string{"crds/a.yml", "crds/b.yaml", "crds/c.json"}},
		"a folder, slashed": {[]string{"./crds/"}, []string{"crds/a.yml", "crds/b.yaml", "crds/c.json"}},
		"folders":           {[]string{"crds/s*"}, []string{"crds/sub.yaml/e.yaml", "crds/sub/d.yaml"}},
		"twice":             {[]string{"crds/b.yaml", "crds", "./crds/../crds/a.yml"}, []string{"crds/a.yml", "crds/b.yaml", "crds/c.json"}},
		"a kustomization":   {[]string{"built"}, []string{"built/Kustomization"}},
		"and its files":     {[]string{"built/*"}, []string{"built/Kustomization", "built/deep/b.yaml"}},
		"signs in a name":   {[]string{"odd[1].yaml"}, []string{"odd[1].yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := read(t, dir, "crds", test.names)
			got, err := c.Files("crds", c.CRDs)
			var want []string
			for _, name := range test.want {
				want = append(want, filepath.Join(dir, name))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			if c = read(t, dir, "samples", test.names); err != nil {
				t.Fatal(err)
			}
			if got, err = c.Files("samples", c.Samples); err != nil || !slices.Equal(got, want) {
				t.Errorf("samples: got %v, %v; want %v", got, err, want)
			}
		})
	}
	if got, err := read(t, dir, "crds", []string{absolute}).Files("crds", []string{absolute}); err != nil || !slices.Equal(got, []string{absolute}) {
		t.Errorf("by its whole name: %v, %v", got, err)
	}
}

// read reads a configuration in a folder that has one list of names.
func read(t *testing.T, dir, key string, names []string) Config {
	t.Helper()
	var list []string
	for _, name := range names {
		list = append(list, "\n- "+scalar(name))
	}
	if len(names) == 0 {
		list = []string{"[]"}
	}
	c, err := Parse(filepath.Join(dir, FileName), []byte(head+key+": "+strings.Join(list, "")))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFilesThatAreMissing(t *testing.T) {
	t.Parallel()
	dir := filesOf(t, "empty/readme.md", "a.yaml")
	_, err := read(t, dir, "crds", []string{"a.yaml", "b.yaml", "*.json", "empty"}).Files("crds", []string{"a.yaml", "b.yaml", "*.json", "empty"})
	file := filepath.Join(dir, FileName)
	for _, want := range []string{
		file + ":5:3: crds[1]: there is no file " + dir + "/b.yaml\n  5 | - b.yaml\n        ^",
		file + ":6:3: crds[2]: no file matches " + dir + "/*.json\n",
		file + ":7:3: crds[3]: no .yaml, .yml or .json file in " + dir + "/empty\n",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwant something with\n%s", err, want)
		}
	}
}

func TestLinksToFiles(t *testing.T) {
	t.Parallel()
	dir := filesOf(t, "real/a.yaml")
	for link, target := range map[string]string{"folder": "real", "real/b.yaml": "a.yaml", "real/dangling.yaml": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := read(t, dir, "crds", []string{"folder"}).Files("crds", []string{"folder"})
	want := []string{filepath.Join(dir, "folder/a.yaml"), filepath.Join(dir, "folder/b.yaml"), filepath.Join(dir, "folder/dangling.yaml")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := read(t, dir, "crds", []string{"real/d*.yaml"}).Files("crds", []string{"real/d*.yaml"}); err == nil || !strings.Contains(err.Error(), "dangling.yaml") {
		t.Errorf("of a link to nowhere it says: %v", err)
	}
}

// TestFolderWithSigns wants the folder of the file to be no part of a pattern.
func TestFolderWithSigns(t *testing.T) {
	t.Parallel()
	dir := filesOf(t, "[a]*?/x.yaml", `b\c/x.yaml`)
	for _, folder := range []string{"[a]*?", `b\c`} {
		got, err := read(t, filepath.Join(dir, folder), "crds", []string{"*.yaml"}).Files("crds", []string{"*.yaml"})
		if want := []string{filepath.Join(dir, folder, "x.yaml")}; err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	c := parse(t, head)
	for name, want := range map[string]string{"ca.crt": "dir/ca.crt", "../ca.crt": "ca.crt", "/etc/ca.crt": "/etc/ca.crt", "git://v1:crds": "git://v1:crds", "": "", ".": "dir"} {
		if got := c.Path(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	if got := Default().Path("a/../b"); got != "a/../b" {
		t.Errorf("without a file it is %q", got)
	}
}
