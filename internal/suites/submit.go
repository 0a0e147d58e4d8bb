package suites

import (
	"context"
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/requirement"
)

// Submit asks the API server whether it accepts a definition, changed by options, without installing it. The group is
// the requirement's own.
func (e *Env) Submit(ctx context.Context, id requirement.ID, definition fixtures.Definition, options ...fixtures.Option) error {
	crd := definition.New(append([]fixtures.Option{fixtures.InGroup(e.groupOf(id))}, options...)...)
	_, err := e.CRDs.Create(ctx, crd, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// Refuses declares the spec of a requirement by which something is refused: the definition must be accepted as it is, and
// refused once changed, for the fields that are named.
func (e *Env) Refuses(id requirement.ID, text string, definition fixtures.Definition, change fixtures.Option, fields ...string) {
	e.declare(id, text, func(ctx ginkgo.SpecContext) {
		e.Require(e.Submit(ctx, id, definition), "submitting the definition as it is")
		gomega.Expect(e.Submit(ctx, id, definition, change)).To(BeInvalidAt(fields...))
	}, nil)
}

// BeInvalidAt matches an error by which the API server refuses an object as invalid, for the fields that are named and
// perhaps more. Texts differ from minor to minor, fields do not.
func BeInvalidAt(fields ...string) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(err error) (bool, error) {
		if err == nil {
			return false, nil
		}
		if !apierrors.IsInvalid(err) {
			return false, fmt.Errorf("expected the API server to reject it as invalid, but: %w", err)
		}
		named := invalidFields(err)
		return !slices.ContainsFunc(fields, func(field string) bool { return !slices.Contains(named, field) }), nil
	}).WithTemplate("Expected the API server to reject it for {{.Data}}, but it returned:\n{{if .Actual}}{{.Actual.Error}}{{else}}nothing: it accepted it{{end}}", fields)
}

// invalidFields returns the fields that an error names.
func invalidFields(err error) []string {
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return fields
}
