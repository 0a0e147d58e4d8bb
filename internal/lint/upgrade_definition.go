package lint

import (
	"cmp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/visible"
)

// checkOldDefinition compares what the definition has besides schemas with what the old one had.
func (c *checker) checkOldDefinition() {
	if c.old == nil {
		return
	}
	c.compareNames(c.old.crd.Spec.Names, c.crd.Spec.Names)
	c.compareConversion()
	if c.old.crd.Spec.PreserveUnknownFields && !c.isWritten("spec.preserveUnknownFields") {
		c.found(PreserveLeft, specPath(), "the old definition has preserveUnknownFields: true, which stays true where it is installed: API servers then reject webhooks and defaults; write preserveUnknownFields: false")
	} else if c.old.crd.Spec.PreserveUnknownFields && !c.crd.Spec.PreserveUnknownFields {
		c.foundAs(Note, StoredValuesDropped, specPath().Child("preserveUnknownFields"), "the old definition keeps fields that its schemas do not name, and API servers drop them with this one; give those that clients use a place in the schemas")
	}
	for i, v := range c.crd.Spec.Versions {
		if was, there := c.old.version(v.Name); there && was.Served && v.Served {
			c.compareSubresources(&was, &v, versionsPath().Index(i))
			c.compareColumns(was, v, versionsPath().Index(i))
		}
	}
}

// checkChart notes that Helm does not bring users the definition.
func (c *checker) checkChart() {
	path := field.NewPath("metadata", "name")
	switch {
	case c.old == nil:
		c.found(ChartLeavesDefinition, path, "the definition is new, and helm upgrade installs none from crds/: where the chart is installed already, a program that needs the kind %s does not find it until users apply this file; tell them, or move it to the templates", c.crd.Spec.Names.Kind)
	case !equality.Semantic.DeepEqual(c.old.crd.Spec, c.crd.Spec):
		c.found(ChartLeavesDefinition, path, "the definition has changed, and helm upgrade leaves those in crds/ as they are: where the chart is installed already, API servers have the old one, and drop what only this one has, until users apply this file; tell them, or move it to the templates")
	}
}

// checkRelease notes that Helm deletes the definition of a release.
func (c *checker) checkRelease() {
	if _, released := c.crd.Annotations["meta.helm.sh/release-name"]; released && c.crd.Annotations["helm.sh/resource-policy"] != "keep" {
		c.found(UninstallDeletes, field.NewPath("metadata", "name"), "helm uninstall deletes the definition, and with it all its objects; have the chart give it the annotation helm.sh/resource-policy: keep")
	}
}

func (c *checker) compareNames(was, is apiextensionsv1.CustomResourceDefinitionNames) {
	path := specPath().Child("names")
	gone := func(before, after []string) []string {
		return slices.DeleteFunc(slices.Clone(before), func(name string) bool { return slices.Contains(after, name) })
	}
	if names := gone(was.ShortNames, is.ShortNames); len(names) > 0 {
		c.found(NamesChanged, path.Child("shortNames"), "%s is no longer a short name, so kubectl does not find the resource by it; keep it", strings.Join(names, ", "))
	}
	if names := gone(was.Categories, is.Categories); len(names) > 0 {
		c.found(NamesChanged, path.Child("categories"), "the resource is no longer in the category %s, so kubectl get %[1]s leaves it out; keep it", strings.Join(names, ", "))
	}
	for _, name := range []struct{ key, was, is, fallback string }{
		{"singular", was.Singular, is.Singular, strings.ToLower(was.Kind)},
		{"listKind", was.ListKind, is.ListKind, was.Kind + "List"},
	} {
		before, after := cmp.Or(name.was, name.fallback), cmp.Or(name.is, name.fallback)
		if before != after {
			c.found(NamesChanged, path.Child(name.key), "%s was %s and is %s now; clients that use the old name fail, so keep it", name.key, before, after)
		}
	}
}

// compareConversion looks at what is left of a webhook that the old definition had.
func (c *checker) compareConversion() {
	if c.old.converts() && c.converts() {
		c.compareAddress(c.old.client(), c.client())
	}
	if !c.old.converts() || c.converts() {
		return
	}
	level, why := Warning, "until all objects are rewritten, those that are stored at other versions are relabelled and not converted"
	if owner := c.old.injector(); owner != "" {
		level = Error
		why = owner + " owns caBundle there, so server-side apply leaves spec.conversion with nothing else, and API servers reject that (\"spec.conversion.strategy: Required value\")"
	}
	c.foundAs(level, ConversionRemoved, specPath().Child("conversion"), "the old definition has a conversion webhook, and this one has none: %s; keep the webhook while the old definition may be installed", why)
}

// compareAddress looks at whether the webhook is somewhere else than that of the old definition. A port or path may differ, since both are
// those of one service.
func (c *checker) compareAddress(was, is *apiextensionsv1.WebhookClientConfig) {
	before, after := addressOf(was), addressOf(is)
	if before != "" && after != "" && before != after {
		c.found(WebhookMoved, specPath().Child("conversion", "webhook", "clientConfig"), "the webhook was %s and is %s now: requests at other versions fail until that answers, "+
			"and an installed definition that is not replaced, as Helm leaves those in crds/, goes on calling the old one; keep the name, or have both answer for a release", before, after)
	}
}

// addressOf is the service or URL of a webhook, or empty.
func addressOf(client *apiextensionsv1.WebhookClientConfig) string {
	switch {
	case client == nil:
		return ""
	case client.Service != nil:
		return "the service " + client.Service.Namespace + "/" + client.Service.Name
	case client.URL != nil:
		return *client.URL
	}
	return ""
}

// injector names what puts a caBundle into the definition, nothing if that is not known.
func (d *definition) injector() string {
	for _, entry := range d.crd.ManagedFields {
		if entry.FieldsV1 != nil && entry.Manager != "" && strings.Contains(string(entry.FieldsV1.GetRawBytes()), `"f:caBundle"`) && !strings.Contains(string(entry.FieldsV1.GetRawBytes()), `"f:versions"`) {
			return entry.Manager
		}
	}
	for name := range d.crd.Annotations {
		switch {
		case strings.HasPrefix(name, "cert-manager.io/inject-"):
			return "cainjector"
		case strings.HasSuffix(name, "openshift.io/inject-cabundle"):
			return "service-ca-operator"
		}
	}
	return ""
}

func (c *checker) compareSubresources(was, is *apiextensionsv1.CustomResourceDefinitionVersion, path *field.Path) {
	at := path.Child("subresources")
	switch {
	case hasStatus(was) && !hasStatus(is):
		c.found(SubresourceChanged, at.Child("status"), "%s no longer has the status subresource: controllers that write it get a not found error, and users' writes replace the status; keep it", is.Name)
	case !hasStatus(was) && hasStatus(is):
		c.foundAs(Warning, SubresourceChanged, at.Child("status"), "%s has the status subresource now: a status in an ordinary write is ignored without an error; have controllers of the new release only write it there", is.Name)
	}
	before, after := scaleOf(was), scaleOf(is)
	switch none := [3]string{}; {
	case before == after || before == none:
	case after == none:
		c.found(SubresourceChanged, at.Child("scale"), "%s no longer has the scale subresource: kubectl scale and autoscalers get a not found error; keep it", is.Name)
	default:
		c.foundAs(Warning, SubresourceChanged, at.Child("scale"), "the scale subresource of %s has other paths (%s, before: %s); make sure that they denote what they did", is.Name, paths(after), paths(before))
	}
	for _, one := range was.SelectableFields {
		if !slices.Contains(is.SelectableFields, one) {
			c.foundAt(one.JSONPath, SelectableRemoved, path.Child("selectableFields"), "%s is no longer selectable at %s: lists and watches with that field selector fail with a bad request; keep it", one.JSONPath, is.Name)
		}
	}
}

func paths(scale [3]string) string {
	return strings.Join(slices.DeleteFunc(scale[:], func(path string) bool { return path == "" }), ", ")
}

func (c *checker) compareColumns(was, is apiextensionsv1.CustomResourceDefinitionVersion, path *field.Path) {
	var gone []string
	for _, column := range was.AdditionalPrinterColumns {
		same := func(other apiextensionsv1.CustomResourceColumnDefinition) bool {
			return other.Name == column.Name && other.JSONPath == column.JSONPath
		}
		if !slices.ContainsFunc(is.AdditionalPrinterColumns, same) {
			gone = append(gone, column.Name)
		}
	}
	if len(gone) > 0 {
		c.found(ColumnRemoved, path.Child("additionalPrinterColumns"), "%s no longer shows the same in kubectl get: %s; scripts that read columns notice", is.Name, visible.First(gone, mostNames))
	}
}
