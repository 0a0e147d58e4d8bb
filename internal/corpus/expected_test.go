package corpus

import (
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/manifest"
)

// TestExpectations reads files that say what objects become, and those that do not.
func TestExpectations(t *testing.T) {
	t.Parallel()
	object := func(version, name string) string {
		return "apiVersion: example.com/" + version + "\nkind: CronTab\nmetadata: {name: " + name + "}\n"
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string // versions of each expectation, the input first; or
		err   string
	}{
		"one file":             {files: map[string]string{"a.yaml": object("v1", "a") + "---\n" + object("v1beta1", "a") + "---\n" + object("v1alpha1", "a")}, want: "v1 v1beta1 v1alpha1"},
		"a file each":          {files: map[string]string{"d/v1.yaml": object("v1", "a"), "d/v1beta1.yaml": object("v1beta1", "a"), "e/v1.yaml": object("v1", "a"), "e/v1beta1.yaml": object("v1beta1", "a")}, want: "v1 v1beta1; v1 v1beta1"},
		"both":                 {files: map[string]string{"a.yaml": object("v1", "a") + "---\n" + object("v1beta1", "a"), "v1.yaml": object("v1", "a"), "v2.yaml": object("v1beta1", "a")}, want: "v1 v1beta1; v1 v1beta1"},
		"nothing":              {files: map[string]string{"a.yaml": "# later\n"}, err: "a.yaml:1: there is no object"},
		"no pair":              {files: map[string]string{"a.yaml": object("v1", "a")}, err: "a.yaml:1: no pair: there is only one object"},
		"other names":          {files: map[string]string{"d/a.yaml": object("v1", "a"), "d/b.yaml": object("v1beta1", "b")}, err: "d/a.yaml:1: no pair"},
		"one version twice":    {files: map[string]string{"a.yaml": object("v1", "a") + "---\n" + object("v1beta1", "a") + "---\n" + object("v1beta1", "a")}, err: "a.yaml:9: no pair: it is at example.com/v1beta1, and so is a.yaml:5"},
		"the input's version":  {files: map[string]string{"a.yaml": object("v1", "a") + "---\n" + object("v1", "a")}, err: "a.yaml:5: no pair: it is at example.com/v1, and so is a.yaml:1"},
		"another kind":         {files: map[string]string{"a.yaml": object("v1", "a") + "---\napiVersion: example.com/v1beta1\nkind: Job\nmetadata: {name: a}\n"}, err: "a.yaml:5: no pair: it is a Job.example.com, and a.yaml:1 is a CronTab.example.com"},
		"no name":              {files: map[string]string{"a.yaml": object("v1", "a") + "---\napiVersion: example.com/v1beta1\nkind: CronTab\n"}, err: "a.yaml:5: it is not a custom resource"},
		"an unknown version":   {files: map[string]string{"a.yaml": object("v1", "a") + "---\n" + object("v7", "a")}, err: "a.yaml:5: CronTab has no version v7, only v1alpha1, v1beta1, v1"},
		"from nowhere":         {files: map[string]string{"a.yaml": object("v7", "a") + "---\n" + object("v1", "a")}, err: "a.yaml:1: CronTab has no version v7"},
		"to an unserved one":   {files: map[string]string{"a.yaml": object("v1", "a") + "---\n" + object("v1alpha1", "a")}, err: "a.yaml:5: v1alpha1 of CronTab is not served, so API servers convert nothing to it"},
		"from an unserved one": {files: map[string]string{"a.yaml": object("v1alpha1", "a") + "---\n" + object("v1", "a")}, want: "v1alpha1 v1"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]manifest.Object{}
			for file, text := range test.files {
				objects, err := manifest.Objects(file, []byte(text))
				if err != nil {
					t.Fatal(err)
				}
				files[file] = objects
			}
			c := CronTabs("v1alpha1", "v1beta1", "v1")
			if strings.Contains(name, "unserved") {
				c.Unserved = []string{"v1alpha1"}
			}
			all, err := Expectations(files)
			var got []string
			for _, e := range all {
				versions := []string{e.Input.GroupVersionKind().Version}
				for _, output := range e.Outputs {
					versions = append(versions, output.GroupVersionKind().Version)
				}
				got = append(got, strings.Join(versions, " "))
				if err == nil {
					c, err = c.Expect(e)
				}
			}
			switch {
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got %v, want %s", err, test.err)
			case test.err == "" && (err != nil || strings.Join(got, "; ") != test.want):
				t.Errorf("got %q, %v; want %s", got, err, test.want)
			}
		})
	}
}
