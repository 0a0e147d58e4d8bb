package suites

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// ForeignError says that the cluster has definitions in the API groups of a run that the run did not create. Nothing was
// touched.
type ForeignError struct {
	Names  []string // of the definitions, sorted
	Domain string   // that the groups end with
}

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the cluster has definitions in API groups that the run would use, those of %s, which do not belong to this run: %s; nothing was changed; \"crdconform cleanup\" removes what killed runs left, otherwise delete them or use another cluster",
		e.Domain, visible.First(e.Names, 5))
}

// foreign looks for definitions in the API groups of the run that are not the run's.
func (e *Env) foreign(ctx context.Context) error {
	if e.run == "" {
		return nil
	}
	// Whole definitions are some megabytes in a cluster with many operators.
	answer, err := e.do(ctx, http.MethodGet, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", nil,
		http.Header{"Accept": {"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}})
	if err != nil {
		return fmt.Errorf("listing the definitions of the %s cluster: %w", e.Cluster.Name(), err)
	}
	if answer.Status != http.StatusOK {
		return fmt.Errorf("listing the definitions of the %s cluster: HTTP status %d: %s", e.Cluster.Name(), answer.Status, answer.Body)
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		return fmt.Errorf("listing the definitions of the %s cluster: %w", e.Cluster.Name(), err)
	}
	own := map[string]bool{}
	for _, r := range requirement.All() {
		own[e.groupOf(r.ID)] = true
	}
	var names []string
	for _, definition := range list.Items {
		_, group, _ := strings.Cut(definition.Name, ".")
		if own[unnumbered(group)] && definition.Labels[cluster.RunLabel] != e.run {
			names = append(names, definition.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &ForeignError{names, e.domain}
}

// unnumbered is an API group without the number by which Install distinguishes several of a spec.
func unnumbered(group string) string {
	number, rest, found := strings.Cut(group, "-")
	if digits, numbered := strings.CutPrefix(number, "n"); found && numbered && digits != "" && strings.Trim(digits, "0123456789") == "" {
		return rest
	}
	return group
}
