package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	kubetesting "k8s.io/client-go/testing"
)

// crontabs returns a definition with some conditions.
func crontabs(conditions ...apiextensionsv1.CustomResourceDefinitionCondition) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "crontabs.example.com", UID: "ours"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "crontabs", Kind: "CronTab"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1beta1", Served: true}, {Name: "v1alpha1"}, {Name: "v1", Served: true, Storage: true},
			},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: conditions},
	}
}

// established returns the condition Established as it is in a cluster whose clock is some time ahead.
func established(ahead time.Duration) apiextensionsv1.CustomResourceDefinitionCondition {
	return apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(time.Now().Add(ahead).Truncate(time.Second)),
	}
}

// in returns Definitions of a cluster that has some.
func in(definitions ...runtime.Object) (Definitions, *fake.Clientset) {
	client := fake.NewClientset(definitions...)
	return Definitions{Client: client.ApiextensionsV1().CustomResourceDefinitions()}, client
}

// TestEstablishedByAnotherClock waits two seconds from when the condition is seen, whatever the API server's clock says, and less if the
// server has changed the definition since, by its own clock.
func TestEstablishedByAnotherClock(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ahead   time.Duration // is the server's clock
		changed time.Duration // after it was established; 0 for never
		want    time.Duration
	}{
		"the same clock":    {0, 0, 2 * time.Second},
		"40 s ahead":        {40 * time.Second, 0, 2 * time.Second},
		"an hour behind":    {-time.Hour, 0, 2 * time.Second},
		"changed at once":   {40 * time.Second, time.Second, time.Second},
		"established long":  {40 * time.Second, time.Hour, 0},
		"changed before it": {0, -time.Minute, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			crd := crontabs(established(test.ahead))
			if test.changed != 0 {
				at := metav1.NewTime(crd.Status.Conditions[0].LastTransitionTime.Add(test.changed))
				crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "author", Time: &at}, {Manager: "odd"}}
			}
			d, _ := in(crd)
			began := time.Now()
			hold, err := d.Established(t.Context(), crd.Name)
			if err == nil {
				err = hold.Wait(t.Context())
			}
			if waited := time.Since(began); err != nil || waited != test.want {
				t.Errorf("%s: waited %s, want %s: %v", name, waited, test.want, err)
			}
		})
	}
}

// TestNotEstablished says why a definition is not established: at once if waiting does not mend it.
func TestNotEstablished(t *testing.T) {
	t.Parallel()
	const yes, no = apiextensionsv1.ConditionTrue, apiextensionsv1.ConditionFalse
	for name, test := range map[string]struct {
		conditions []apiextensionsv1.CustomResourceDefinitionCondition
		want       string
		after      time.Duration
	}{
		"names": {
			[]apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: no, Reason: "PluralConflict", Message: `"crontabs" is already in use`}},
			`crontabs.example.com is not established: its names are taken (NamesAccepted=False PluralConflict "crontabs" is already in use)`, 0,
		},
		"authority": {
			[]apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.NamesAccepted, Status: yes, Reason: "NoConflicts", Message: "no conflicts found"},
				{Type: apiextensionsv1.Established, Status: no, Reason: "InvalidCABundle", Message: "unable to load root certificates"},
			},
			"crontabs.example.com is not established: its caBundle is not valid (NamesAccepted=True NoConflicts no conflicts found; Established=False InvalidCABundle unable to load root certificates)", 0,
		},
		"slow": {
			[]apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: no, Reason: "Installing", Message: "the initial names have been accepted"}},
			"crontabs.example.com is not established: it takes longer than 30s (Established=False Installing the initial names have been accepted)", Effect,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, _ := in(crontabs(test.conditions...))
			began := time.Now()
			_, err := d.Established(t.Context(), "crontabs.example.com")
			if err == nil || err.Error() != test.want || time.Since(began) != test.after {
				t.Errorf("%s: got %v after %s, want %s", name, err, time.Since(began), test.want)
			}
		})
	}
	d, _ := in()
	if _, err := d.Established(t.Context(), "crontabs.example.com"); !apierrors.IsNotFound(err) {
		t.Errorf("of one that does not exist: %v", err)
	}
	d, _ = in(crontabs())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if _, err := d.Established(ctx, "crontabs.example.com"); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("when interrupted: %v", err)
	}
}

// TestRejected leaves out the values that an API server quotes, and what follows from what it said already.
func TestRejected(t *testing.T) {
	versions := field.Invalid(field.NewPath("spec", "versions"), []any{map[string]any{"name": "v1", "description": "a: [b]: c"}}, "must have one")
	name := field.Invalid(field.NewPath("metadata", "name"), "a", "must be b")
	stored := field.Invalid(field.NewPath("status", "storedVersions"), []string{}, "must have one")
	kind := schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	for want, wrong := range map[string]field.ErrorList{
		`the API server rejects it: spec.versions: Invalid value: must have one; metadata.name: Invalid value: "a": must be b`: {versions, versions, name, stored},
		`CustomResourceDefinition.apiextensions.k8s.io "a" is invalid`:                                                         nil,
	} {
		if got := (RejectedError{apierrors.NewInvalid(kind, "a", wrong)}); got.Error() != want || !apierrors.IsInvalid(got) {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

// TestServed waits until each served version answers, and with the name of a column until each shows it.
func TestServed(t *testing.T) {
	t.Parallel()
	const notFound, table = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}`, `{"kind": "Table", "columnDefinitions": [{"name": %q}]}`
	for name, test := range map[string]struct {
		column string
		scope  apiextensionsv1.ResourceScope
		last   int    // status of what counts
		body   string // of it
	}{
		"served":     {"", apiextensionsv1.NamespaceScoped, http.StatusOK, fmt.Sprintf(table, "Name")},
		"no webhook": {"", apiextensionsv1.ClusterScoped, http.StatusInternalServerError, "conversion webhook for example.com/v1 failed"},
		"in effect":  {"Change 2", apiextensionsv1.NamespaceScoped, http.StatusOK, fmt.Sprintf(table, "Change 2")},
	} {
		asked := map[string]int{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			asked[r.URL.Path]++
			status, body := http.StatusNotFound, notFound
			switch n := asked[r.URL.Path]; {
			case test.column != "" && n == 2:
				status, body = http.StatusOK, fmt.Sprintf(table, "Change 1")
			case n >= 3:
				status, body = test.last, test.body
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body)) // the client notices
		}))
		defer server.Close()
		clients, err := Connect(&rest.Config{Host: server.URL, QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		crd, middle := crontabs(), ""
		if crd.Spec.Scope = test.scope; test.scope == apiextensionsv1.NamespaceScoped {
			middle = "/namespaces/crdconform-none"
		}
		err = clients.Definitions.Served(t.Context(), crd, test.column)
		want := fmt.Sprint(map[string]int{"/apis/example.com/v1" + middle + "/crontabs": 3, "/apis/example.com/v1beta1" + middle + "/crontabs": 3})
		if err != nil || fmt.Sprint(asked) != want {
			t.Errorf("%s: asked %v, want %s: %v", name, asked, want, err)
		}
	}
}

// TestCreate creates a definition even if the run is interrupted meanwhile, and never takes over that of others.
func TestCreate(t *testing.T) {
	t.Parallel()
	d, client := in()
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("create", "*", func(kubetesting.Action) (bool, runtime.Object, error) {
		cancel()
		return false, nil, nil
	})
	crd := crontabs(established(0))
	crd.ResourceVersion, crd.Finalizers = "7", []string{"example.com/mine"}
	crd.Labels = map[string]string{"app": "tabs"}
	fresh := Fresh(crd)
	if fresh.ResourceVersion != "" || fresh.UID != "" || fresh.Finalizers != nil || fresh.Status.Conditions != nil || fresh.Labels["app"] != "tabs" || len(fresh.Spec.Versions) != 3 {
		t.Errorf("fresh: %v", fresh)
	}
	if _, err := d.Create(ctx, fresh); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := d.Create(ctx, fresh); !errors.Is(err, context.Canceled) {
		t.Errorf("after the interruption: %v", err)
	}
	if _, err := d.Create(t.Context(), fresh); !apierrors.IsAlreadyExists(err) || !strings.Contains(err.Error(), "it does not belong to this run; delete it, or use another cluster") {
		t.Errorf("again: %v", err)
	}
}

// TestChange changes the definition of the run, over conflicts, and no other one of its name.
func TestChange(t *testing.T) {
	t.Parallel()
	d, client := in(crontabs())
	conflicts := 0
	client.PrependReactor("update", "*", func(kubetesting.Action) (bool, runtime.Object, error) {
		conflicts++
		return conflicts < 3, nil, apierrors.NewConflict(schema.GroupResource{}, "crontabs.example.com", errors.New("changed"))
	})
	change := func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = ConvertedBy(crd, apiextensionsv1.WebhookClientConfig{})
	}
	if err := d.Change(t.Context(), crontabs(), change); err != nil || conflicts != 3 {
		t.Errorf("after %d conflicts: %v", conflicts, err)
	}
	now, err := d.Client.Get(t.Context(), "crontabs.example.com", metav1.GetOptions{})
	if err != nil || now.Spec.Conversion == nil || fmt.Sprint(now.Spec.Conversion.Webhook.ConversionReviewVersions) != "[v1]" {
		t.Errorf("%v, %v", now, err)
	}
	other := crontabs()
	other.UID = "another"
	if err := d.Change(t.Context(), other, change); err == nil || err.Error() != "changing crontabs.example.com: it was replaced meanwhile, so it is left alone" {
		t.Errorf("of another one: %v", err)
	}
}

// TestRemove deletes by UID and waits until the definition is gone or another one is in its place, and reminds an API server that has
// forgotten it.
func TestRemove(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
	for name, test := range map[string]struct {
		deletion error
		stays    time.Duration
		why      string // it is not deleted yet
		replaced bool
		reminded int
		want     string
	}{
		"gone":      {nil, time.Second, "InstanceDeletionInProgress", false, 0, ""},
		"gone long": {apierrors.NewNotFound(resource, "x"), 0, "", false, 0, ""},
		"replaced":  {apierrors.NewConflict(resource, "x", errors.New("UID")), 0, "", true, 0, ""},
		"forbidden": {apierrors.NewForbidden(resource, "x", nil), 0, "", false, 0, "removing crontabs.example.com: "},
		"forgotten": {nil, 12 * time.Second, "InstanceDeletionFailed", false, 2, ""},
		"working":   {nil, 12 * time.Second, "InstanceDeletionInProgress", false, 0, ""},
		"stuck":     {nil, time.Hour, "InstanceDeletionInProgress", false, 0, "waiting for crontabs.example.com to be removed (Terminating=True InstanceDeletionInProgress ): context deadline exceeded"},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			d, client := in()
			var deleted metav1.DeleteOptions
			reminded, meanwhile := 0, 0
			client.PrependReactor("*", "*", func(action kubetesting.Action) (bool, runtime.Object, error) {
				crd := crontabs(apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: test.why})
				switch a := action.(type) {
				case kubetesting.DeleteActionImpl:
					deleted = a.DeleteOptions
					return true, nil, test.deletion
				case kubetesting.PatchActionImpl:
					reminded++
				case kubetesting.GetActionImpl:
					if test.replaced {
						crd.UID = "another"
					} else if time.Since(began) >= test.stays {
						return true, nil, apierrors.NewNotFound(resource, "x")
					}
				}
				return true, crd, nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := d.Remove(ctx, crontabs(), func(context.Context, *apiextensionsv1.CustomResourceDefinition) { meanwhile++ })
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%s: got %v, want %s", name, err, test.want)
			}
			if deleted.Preconditions == nil || *deleted.Preconditions.UID != "ours" || reminded != test.reminded || meanwhile > 0 != (test.stays > 0) {
				t.Errorf("%s: deleted by %v, reminded %d times, %d times meanwhile", name, deleted.Preconditions, reminded, meanwhile)
			}
		})
	}
}

// TestVersions finds the version at which a definition stores objects, and those at which they are served.
func TestVersions(t *testing.T) {
	t.Parallel()
	crd := crontabs()
	if got := fmt.Sprintf("%q %v %v", StorageVersion(crd), ServedVersions(crd), ReadableVersions(crd)); got != `"v1" [v1beta1 v1] [v1 v1beta1]` {
		t.Error(got)
	}
	crd.Spec.Versions = crd.Spec.Versions[:2]
	if got := fmt.Sprintf("%q %v %v", StorageVersion(crd), ServedVersions(crd), ReadableVersions(crd)); got != `"" [v1beta1] [v1beta1]` {
		t.Error(got)
	}
}
