package migrate

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// wantIncomplete wants an error that says that the migration is not complete, and why.
func wantIncomplete(t *testing.T, err error, why string) {
	t.Helper()
	var not *IncompleteError
	if !errors.As(err, &not) || !strings.Contains(err.Error(), why) {
		t.Errorf("got %v, want %s", err, why)
	}
}

// TestReadAt lists at the version where objects wait, unless it must not be asked for.
func TestReadAt(t *testing.T) {
	t.Parallel()
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec:   apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Deprecated: true}, {Name: "v1beta1"}, {Name: "v1"}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1beta1", "v1alpha1", "v1"}},
	}
	m := &migration{crd: crd, storage: "v1", served: []string{"v1", "v1alpha1", "v1beta1"}}
	for step, want := range map[Step][]string{DryRun: {"v1beta1", "v1", "v1alpha1"}, Objects: {"v1beta1", "v1", "v1alpha1"}, late: m.served} {
		if got := m.readAt(step); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", step, got, want)
		}
	}
}

// TestLatency has a webhook that is slower than the objective: sometimes, and always.
func TestLatency(t *testing.T) {
	var stopped error
	var waits int
	p := newPace(Options{MaxLatency: time.Second}, func(string) { waits++ })
	p.pause, p.stop = time.Microsecond, func(err error) { stopped = err }
	slow := func(n int, long time.Duration) {
		for range n {
			p.took(long)
		}
	}
	slow(judged-1, time.Second)
	slow(1, 2*time.Second)
	if waits != 1 || stopped != nil {
		t.Fatalf("it waited %d times, %v", waits, stopped)
	}
	slow(judged, time.Second)
	slow(pauses*judged, 2*time.Second)
	if waits != 1+pauses || stopped != nil {
		t.Fatalf("it waited %d times, %v", waits, stopped)
	}
	slow(judged, 2*time.Second)
	wantIncomplete(t, stopped, "the slowest 1 % of the latest writes took 2s or more even after 5 pauses, which exceeds the limit of 1s")
}
