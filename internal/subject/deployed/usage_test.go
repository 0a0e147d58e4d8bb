package deployed

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crdconform/crdconform/internal/memory"
)

// TestSummary adds up the containers of the pods that are asked about, and leaves out those that kubelets have not looked at.
func TestSummary(t *testing.T) {
	t.Parallel()
	const text = `{"node": {}, "pods": [
		{"podRef": {"uid": "a"}, "containers": [{"cpu": {"usageCoreNanoSeconds": 2000}, "memory": {"rssBytes": 7}}, {"memory": {"rssBytes": 0}}]},
		{"podRef": {"uid": "b"}, "containers": [{"cpu": {"usageCoreNanoSeconds": 500}, "memory": {"rssBytes": 5}}]},
		{"podRef": {"uid": "c"}, "containers": []},
		{"podRef": {"uid": "other"}, "containers": [{"cpu": {"usageCoreNanoSeconds": 9}, "memory": {"rssBytes": 9}}]}]}`
	var s summary
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	var pods []corev1.Pod
	for _, id := range []string{"a", "b", "c", "new"} {
		pods = append(pods, corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(id)}})
	}
	var sum memory.Sample
	if known := s.add(pods, &sum); known != 2 {
		t.Errorf("%d pods are known, want a and b", known)
	}
	if want := (memory.Sample{Resident: 12, Processor: 2500 * time.Nanosecond, Processes: 2}); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}
