//go:build nightly

package suites_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/resource"
)

// afterwards is a webhook for plans that converts them correctly, and then changes what it has converted to a version.
func afterwards(at string, change func(o map[string]any)) http.Handler {
	return rewriting(func(from, to string, o map[string]any) {
		planner{}.rise(from, o)
		planner{}.descend(to, o)
		if to == at {
			change(o)
		}
	})
}

// spoiledMerge is a webhook for plans that changes what it kept of an older version before it is merged with what is written there.
func spoiledMerge(change func(kept, now map[string]any)) http.Handler {
	return rewriting(func(from, to string, o map[string]any) {
		if kept, found := annotated(o, planKept); found && from == "v1alpha1" {
			change(within(kept.(map[string]any), "spec"), within(o, "spec"))
			annotate(o, planKept, kept)
		}
		planner{}.rise(from, o)
		planner{}.descend(to, o)
	})
}

// mailsOf returns the notifications that v1alpha1 sees.
func mailsOf(spec map[string]any) []any {
	all, _ := spec["notifications"].([]any)
	return slices.DeleteFunc(slices.Clone(all), func(item any) bool { return member(item, "channel") != "Email" })
}

// TestSeedsAgree has webhooks with a bug that shows on an API server found by the same specs, whatever the seed.
func TestSeedsAgree(t *testing.T) {
	const seeds = 3
	for name, test := range map[string]struct {
		handler http.Handler
		fails   []requirement.ID
		objects func(t *testing.T) corpus.Corpus // plans if nil
	}{
		"restores what it kept": {changing("", keep("spec")), []requirement.ID{
			requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceScaleEveryVersion,
		}, referenced},
		"restores a newer version": {copying(), []requirement.ID{
			requirement.ResourceUpdateEveryVersion, requirement.ResourcePatchJSON, requirement.ResourcePatchMerge, requirement.ResourceScaleEveryVersion,
		}, referenced},
		"restores the status that it kept": {changing("", keep("status")), []requirement.ID{requirement.ResourceStatusEveryVersion}, referenced},
		"undoes the second status":         {planner{insists: true}, []requirement.ID{requirement.ResourceStatusEveryVersion}, nil},
		"gives up what it kept":            {planner{gives: true}, []requirement.ID{requirement.ResourcePatchJSON, requirement.ResourcePatchMerge}, nil},
		"loses hidden items when another field is written": {spoiledMerge(func(kept, now map[string]any) {
			if was, is := kept["mode"] != "Off", now["enabled"]; is != nil && was != is {
				kept["notifications"] = mailsOf(kept)
			}
		}), []requirement.ID{requirement.ResourcePatchJSON, requirement.ResourcePatchMerge}, nil},
		"changes the generation": {afterwards("v1alpha1", func(o map[string]any) {
			if meta := within(o, "metadata"); meta["generation"] != nil && o["spec"] != nil {
				within(o, "spec")["timeoutSeconds"] = number(meta["generation"])
			}
		}), []requirement.ID{requirement.ResourceWriteNoOp}, nil},
		"loses the highest number": {afterwards("v1", func(o map[string]any) {
			if retention, is := within(o, "spec")["retention"].(map[string]any); is && number(retention["days"]) == 1000 {
				delete(retention, "days")
			}
		}), []requirement.ID{requirement.ResourceCreateEveryVersion, requirement.ResourceReadEveryVersion}, nil},
		"loses a label": {afterwards("v1alpha1", func(o map[string]any) {
			delete(within(within(o, "metadata"), "labels"), "crdconform.dev/collection")
		}), []requirement.ID{requirement.ResourceDeleteCollection}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := int64(1); seed <= seeds; seed++ {
				t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
					objects := planned(t, "v1", "")
					if test.objects != nil {
						objects = test.objects(t)
					}
					env := suitetest.Env(t, suites.Options{
						Cluster: apiServer.Cluster(t), Subject: subject(t, test.handler, objects), Seed: seed,
						Select: func(id requirement.ID) bool { return slices.Contains(test.fails, id) },
					})
					outcome, err := suites.Run(t.Context(), env, []suites.Area{resource.Area}, suitetest.Quiet{})
					if err != nil {
						t.Fatal(err)
					}
					if len(outcome.Results) != len(test.fails) {
						t.Errorf("%d results, want %d", len(outcome.Results), len(test.fails))
					}
					for _, r := range outcome.Results {
						if r.Verdict != requirement.Failed {
							t.Errorf("%s is %s: %s", r.Requirement, r.Verdict, r.Reason)
						}
					}
				})
			}
		})
	}
}

func referenced(t *testing.T) corpus.Corpus {
	t.Helper()
	return reference(t)
}
