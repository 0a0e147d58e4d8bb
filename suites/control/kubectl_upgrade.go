package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// upgrading is about the documents' upgrade of stored objects and the removal of a version, by kubectl alone.
func (c chapter) upgrading() {
	Describe("kubectl and the upgrade of stored objects", Label(suites.Slow), func() {
		c.env.With(fixtures.Webhook).It(requirement.ControlKubectlUpgrade,
			"upgrades objects by get and replace, and drops the older version and the webhook", func(ctx SpecContext, crd *suites.Resource) {
				c.upgrade(ctx, crd, fixtures.LocalCronTab.At(older))
				crd.Webhook.Break("status-500")
				c.keptAll(ctx, crd)
			})
		c.env.With(fixtures.None).It(requirement.ControlKubectlUpgradeNone,
			"upgrades objects of a definition without a webhook by get and replace, and drops the older version", func(ctx SpecContext, crd *suites.Resource) {
				c.upgrade(ctx, crd, fixtures.LocalCronTab.At(newer)) // whose fields both versions have
				c.keptAll(ctx, crd)
			})
	})
}

// upgrade does what the documents say, step by step, with objects like one.
func (c chapter) upgrade(ctx SpecContext, crd *suites.Resource, like *unstructured.Unstructured) {
	GinkgoHelper()
	k := c.kubectl()
	c.population(ctx, crd, like)
	// An API server alone knows no v1 List, so kubectl gets the objects one after the other.
	var manifests bytes.Buffer
	for _, item := range c.shown(ctx, k, crd) {
		manifests.WriteString("---\n")
		manifests.Write(manifest(&unstructured.Unstructured{Object: item}))
	}
	c.does(ctx, k, manifests.Bytes(), "replace", "-f", "-")
	Expect(crd.FinalVersions(ctx)).To(And(HaveLen(len(names())), HaveEach(newer)), "every object must be stored at %s", newer)

	trimmed := fmt.Sprintf(`{"status": {"storedVersions": [%q]}}`, newer)
	c.does(ctx, k, nil, "patch", "customresourcedefinition", crd.Name(), "--subresource", "status", "--type", "merge", "--patch", trimmed)
	Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{newer}))

	i := slices.IndexFunc(crd.Definition(ctx).Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == older })
	c.does(ctx, k, nil, "patch", "customresourcedefinition", crd.Name(), "--type", "json", "--patch", fmt.Sprintf(`[{"op": "remove", "path": "/spec/versions/%d"}]`, i))
	c.soon(ctx, func() any { return crd.Discovered(ctx, older) }).Should(BeNil(), "the older version must be gone")
}

// keptAll checks that kubectl shows all objects, and what is in them.
func (c chapter) keptAll(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	Expect(c.shown(ctx, c.kubectl(), crd)).To(And(HaveLen(len(names())), HaveEach(And(
		HaveKeyWithValue("apiVersion", crd.APIVersion(newer)), HaveKeyWithValue("host", "localhost"), HaveKeyWithValue("port", "1234")))), "no object may be lost or changed")
}

// shown returns the objects of a definition that kubectl prints.
func (c chapter) shown(ctx SpecContext, k kubectl, crd *suites.Resource) []map[string]any {
	GinkgoHelper()
	var list struct {
		Items []map[string]any `json:"items"`
	}
	c.env.Require(json.Unmarshal([]byte(c.does(ctx, k, nil, "get", crd.Name(), "--output", "json")), &list), "reading what kubectl prints")
	return list.Items
}
