package publishing

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

func (c chapter) columns() {
	Describe("printer columns", func() {
		c.shown()
		c.columnFields()
		c.priorities()
		c.types()
		c.formats()
	})
}

// asTable is how clients ask for tables.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// table is what is looked at of a table.
type table struct {
	Kind    string                         `json:"kind"`
	Columns []metav1.TableColumnDefinition `json:"columnDefinitions"`
	Rows    []struct {
		Cells []any `json:"cells"`
	} `json:"rows"`
}

// names returns the names of the columns.
func (t table) names() []string {
	names := make([]string, 0, len(t.Columns))
	for _, column := range t.Columns {
		names = append(names, column.Name)
	}
	return names
}

// cells returns the cells of a column, one for each row.
func (t table) cells(column string) []any {
	i := slices.Index(t.names(), column)
	cells := make([]any, 0, len(t.Rows))
	for _, row := range t.Rows {
		if i < 0 || i >= len(row.Cells) {
			cells = append(cells, "unknown cell")
			continue
		}
		cells = append(cells, row.Cells[i])
	}
	return cells
}

// column returns a column, empty where there is none of the name.
func (t table) column(name string) metav1.TableColumnDefinition {
	i := slices.Index(t.names(), name)
	if i < 0 {
		return metav1.TableColumnDefinition{}
	}
	return t.Columns[i]
}

// table reads an object, or all of them without a name, as a table.
func (c chapter) table(ctx context.Context, crd *suites.Resource, version string, name ...string) table {
	GinkgoHelper()
	answer := c.ask(ctx, crd, version, name...)
	Expect(answer.Status).To(Equal(http.StatusOK), "%s", answer.Body)
	var t table
	Expect(json.Unmarshal(answer.Body, &t)).To(Succeed())
	Expect(t.Kind).To(Equal("Table"))
	return t
}

func (c chapter) ask(ctx context.Context, crd *suites.Resource, version string, name ...string) suites.Answer {
	return c.env.Do(ctx, http.MethodGet, crd.Path(version, name...), nil, http.Header{"Accept": {asTable}})
}

func (c chapter) shown() {
	documented := c.env.With(fixtures.StableColumns).Together()
	documented.It(requirement.PublishingColumnsTable, "reads an object and a list as tables", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1", fixtures.Scalable.At("v1"))
		for _, read := range []table{c.table(ctx, crd, "v1", "my-new-cron-object"), c.table(ctx, crd, "v1")} {
			Expect(read.names()).To(Equal([]string{"Name", "Spec", "Replicas", "Age"}), "it must have the columns")
			Expect(read.Rows).To(HaveLen(1), "it must have the object")
			Expect(read.Rows[0].Cells).To(HaveExactElements(
				BeEquivalentTo("my-new-cron-object"), BeEquivalentTo("* * * * */5"), BeEquivalentTo(3), MatchRegexp(age),
			), "it must have the values")
		}
	})

	c.env.With(fixtures.Stable).It(requirement.PublishingColumnsDefault, "reads an object whose definition has no columns as a table", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1", fixtures.Scalable.At("v1"))
		read := c.table(ctx, crd, "v1", "my-new-cron-object")
		Expect(read.names()).To(Equal([]string{"Name", "Age"}), "it must have the name and the age")
		Expect(read.cells("Age")).To(HaveExactElements(MatchRegexp(age)))
	})

	documented.It(requirement.PublishingColumnsDescription, "reads the descriptions of columns", func(ctx SpecContext, crd *suites.Resource) {
		read := c.table(ctx, crd, "v1")
		Expect(read.column("Spec").Description).To(Equal("The cron spec defining the interval a CronJob is run"), "it must have the description of the definition")
		Expect(read.column("Age").Description).To(ContainSubstring(".metadata.creationTimestamp"), "it must name the path")
	})

	c.env.With(fixtures.StableColumns).It(requirement.PublishingColumnsChanged, "adds a column and takes one out", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1", fixtures.Scalable.At("v1"))
		Expect(c.table(ctx, crd, "v1").names()).To(Equal([]string{"Name", "Spec", "Replicas", "Age"}), "it must still have the original columns")
		c.env.Require(crd.Update(ctx, columnsAt("v1",
			column{Name: "Spec", Type: "string", JSONPath: ".spec.cronSpec"},
			column{Name: "Image", Type: "string", JSONPath: ".spec.image"},
		)), "changing the columns")
		Eventually(ctx, func() []string { return c.table(ctx, crd, "v1").names() }).Should(Equal([]string{"Name", "Spec", "Image"}), "the change must show")
		Expect(c.table(ctx, crd, "v1", "my-new-cron-object").cells("Image")).To(Equal([]any{"my-awesome-cron-image"}), "it must be shown for existing objects")
	})
}

// age is what the time since something not long ago looks like.
const age = `^\d+[smh]`

func (c chapter) columnFields() {
	without := func(change func(*column)) fixtures.Option {
		return func(crd *definition) { change(&crd.Spec.Versions[0].AdditionalPrinterColumns[0]) }
	}
	const at = "spec.additionalPrinterColumns[0]."
	refuses := func(id requirement.ID, text, field string, change func(*column)) {
		c.env.Refuses(id, text, fixtures.StableColumns, without(change), at+field)
	}
	refuses(requirement.PublishingColumnsNameRequired, "submits a column without a name", "name", func(c *column) { c.Name = "" })
	refuses(requirement.PublishingColumnsPathRequired, "submits a column without a JSONPath", "JSONPath", func(c *column) { c.JSONPath = "" })
	refuses(requirement.PublishingColumnsPathForm, "submits a column whose JSONPath has no dot in front", "JSONPath", func(c *column) { c.JSONPath = "spec.cronSpec" })
	refuses(requirement.PublishingColumnsTypeRequired, "submits a column without a type", "type", func(c *column) { c.Type = "" })
	refuses(requirement.PublishingColumnsTypeUnknown, "submits a column of type object", "type", func(c *column) { c.Type = "object" })
	refuses(requirement.PublishingColumnsFormatUnknown, "submits a column of format hostname", "format", func(c *column) { c.Format = "hostname" })
}

func (c chapter) priorities() {
	c.env.With(fixtures.StableColumns, func(crd *definition) {
		columns := crd.Spec.Versions[0].AdditionalPrinterColumns
		columns[1].Priority, columns[2].Priority = 1, 2
	}).It(requirement.PublishingColumnsPriority, "reads the priorities of columns", func(ctx SpecContext, crd *suites.Resource) {
		read := c.table(ctx, crd, "v1")
		priorities := map[string]int32{}
		for _, column := range read.Columns {
			priorities[column.Name] = column.Priority
		}
		Expect(priorities).To(Equal(map[string]int32{"Name": 0, "Spec": 0, "Replicas": 1, "Age": 2}), "it must have the priorities of the definition")
	})
}

// everyType lets objects hold anything, and gives the definition a column of each type for one field.
func everyType(crd *definition) {
	changed(func(root *schema) { root.XPreserveUnknownFields = new(true); root.Properties = nil })(crd)
	columns := make([]column, 0, 5)
	for _, typ := range []string{"integer", "number", "string", "boolean", "date"} {
		columns = append(columns, column{Name: typ, Type: typ, JSONPath: ".value"})
	}
	columnsAt("v1", columns...)(crd)
}

func (c chapter) types() {
	// values is a resource with a column of each type for one field, which may hold anything.
	values := c.env.With(fixtures.Stable, everyType).Together()
	// cell returns what a column shows of a value.
	cell := func(ctx context.Context, crd *suites.Resource, typ string, value any) any {
		GinkgoHelper()
		object := &unstructured.Unstructured{Object: map[string]any{"kind": "CronTab", "value": value}}
		object.SetGenerateName("value-")
		name := crd.Create(ctx, "v1", object).GetName()
		read := c.table(ctx, crd, "v1", name)
		Expect(read.column(typ).Type).To(Equal(typ), "the column must have its type")
		return read.cells(typ)[0]
	}

	values.It(requirement.PublishingColumnsInteger, "shows a whole number", func(ctx SpecContext, crd *suites.Resource) {
		Expect(cell(ctx, crd, "integer", int64(7))).To(BeEquivalentTo(7), "it must show the number")
	})
	values.It(requirement.PublishingColumnsNumber, "shows a floating-point number", func(ctx SpecContext, crd *suites.Resource) {
		Expect(cell(ctx, crd, "number", 2.5)).To(BeEquivalentTo(2.5), "it must show the number")
	})
	values.It(requirement.PublishingColumnsString, "shows a string", func(ctx SpecContext, crd *suites.Resource) {
		Expect(cell(ctx, crd, "string", "* * * * */5")).To(BeEquivalentTo("* * * * */5"), "it must show the string")
	})
	values.It(requirement.PublishingColumnsBoolean, "shows true and false", func(ctx SpecContext, crd *suites.Resource) {
		Expect([]any{cell(ctx, crd, "boolean", true), cell(ctx, crd, "boolean", false)}).To(Equal([]any{true, false}), "it must show the truth")
	})
	values.It(requirement.PublishingColumnsDate, "shows a time long ago", func(ctx SpecContext, crd *suites.Resource) {
		Expect(cell(ctx, crd, "date", "2000-01-01T00:00:00Z")).To(MatchRegexp(`^\d+y`), "it must show how many years ago that is")
	})

	values.It(requirement.PublishingColumnsMismatch, "shows values of other types", func(ctx SpecContext, crd *suites.Resource) {
		for typ, wrong := range map[string][]any{
			"integer": {"7", true, map[string]any{"a": "b"}},
			"number":  {"2.5", false, []any{int64(1)}},
			"boolean": {"true", int64(1)},
			"date":    {int64(946684800), true},
		} {
			for _, value := range wrong {
				Expect(cell(ctx, crd, typ, value)).To(BeNil(), "%v is of another type than %s", value, typ)
			}
		}
	})
	values.It(requirement.PublishingColumnsMissing, "shows an object without the value", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1", fixtures.MyNewCronObject.At("v1"))
		read := c.table(ctx, crd, "v1", "my-new-cron-object")
		Expect(read.Rows).To(HaveLen(1), "it must have the object")
		Expect(read.Rows[0].Cells).To(Equal([]any{"my-new-cron-object", nil, nil, nil, nil, nil}), "all cells but the name must be empty")
	})
	values.It(requirement.PublishingColumnsStructured, "shows a list and an object in a column of type string", func(ctx SpecContext, crd *suites.Resource) {
		Expect(cell(ctx, crd, "string", []any{int64(1), "two"})).To(And(BeAssignableToTypeOf(""), MatchJSON(`[1, "two"]`)), "it must show the list")
		Expect(cell(ctx, crd, "string", map[string]any{"a": "b"})).To(And(BeAssignableToTypeOf(""), MatchJSON(`{"a": "b"}`)), "it must show the object")
	})
}

func (c chapter) formats() {
	formats := []string{"int32", "int64", "float", "double", "byte", "date", "date-time", "password"}
	all := make([]column, 0, len(formats))
	for _, format := range formats {
		all = append(all, column{Name: format, Type: "string", Format: format, JSONPath: ".spec.cronSpec"})
	}
	c.env.With(fixtures.Stable, columnsAt("v1", all...)).It(requirement.PublishingColumnsFormats, "reads the formats of columns", func(ctx SpecContext, crd *suites.Resource) {
		crd.Create(ctx, "v1", fixtures.MyNewCronObject.At("v1"))
		read := c.table(ctx, crd, "v1")
		for _, format := range formats {
			Expect(read.column(format).Format).To(Equal(format), "the column must have its format")
			Expect(read.cells(format)).To(Equal([]any{"* * * * */5"}), "%s must show the value", format)
		}
	})
}

// columnsAt gives a version printer columns, in place of those it had.
func columnsAt(version string, columns ...column) fixtures.Option {
	return func(crd *definition) { fixtures.Version(crd, version).AdditionalPrinterColumns = columns }
}
