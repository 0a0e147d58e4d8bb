package server_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/requirement"
)

// deprecate makes a version deprecated.
func deprecate(version string) fixtures.Option {
	return func(crd *apiextensionsv1.CustomResourceDefinition) { fixtures.Version(crd, version).Deprecated = true }
}

// TestStorageBlockers plants each blocker alone, has it found, and drops the version all the same: something breaks.
func TestStorageBlockers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it plants each blocker on an API server")
	}
	for id, test := range map[requirement.ID]struct {
		plant  func(t *testing.T, c *crontabs)
		breaks func(c *crontabs) error // what fails afterwards
		early  bool                    // the API server does not let the version go
		want   string                  // the first blocker
	}{
		requirement.StorageDropObjects: {
			plant: func(_ *testing.T, c *crontabs) {
				c.store("v1beta1")
				c.create("v1beta1", "left")
				c.at("v1beta1").Apply(c.t.Context(), "left", c.object("v1beta1", "left"), metav1.ApplyOptions{FieldManager: "x", Force: true})
				c.store("v1")
				c.trim("v1")
			},
			breaks: func(c *crontabs) error {
				_, err := c.at("v1").Get(c.t.Context(), "left", metav1.GetOptions{})
				return err
			},
			want: "default/left",
		},
		requirement.StorageDropManagedFields: {
			plant: func(t *testing.T, c *crontabs) {
				t.Helper()
				if err := c.apply("v1beta1", "one"); err != nil {
					t.Fatal(err)
				}
			},
			// An apply before the API server knows that the version is gone would mend the managed fields.
			breaks: func(c *crontabs) error { return c.apply("v1", "one", metav1.DryRunAll) },
			want:   "default/one (applier)",
		},
		requirement.StorageDropStoredVersions: {
			plant: func(_ *testing.T, c *crontabs) { c.trim("v1\",\"v1beta1") },
			early: true,
		},
		requirement.StorageDropStorageVersion: {
			plant: func(_ *testing.T, c *crontabs) {
				c.store("v1beta1")
				c.delete("one", "v1")
				c.trim("v1beta1")
				c.trim("v1beta1")
			},
			early: true,
		},
		requirement.StorageDropOwnerReferences: {
			plant: func(t *testing.T, c *crontabs) {
				t.Helper()
				owner, err := c.at("v1").Get(t.Context(), "one", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				dependents := c.define(t, "dependents."+c.group)
				o := dependents.object("v1", "dependent")
				o.SetOwnerReferences([]metav1.OwnerReference{
					{APIVersion: c.group + "/v1", Kind: "CronTab", Name: "one", UID: owner.GetUID()},
					{APIVersion: c.group + "/v1beta1", Kind: "CronTab", Name: "one", UID: owner.GetUID()},
					{APIVersion: c.group + "/v1beta1", Kind: "Other", Name: "one", UID: "2"},
				})
				if _, err := dependents.at("v1").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			// The garbage collector looks for the owner at the version of the reference.
			breaks: func(c *crontabs) error {
				_, err := c.at("v1beta1").Get(c.t.Context(), "one", metav1.GetOptions{})
				return err
			},
			want: "default/dependent (CronTab one)",
		},
	} {
		t.Run(string(id), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			c := l.define(t, strings.ReplaceAll(string(id), ".", "-")+".example.com")
			c.store("v1")
			c.create("v1", "one")
			c.trim("v1")
			test.plant(t, c)
			for _, options := range []storage.Options{{}, {Source: l.source(t)}} {
				v := c.judge(options)
				f := finding(t, v, id)
				if v.Answer != storage.NotSafe || f.Answer != storage.NotSafe {
					t.Errorf("%s: %+v", v.Answer, f)
				}
				if test.want == "" {
					continue
				}
				if len(f.First) != 1 || f.Count != 1 {
					t.Fatalf("%d blockers: %v", f.Count, f.First)
				}
				got := f.First[0].String()
				if by := f.First[0].By; by != "" && strings.Contains(test.want, "(") {
					got = fmt.Sprintf("%s (%s)", got, by)
				}
				if !strings.HasSuffix(got, test.want) {
					t.Errorf("it found %s, want %s", got, test.want)
				}
				for _, other := range v.Findings {
					if other.Answer != storage.Safe && other.Requirement != id && id != requirement.StorageDropStorageVersion && (id != requirement.StorageDropObjects || other.Requirement != requirement.StorageDropManagedFields) {
						t.Errorf("%s is not met either: %s", other.Requirement, other.Text)
					}
				}
			}
			switch err := c.drop("v1beta1"); {
			case test.early && err == nil:
				t.Error("the API server let the version go")
			case test.early:
				return
			case err != nil:
				t.Fatal(err)
			}
			c.wait(func() bool { return test.breaks(c) != nil })
		})
	}
}

// TestStorageRemovedBefore looks at a definition that lost a version too early.
func TestStorageRemovedBefore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "removed.example.com")
	c.create("v1beta1", "one")
	c.store("v1")
	c.migrate("one")
	c.trim("v1")
	if err := c.drop("v1beta1"); err != nil {
		t.Fatal(err)
	}
	_, d := c.inspect(storage.Options{})
	v := d.Version("v1beta1")
	if v == nil || v.Defined || v.ManagedFields != 1 || v.Stored != 0 || d.Versions[len(d.Versions)-1] != v {
		t.Errorf("got %+v", v)
	}
}

// TestStorageMetrics finds somebody who asks for a deprecated version in the metrics.
func TestStorageMetrics(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it waits for an API server")
	}
	l := newLab(t)
	c := l.define(t, "metrics.example.com", fixtures.StoredAt("v1"))
	if err := c.change(deprecate("v1beta1")); err != nil {
		t.Fatal(err)
	}
	look := func() (storage.Condition, *storage.Version) {
		inventory, d := c.inspect(storage.Options{})
		return finding(t, storage.Judge(inventory, d, d.Version("v1beta1")), requirement.StorageDropRequests), d.Version("v1beta1")
	}
	for range 2 { // to look is not to ask, and what was asked before the version was deprecated was not counted
		f, v := look()
		if f.Answer != storage.CannotTell || v.Requests.Known || len(v.Requests.Asked) > 0 || len(f.Gaps) != 1 ||
			!strings.Contains(f.Gaps[0].Why, "only: the versions of the definition changed then, and requests count only while a version is deprecated; ask again after 2") {
			t.Errorf("got %+v", f)
		}
	}
	if _, err := c.at("v1beta1").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	f, v := look()
	if f.Answer != storage.NotSafe || len(v.Requests.Asked) != 1 || v.Requests.Asked[0].Resource != "crontabs" {
		t.Errorf("got %+v, %+v", f, v.Requests)
	}
}
