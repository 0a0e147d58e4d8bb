package objects

import (
	"context"
	"encoding/json"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) definitions() {
	Describe("definitions", func() {
		c.names()
		c.asObjects()
		c.observing()
		c.changing()
	})
}

// beside creates a definition in the group of another one, with another plural and otherwise the same names, or with names of
// its own, and removes it at the end.
func (c chapter) beside(ctx SpecContext, crd *suites.Resource, plural string, options ...fixtures.Option) {
	GinkgoHelper()
	other := fixtures.Stable.New(append([]fixtures.Option{fixtures.InGroup(crd.Group()), func(d *definition) {
		d.Spec.Names.Plural, d.Name = plural, plural+"."+crd.Group()
		d.Labels = crd.Definition(ctx).Labels
	}}, options...)...)
	DeferCleanup(func(ctx SpecContext) error {
		err := c.env.CRDs.Delete(ctx, other.Name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	_, err := c.env.CRDs.Create(ctx, other, metav1.CreateOptions{})
	c.env.Require(err, "creating another definition in the group")
}

// accepted returns what reads whether the names of a definition were accepted.
func (c chapter) accepted(name string) func(context.Context) (apiextensionsv1.ConditionStatus, error) {
	return func(ctx context.Context) (apiextensionsv1.ConditionStatus, error) {
		crd, err := c.env.CRDs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		condition := apihelpers.FindCRDCondition(crd, apiextensionsv1.NamesAccepted)
		if condition == nil {
			return apiextensionsv1.ConditionUnknown, nil
		}
		return condition.Status, nil
	}
}

func (c chapter) names() {
	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsNamesTaken, "installs a definition with the names of another one", func(ctx SpecContext, crd *suites.Resource) {
		c.beside(ctx, crd, "takentabs")
		Eventually(ctx, c.accepted("takentabs."+crd.Group())).Should(Equal(apiextensionsv1.ConditionFalse), "its names must not be accepted")
		Expect(string(c.env.Get(ctx, "/apis/"+crd.APIVersion("v1")).Body)).To(And(ContainSubstring(`"crontabs"`), Not(ContainSubstring("takentabs"))), "it must not be served")
	})

	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsNamesFree, "deletes the definition that had the names", func(ctx SpecContext, crd *suites.Resource) {
		c.beside(ctx, crd, "freetabs")
		Eventually(ctx, c.accepted("freetabs."+crd.Group())).Should(Equal(apiextensionsv1.ConditionFalse), "its names must not be accepted at first")
		c.env.Require(c.env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting the definition")
		Eventually(ctx, c.accepted("freetabs."+crd.Group())).Should(Equal(apiextensionsv1.ConditionTrue), "its names must be accepted")
	})
}

func (c chapter) asObjects() {
	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsCollection, "lists and deletes definitions by a label", func(ctx SpecContext, crd *suites.Resource) {
		// An API server that knows the label in lists alone would delete those of others as well. Only clusters of the run's own can be
		// looked into.
		if _, own := c.env.Cluster.(cluster.Storage); !own {
			c.env.Inapplicable("deletes definitions by a label, which is not tried where there may be definitions of others")
		}
		mark := func(value string) fixtures.Option {
			return func(d *definition) { metav1.SetMetaDataLabel(&d.ObjectMeta, "crdconform.dev/collection", value) }
		}
		named := func(kind string) fixtures.Option {
			return func(d *definition) {
				d.Spec.Names.Kind, d.Spec.Names.Singular, d.Spec.Names.ShortNames = kind, "", nil
			}
		}
		group := crd.Group()
		c.beside(ctx, crd, "marktabs", named("MarkTab"), mark(group[:min(len(group), 60)]))
		selector := metav1.ListOptions{LabelSelector: "crdconform.dev/collection=" + group[:min(len(group), 60)]}
		listed, err := c.env.CRDs.List(ctx, selector)
		Expect(err).NotTo(HaveOccurred())
		Expect(listed.Items).To(ConsistOf(HaveField("Name", "marktabs."+group)), "it must list those with the label")
		err = c.env.CRDs.DeleteCollection(ctx, metav1.DeleteOptions{}, selector)
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, func() error { return suites.ErrorOf(c.env.CRDs.Get(ctx, "marktabs."+group, metav1.GetOptions{})) }).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"), "it must delete those with the label")
		Expect(crd.Gone(ctx)).To(BeFalse(), "it must leave the others")
	})

	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsStatus, "reads, puts and patches the status of a definition", func(ctx SpecContext, crd *suites.Resource) {
		path := "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + crd.Name() + "/status"
		var read definition
		c.env.Require(json.Unmarshal(c.env.Get(ctx, path).Body, &read), "decoding what was read")
		Expect(read).To(And(HaveField("Name", crd.Name()), HaveField("Status.StoredVersions", []string{"v1"}),
			HaveField("Status.Conditions", ContainElement(HaveField("Type", apiextensionsv1.Established)))), "it must be read")
		marked := func(reason string) OmegaMatcher {
			return WithTransform(func(d *definition) []apiextensionsv1.CustomResourceDefinitionCondition { return d.Status.Conditions },
				ContainElement(And(HaveField("Type", apiextensionsv1.CustomResourceDefinitionConditionType("Marked")), HaveField("Reason", reason))))
		}
		read.Status.Conditions = append(read.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: "Marked", Status: "True", Reason: "Put"})
		Expect(c.env.CRDs.UpdateStatus(ctx, &read, metav1.UpdateOptions{})).To(marked("Put"), "it must be put")
		patch := []byte(`[{"op": "replace", "path": "/status/conditions/` + last(crd.Definition(ctx)) + `/reason", "value": "Patched"}]`)
		Expect(c.env.CRDs.Patch(ctx, crd.Name(), types.JSONPatchType, patch, metav1.PatchOptions{}, "status")).To(marked("Patched"), "it must be patched")
	})
}

func (c chapter) observing() {
	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsObservedGeneration, "writes the generation that a condition and the status of a definition are about, and then changes the definition", func(ctx SpecContext, crd *suites.Resource) {
		observed := func() []int64 {
			now := crd.Definition(ctx)
			generations := []int64{now.Status.ObservedGeneration}
			if condition := apihelpers.FindCRDCondition(now, "Observed"); condition != nil {
				generations = append(generations, condition.ObservedGeneration)
			}
			return generations
		}
		read := crd.Definition(ctx)
		was := read.Generation
		read.Status.ObservedGeneration = was
		read.Status.Conditions = append(read.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: "Observed", Status: "True", Reason: "Written", ObservedGeneration: was})
		_, err := c.env.CRDs.UpdateStatus(ctx, read, metav1.UpdateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(observed()).To(Equal([]int64{was, was}), "both must be kept")
		crd.Change(ctx, func(d *definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["more"] = schema{Type: "string"}
		})
		Expect(crd.Definition(ctx).Generation).To(BeNumerically(">", was), "a change of the spec must count")
		Expect(observed()).To(Equal([]int64{was, was}), "both must say that they are about what was before")
	})
}

// last is the index of the last condition of a definition.
func last(crd *definition) string {
	return string(rune('0' + len(crd.Status.Conditions) - 1))
}

func (c chapter) changing() {
	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsImmutable, "changes what makes up the name of a definition, and what clients know of it", func(ctx SpecContext, crd *suites.Resource) {
		const waiting = "waitingtabs"
		c.beside(ctx, crd, waiting)
		Eventually(ctx, c.accepted(waiting+"."+crd.Group())).Should(Equal(apiextensionsv1.ConditionFalse), "its names are taken, so it is not established")
		change := func(plural string, change func(*definition)) error {
			now, err := c.env.CRDs.Get(ctx, plural+"."+crd.Group(), metav1.GetOptions{})
			c.env.Require(err, "reading the definition")
			change(now)
			_, err = c.env.CRDs.Update(ctx, now, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			return err
		}
		group := func(d *definition) { d.Spec.Group = "other." + d.Spec.Group }
		plural := func(d *definition) { d.Spec.Names.Plural = "othertabs" }
		scope := func(d *definition) { d.Spec.Scope = apiextensionsv1.ClusterScoped }
		kind := func(d *definition) { d.Spec.Names.Kind, d.Spec.Names.ListKind = "OtherTab", "OtherTabList" }
		for _, of := range []string{"crontabs", waiting} {
			Expect(change(of, group)).To(suites.BeInvalidAt("spec.group"), "the group of %s", of)
			Expect(change(of, plural)).To(suites.BeInvalidAt("spec.names.plural"), "the plural of %s", of)
			Expect(change(of, func(d *definition) { d.Spec.Names.ShortNames = []string{"ot"} })).To(Succeed(), "the short names of %s", of)
		}
		Expect(change("crontabs", scope)).To(suites.BeInvalidAt("spec.scope"), "the scope of one that is established")
		Expect(change("crontabs", kind)).To(suites.BeInvalidAt("spec.names.kind"), "the kind of one that is established")
		Expect(change(waiting, scope)).To(Succeed(), "the scope of one that is not established")
		Expect(change(waiting, kind)).To(Succeed(), "the kind of one that is not established")
	})

	c.env.With(fixtures.Stable).It(requirement.ObjectsDefinitionsWatchesEnd, "changes the definition of objects that are watched", func(ctx SpecContext, crd *suites.Resource) {
		create(ctx, crd, "changing")
		events, err := crd.At("v1").Watch(ctx)
		Expect(err).NotTo(HaveOccurred())
		defer events.Stop()
		crd.Change(ctx, func(d *definition) {
			d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["more"] = schema{Type: "string"}
		})
		Expect(crd.At("v1").Get(ctx, "changing")).Error().NotTo(HaveOccurred(), "reads must still work")
		Expect(crd.At("v1").List(ctx)).To(HaveLen(1), "reads must still work")
		Eventually(ctx, func() []watch.EventType {
			var seen []watch.EventType
			for {
				select {
				case event, open := <-events.ResultChan():
					if !open {
						return append(seen, "ended")
					}
					seen = append(seen, event.Type)
				default:
					return seen
				}
			}
		}).Should(And(ContainElement(watch.EventType("ended")), Not(ContainElement(watch.Error))), "the watch must end without an error")
	})

	c.terminating(requirement.ObjectsDefinitionsTerminating, "creates objects by a POST, and reads one that is there, while the definition is being deleted",
		func(ctx SpecContext, crd *suites.Resource, name string) error {
			return suites.ErrorOf(crd.At("v1").Create(ctx, named(name)))
		},
		func(ctx SpecContext, crd *suites.Resource) {
			Expect(crd.At("v1").Get(ctx, "there")).To(HaveField("GetName()", "there"), "what is there must be read")
			Expect(crd.At("v1").List(ctx)).To(ContainElement(HaveField("GetName()", "there")), "what is there must be listed")
		})
	c.terminating(requirement.ObjectsDefinitionsTerminatingApplied, "applies objects, and one that is there, while the definition is being deleted",
		func(ctx SpecContext, crd *suites.Resource, name string) error {
			return suites.ErrorOf(crd.At("v1").Apply(ctx, named(name), "crdconform"))
		},
		func(ctx SpecContext, crd *suites.Resource) {
			object := named("there")
			object.SetLabels(map[string]string{"applied": "true"})
			Expect(crd.At("v1").Apply(ctx, object, "crdconform")).To(HaveField("GetLabels()", HaveKey("applied")), "what is there must be changed")
		})
}

// terminating declares a spec that has nothing created by a write while its definition is being deleted, and then looks at an object
// that was there before.
func (c chapter) terminating(id requirement.ID, text string, write func(ctx SpecContext, crd *suites.Resource, name string) error, there func(ctx SpecContext, crd *suites.Resource)) {
	const kept = "crdconform.dev/kept"
	c.env.With(fixtures.Stable).It(id, text, func(ctx SpecContext, crd *suites.Resource) {
		DeferCleanup(func(ctx SpecContext) error {
			if err := suites.ErrorOf(crd.At("v1").MergePatch(ctx, "there", `{"metadata": {"finalizers": null}}`)); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
			// Without the API server's own finalizer it would leave the objects in storage.
			return crd.Update(ctx, func(d *definition) {
				d.Finalizers = slices.DeleteFunc(d.Finalizers, func(name string) bool { return name == kept })
			})
		})
		// The API server deletes all objects; this one it cannot.
		object := named("there")
		object.SetFinalizers([]string{kept})
		crd.Create(ctx, "v1", object)
		Expect(write(ctx, crd, "before")).To(Succeed(), "objects must be created before")
		// Not before the spec runs: if it does not, nothing would remove it.
		c.env.Require(crd.Update(ctx, func(d *definition) { d.Finalizers = append(d.Finalizers, kept) }), "giving the definition a finalizer")
		c.env.Require(c.env.CRDs.Delete(ctx, crd.Name(), metav1.DeleteOptions{}), "deleting the definition")
		n := 0
		Eventually(ctx, func() error {
			n++
			return write(ctx, crd, "terminating-"+string(rune('a'+n%26)))
		}).Should(Or(MatchError(apierrors.IsMethodNotSupported, "IsMethodNotSupported"), MatchError(apierrors.IsForbidden, "IsForbidden")), "nothing must be created")
		there(ctx, crd)
	})
}
