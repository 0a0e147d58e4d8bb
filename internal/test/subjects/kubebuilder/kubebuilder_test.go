package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/test/subjects"
	v1 "github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1alpha1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1beta1"
	"github.com/crdconform/crdconform/internal/wire"
)

// TestMain sets the logger, as main does: there is one for all servers of a process.
func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	m.Run()
}

// start runs the program in the test's process, and returns a client for it.
func start(t *testing.T, args ...string) *wire.Client {
	t.Helper()
	certs, ca := subjects.Certs(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := webhook().Run(ctx, append(args, "--certs", certs), in)
		in.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	var url string
	if _, err := fmt.Fscanf(out, "listening on %s\n", &url); err != nil {
		t.Fatal(err)
	}
	client, err := wire.Connect(wire.Endpoint{URL: url, CA: ca})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// ask sends objects, and returns what the judge says with the body of the response.
func ask(t *testing.T, client *wire.Client, to string, objects ...string) (contract.Judgement, string) {
	t.Helper()
	request := contract.Request{ReviewVersion: "v1", UID: "a", DesiredAPIVersion: "factory.example.org/" + to}
	for _, object := range objects {
		request.Objects = append(request.Objects, json.RawMessage(object))
	}
	body, err := request.Body()
	if err != nil {
		t.Fatal(err)
	}
	response := client.Send(t.Context(), body)
	return request.Judge(response), string(response.Body)
}

const widget = `{"apiVersion":"factory.example.org/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"enabled":false,"serial":9223372036854775807,"weights":{"x":1},"schedule":{}}}`

func TestServesOverTLS(t *testing.T) {
	t.Parallel()
	client := start(t)
	var all sync.WaitGroup
	for range 8 { // at a time, for the race detector
		all.Go(func() {
			judgement, body := ask(t, client, "v1alpha1", widget, widget)
			if judgement.Rejected() != nil || strings.Count(body, `"paused":true,"serialNumber":9223372036854775807`) != 2 {
				t.Errorf("got %v, %s", judgement.Rejected(), body)
			}
		})
	}
	all.Wait()
}

func TestWhatCannotBeConverted(t *testing.T) {
	t.Parallel()
	client := start(t)
	for name, test := range map[string]struct{ object, to, want string }{
		"unknown version": {widget, "v7", "no kind"},
		"unknown kind":    {`{"apiVersion":"factory.example.org/v1","kind":"Gear","metadata":{"name":"a"}}`, "v1beta1", "no kind"},
		"text as number":  {`{"apiVersion":"factory.example.org/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"serial":"1"}}`, "v1beta1", "serial"},
		"text as spec":    {`{"apiVersion":"factory.example.org/v1","kind":"Widget","metadata":{"name":"a"},"spec":"x"}`, "v1beta1", "spec"},
		"same version":    {widget, "v1", "same type"},
		"no duration":     {`{"apiVersion":"factory.example.org/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"schedule":{"interval":"soon"}}}`, "v1beta1", "soon"},
	} {
		judgement, body := ask(t, client, test.to, test.object)
		if judgement.Rejected() == nil || !strings.Contains(body, test.want) {
			t.Errorf("%s: got %s, want something with %q", name, body, test.want)
		}
	}
	if judgement, body := ask(t, client, "v1beta1", widget); judgement.Rejected() != nil {
		t.Errorf("after all that: %s", body)
	}
}

func TestPlantsBugs(t *testing.T) {
	t.Parallel()
	if judgement, body := ask(t, start(t, "--bug", "drops-false"), "v1alpha1", widget); judgement.Rejected() != nil || strings.Contains(body, "paused") {
		t.Errorf("drops-false: got %s", body)
	}
	judgement, body := ask(t, start(t, "--bug", "panics"), "v1beta1", `{"apiVersion":"factory.example.org/v1","kind":"Widget","metadata":{"name":"a"}}`)
	if judgement.Rejected() == nil || !strings.Contains(body, "internal error") {
		t.Errorf("panics: got %s", body)
	}
}

func full() *v1.Widget {
	return &v1.Widget{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"example.org/a": "b"}},
		Spec: &v1.WidgetSpec{
			DisplayName: new("before"),
			Image:       &v1.Image{Tag: new("v1"), PullPolicy: new("Never")},
			Schedule:    &v1.Schedule{TimeZone: new("UTC")},
			Weights:     map[string]int64{},
			Ports: []v1.Port{
				{Name: "a", Port: 1, Protocol: new("TCP"), AppProtocol: new("http2")},
				{Name: "b", Port: 2},
				{Name: "c", Port: 3, Protocol: new("UDP")},
			},
		},
	}
}

// TestEditsWin holds that what is changed at an old version stays changed, and that what it cannot show comes back.
func TestEditsWin(t *testing.T) {
	t.Parallel()
	hub, before := full(), full()
	old := &v1alpha1.Widget{}
	if err := old.ConvertFrom(hub); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, hub); diff != "" {
		t.Errorf("the hub was changed:\n%s", diff)
	}
	old.Spec.Title = new("after")
	old.Spec.Mode = new("Safe")
	old.Spec.Ports = []v1alpha1.Port{old.Spec.Ports[2], {Name: "new", Port: 4}, old.Spec.Ports[0]}
	old.Spec.Ports[2].Port = 8080
	after := &v1.Widget{}
	if err := old.ConvertTo(after); err != nil {
		t.Fatal(err)
	}
	want := full()
	want.Spec.DisplayName = new("after")
	want.Annotations["factory.example.org/v1alpha1-fields"] = `{"mode":"Safe"}`
	want.Spec.Ports = []v1.Port{
		{Name: "c", Port: 3, Protocol: new("UDP")},
		{Name: "new", Port: 4},
		{Name: "a", Port: 8080, Protocol: new("TCP"), AppProtocol: new("http2")},
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}

// TestRemovedParents holds that what belongs to something that was removed does not come back alone.
func TestRemovedParents(t *testing.T) {
	t.Parallel()
	middle, after := &v1beta1.Widget{}, &v1.Widget{}
	if err := middle.ConvertFrom(full()); err != nil {
		t.Fatal(err)
	}
	middle.Spec.Image, middle.Spec.Ports = nil, nil
	if err := middle.ConvertTo(after); err != nil || after.Spec.Image != nil || after.Spec.Ports != nil || *after.Spec.Schedule.TimeZone != "UTC" {
		t.Errorf("got %+v, %v", after.Spec, err)
	}
	middle.Spec = nil
	if err := middle.ConvertTo(after); err != nil || after.Spec != nil {
		t.Errorf("got %+v, %v", after.Spec, err)
	}
}

// TestNotesThatMakeNoSense holds that an annotation which cannot be read does not stand in the way of a conversion.
func TestNotesThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "null", "[]", `{"weights":{"a":"b"},"timeZone":"Mars"}`} {
		middle := &v1beta1.Widget{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"factory.example.org/v1-fields": text}},
			Spec:       &v1beta1.WidgetSpec{Schedule: &v1beta1.Schedule{}},
		}
		old := &v1alpha1.Widget{ObjectMeta: *middle.ObjectMeta.DeepCopy(), Spec: &v1alpha1.WidgetSpec{}}
		for _, from := range []spoke{middle, old} {
			after := &v1.Widget{}
			if err := from.ConvertTo(after); err != nil || after.Spec.Weights != nil || len(after.Annotations) > 0 || after.Spec.Schedule != nil && after.Spec.Schedule.TimeZone != nil {
				t.Errorf("%T with %q: got %+v, %v", from, text, after, err)
			}
		}
	}
}
