package control

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestEndOfAMigration(t *testing.T) {
	condition := func(kind storagemigrationv1.MigrationConditionType, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: string(kind), Status: status}
	}
	running, over := condition(storagemigrationv1.MigrationRunning, metav1.ConditionTrue), condition(storagemigrationv1.MigrationRunning, metav1.ConditionFalse)
	succeeded, failed := condition(storagemigrationv1.MigrationSucceeded, metav1.ConditionTrue), condition(storagemigrationv1.MigrationFailed, metav1.ConditionTrue)
	for name, test := range map[string]struct {
		conditions       []metav1.Condition
		success, failure bool
	}{
		"none yet":             {nil, false, false},
		"running":              {[]metav1.Condition{running}, false, false},
		"succeeded":            {[]metav1.Condition{over, succeeded}, true, false},
		"no longer running":    {[]metav1.Condition{succeeded}, true, false},
		"not finished with it": {[]metav1.Condition{running, succeeded}, false, false},
		"failed":               {[]metav1.Condition{over, failed}, false, true},
		"not succeeded":        {[]metav1.Condition{over, condition(storagemigrationv1.MigrationSucceeded, metav1.ConditionFalse)}, false, false},
	} {
		status := storagemigrationv1.StorageVersionMigrationStatus{Conditions: test.conditions}
		success, err1 := haveSucceeded().Match(status)
		failure, err2 := haveFailed().Match(status)
		if success != test.success || failure != test.failure || err1 != nil || err2 != nil {
			t.Errorf("%s: got %t and %t, %v, %v", name, success, failure, err1, err2)
		}
	}
}

func TestConditionsOfANamespace(t *testing.T) {
	with := func(status, message string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "NamespaceContentRemaining", "status": "True", "message": "some text"},
			map[string]any{"type": "NamespaceFinalizersRemaining", "status": status, "message": message},
		}}}}
	}
	for name, test := range map[string]struct {
		namespace *unstructured.Unstructured
		want      bool
	}{
		"it has it":      {with("True", "held by some text"), true},
		"it is false":    {with("False", "some text"), false},
		"another text":   {with("True", "other"), false},
		"it has nothing": {&unstructured.Unstructured{Object: map[string]any{}}, false},
	} {
		if got, err := haveCondition(corev1.NamespaceFinalizersRemaining, "some text").Match(test.namespace); got != test.want || err != nil {
			t.Errorf("%s: got %t, %v", name, got, err)
		}
	}
}

func TestTerminating(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "crontabs"}, "a", errors.New("no"))
	because := apierrors.NewForbidden(schema.GroupResource{Resource: "crontabs"}, "a", errors.New("no"))
	because.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for err, want := range map[error]bool{
		because: true, forbidden: false, apierrors.NewNotFound(schema.GroupResource{}, "a"): false, nil: false,
	} {
		if got := terminating(err); got != want {
			t.Errorf("%v: got %t", err, got)
		}
	}
}

func TestIdleControllers(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	header := http.Header{"Date": {now.Format(http.TimeFormat)}}
	renewed := func(ago time.Duration) coordinationv1.Lease {
		return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)},
		}}
	}
	for _, test := range []struct {
		lease coordinationv1.Lease
		want  time.Duration
	}{
		{renewed(2 * time.Second), 0}, {renewed(time.Minute), 0}, {renewed(61 * time.Second), 61 * time.Second}, {coordinationv1.Lease{}, 0},
	} {
		if got := idleFor(test.lease, header); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
	if got := idleFor(renewed(0), http.Header{}); got <= 0 && time.Since(now) > time.Minute {
		t.Errorf("without the server's clock: got %s", got)
	}
}

func TestTable(t *testing.T) {
	const text = "NAME                 SPEC          REPLICAS   AGE\nmy-new-cron-object   * * * * */5   3          4m12s   \n"
	want := []string{"NAME | SPEC | REPLICAS | AGE", "my-new-cron-object | * * * * */5 | 3 | (age)"}
	if difference := cmp.Diff(want, table(text)); difference != "" {
		t.Error(difference)
	}
	if got := table(""); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

// TestKubeconfig reads back what is written for kubectl.
func TestKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]rest.Config{
		"a certificate": {Host: "https://127.0.0.1:6443", TLSClientConfig: rest.TLSClientConfig{
			CAData: []byte("ca"), CertData: []byte("certificate"), KeyData: []byte("key"), ServerName: "kubernetes",
		}},
		"files":    {Host: "https://example.com", TLSClientConfig: rest.TLSClientConfig{CAFile: file, CertFile: file, KeyFile: file}},
		"a token":  {Host: "https://example.com/prefix", BearerToken: "token"},
		"a person": {Host: "https://example.com", Username: "user", Password: "secret", Impersonate: rest.ImpersonationConfig{UserName: "other", Groups: []string{"group"}}},
	} {
		read, err := clientcmd.NewDefaultClientConfig(kubeconfig(&config), nil).ClientConfig()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		read.Impersonate.Extra = nil
		if difference := cmp.Diff(fields(&config), fields(read)); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

// fields are what matters of how to reach a cluster.
func fields(c *rest.Config) []string {
	all := map[string]string{
		"host": c.Host, "name": c.ServerName, "ca": string(c.CAData), "ca file": c.CAFile, "certificate": string(c.CertData), "certificate file": c.CertFile,
		"key": string(c.KeyData), "key file": c.KeyFile, "token": c.BearerToken, "user": c.Username, "password": c.Password, "other": c.Impersonate.UserName,
	}
	var text []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		text = append(text, key+"="+all[key])
	}
	return append(text, c.Impersonate.Groups...)
}
