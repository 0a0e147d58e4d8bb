package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

type definitionOption = fixtures.Option

// of labels a definition as one of a run.
func of(run string) definitionOption {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		metav1.SetMetaDataLabel(&crd.ObjectMeta, cluster.RunLabel, run)
	}
}

// foreignDefinition is a definition of somebody else's.
func foreignDefinition(name string) *apiextensionsv1.CustomResourceDefinition {
	_, group, _ := strings.Cut(name, ".")
	return fixtures.None.New(fixtures.InGroup(group))
}

// install installs a definition, waits until it is established, and removes it at the end if it is still there.
func (s server) install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	if _, err := s.definitions.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var now *apiextensionsv1.CustomResourceDefinition
	eventually(t, func() (err error) {
		if now, err = s.definitions.Get(t.Context(), crd.Name, metav1.GetOptions{}); err != nil {
			return err
		}
		if !apihelpers.IsCRDConditionTrue(now, apiextensionsv1.Established) {
			return fmt.Errorf("%s is not established", crd.Name)
		}
		_, err = s.at(now, now.Status.StoredVersions[0]).List(t.Context(), metav1.ListOptions{})
		return err
	})
	t.Cleanup(func() { s.definitions.Delete(context.WithoutCancel(t.Context()), crd.Name, metav1.DeleteOptions{}) })
	return now
}

// at is a client for the objects of a definition.
func (s server) at(crd *apiextensionsv1.CustomResourceDefinition, version string) dynamic.ResourceInterface {
	return s.objects.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural}).Namespace("default")
}

// object creates an object at a version, by applying it, for which one need not wait.
func (s server) object(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string, object *unstructured.Unstructured) {
	t.Helper()
	object.SetAPIVersion(crd.Spec.Group + "/" + version)
	object.SetNamespace("default")
	eventually(t, func() error {
		_, err := s.at(crd, version).Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: "test"})
		return err
	})
}

// update changes a definition and waits until its storage version is as it is to be.
func (s server) update(t *testing.T, name string, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	eventually(t, func() error {
		crd, err := s.definitions.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(crd)
		_, err = s.definitions.Update(t.Context(), crd, metav1.UpdateOptions{})
		return err
	})
}

// killed leaves in the cluster what a run may leave that was killed at the worst of times, and returns the names of the
// definitions.
func (s server) killed(t *testing.T, run string) []string {
	t.Helper()
	in := func(topic string) definitionOption { return fixtures.InGroup(topic + ".run-" + run + ".example.com") }
	var names []string
	install := func(d fixtures.Definition, options ...definitionOption) *apiextensionsv1.CustomResourceDefinition {
		crd := s.install(t, d.New(append(options, of(run))...))
		names = append(names, crd.Name)
		return crd
	}

	// Objects at two versions, and the webhook is gone.
	hook, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		t.Fatal(err)
	}
	mixed := install(fixtures.Webhook, in("mixed"), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &hook.URL, CABundle: hook.CA}
	})
	s.object(t, mixed, "v1beta1", fixtures.LocalCronTab.At("v1beta1"))
	s.update(t, mixed.Name, fixtures.StoredAt("v1"))
	eventually(t, func() error {
		s.object(t, mixed, "v1", fixtures.RemoteCronTab.At("v1"))
		return nil
	})
	if err := hook.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.at(mixed, "v1").Get(t.Context(), "local-crontab", metav1.GetOptions{})
	if err == nil {
		t.Fatal("the object can be read without the webhook, so this proves nothing")
	}

	// Finalizers that nobody takes off, in a definition that is being deleted and of it.
	bound := install(fixtures.Stable, in("bound"), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Finalizers = []string{"example.com/held"}
	})
	s.object(t, bound, "v1", fixtures.Finalizer.At("v1"))
	if err := s.definitions.Delete(t.Context(), bound.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	// It goes as soon as its finalizer is off, before anybody could look at its objects.
	going := install(fixtures.Stable, in("going"), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Finalizers = []string{"example.com/held"}
	})
	if err := s.definitions.Delete(t.Context(), going.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		now, err := s.definitions.Get(t.Context(), going.Name, metav1.GetOptions{})
		if err == nil && len(now.Finalizers) > 1 {
			err = fmt.Errorf("it has the finalizers %q", now.Finalizers)
		}
		return err
	})

	// No version is served, and the object has a finalizer.
	unserved := install(fixtures.None, in("unserved"))
	kept := fixtures.LocalCronTab.At("v1")
	kept.SetFinalizers([]string{"example.com/kept"})
	s.object(t, unserved, "v1beta1", kept)
	s.update(t, unserved.Name, func(crd *apiextensionsv1.CustomResourceDefinition) {
		fixtures.NotServed("v1")(crd)
		fixtures.NotServed("v1beta1")(crd)
	})

	// An object is stored at a version that is gone.
	dropped := install(fixtures.None, in("dropped"))
	s.object(t, dropped, "v1beta1", fixtures.LocalCronTab.At("v1"))
	s.update(t, dropped.Name, fixtures.StoredAt("v1"))
	s.stored(t, dropped.Name, "v1")
	s.update(t, dropped.Name, fixtures.WithVersions("v1"))

	// The status names a version that there never was, which blocks every change.
	blocked := install(fixtures.None, in("blocked"))
	s.stored(t, blocked.Name, "v1beta1", "v2")

	// The objects are of a resource that the roles for cleaning up do not know.
	probes := install(fixtures.None, in("probed"), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Names.Plural, crd.Name = "probes", "probes."+crd.Spec.Group
	})
	s.object(t, probes, "v1beta1", fixtures.LocalCronTab.At("v1"))

	// A definition that never got established.
	invalid := fixtures.Webhook.New(in("invalid"), of(run), func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: new("https://127.0.0.1:1"), CABundle: []byte("no certificate")}
	})
	if _, err := s.definitions.Create(t.Context(), invalid, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return append(names, invalid.Name)
}

// stored sets status.storedVersions.
func (s server) stored(t *testing.T, name string, versions ...string) {
	t.Helper()
	eventually(t, func() error {
		crd, err := s.definitions.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		crd.Status.StoredVersions = versions
		_, err = s.definitions.UpdateStatus(t.Context(), crd, metav1.UpdateOptions{})
		return err
	})
}

// routed leaves a namespace with a service of a run, and a service of it in a namespace of somebody else's.
func (s server) routed(t *testing.T, run string, theirs *corev1.Namespace) {
	t.Helper()
	labels := map[string]string{cluster.RunLabel: run}
	_, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns-" + run, Labels: labels}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"ns-" + run, theirs.Name} {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "hook", Labels: labels}
		_, err1 := s.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
			ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
		}, metav1.CreateOptions{})
		_, err2 := s.client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
			ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		}, metav1.CreateOptions{})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
	}
}

// controlled leaves one of each thing that the chapter control makes, and returns how many that are. Two have a finalizer that nobody
// but the run takes off.
func (s server) controlled(t *testing.T, run string) int {
	t.Helper()
	all := []struct{ version, resource, kind, more string }{
		{"v1", "namespaces", "Namespace", ""},
		{"v1", "configmaps", "ConfigMap", ""},
		{"v1", "pods", "Pod", `spec: {containers: [{name: a, image: a}]}`},
		{"policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", `spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}`},
		{"autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", `spec: {maxReplicas: 1, scaleTargetRef: {apiVersion: a/v1, kind: A, name: a}}`},
		{"rbac.authorization.k8s.io/v1", "roles", "Role", ""},
		{"rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}`},
		{"admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", ""},
		{"admissionregistration.k8s.io/v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", `spec: {validations: [{expression: "true"}], ` +
			`matchConstraints: {resourceRules: [{apiGroups: [crdconform.dev], apiVersions: ["*"], operations: [UPDATE], resources: [none]}]}}`},
		{"admissionregistration.k8s.io/v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", `spec: {policyName: a, validationActions: [Deny]}`},
	}
	for _, one := range all {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(one.more), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.Object == nil {
			object.Object = map[string]any{}
		}
		object.SetAPIVersion(one.version)
		object.SetKind(one.kind)
		object.SetName("left-" + run)
		object.SetLabels(map[string]string{cluster.RunLabel: run})
		version, err := schema.ParseGroupVersion(one.version)
		if err != nil {
			t.Fatal(err)
		}
		at := dynamic.ResourceInterface(s.objects.Resource(version.WithResource(one.resource)))
		switch one.kind {
		case "Namespace":
			object.SetFinalizers([]string{held})
		case "ConfigMap":
			object.SetFinalizers([]string{held})
			fallthrough
		case "Pod", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Role", "RoleBinding":
			at = s.objects.Resource(version.WithResource(one.resource)).Namespace("default")
		}
		if _, err := at.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return len(all)
}

// held is the finalizer that specs of the chapter control set.
const held = "crdconform.dev/held"

// cleaner connects to the API server as a user.
func (s server) cleaner(t *testing.T, path string) *Cleaner {
	t.Helper()
	cleaner, err := NewCleaner(t.Context(), Options{Kubeconfig: path, Context: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return cleaner
}

// TestRemainsOfAKilledRun removes what a run left in each of the states that specs bring definitions to, and nothing else.
func TestRemainsOfAKilledRun(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	s.finalize(t)
	theirs, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service, err := s.client.CoreV1().Services("theirs").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	alive, err := s.client.CoreV1().ConfigMaps("theirs").Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "alive", Labels: map[string]string{cluster.RunLabel: "alive"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	foreign := s.install(t, foreignDefinition("crontabs.foreign.example.com"))
	other := s.install(t, fixtures.None.New(fixtures.InGroup("x.run-alive.example.com"), of("alive")))

	names := s.killed(t, "killed")
	s.routed(t, "killed", theirs)
	cleaner := s.cleaner(t, s.kubeconfig(t, s.admin()))
	found, unlisted, err := cleaner.Find(t.Context(), "killed")
	if err != nil || len(unlisted) > 0 {
		t.Fatalf("not seen: %v, %v", unlisted, err)
	}
	var got []string
	for _, l := range found {
		got = append(got, l.String())
		if l.UID == "" || l.Run != "killed" || time.Since(l.Created) > time.Hour {
			t.Errorf("got %+v", l)
		}
	}
	slices.Sort(names)
	var want []string
	for _, name := range names {
		want = append(want, "CustomResourceDefinition "+name+" of the run killed")
	}
	want = append(want, "EndpointSlice theirs/hook of the run killed", "Service theirs/hook of the run killed", "Namespace ns-killed of the run killed")
	if !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	reported := 0
	began := time.Now()
	left := cleaner.Remove(t.Context(), found, func(l Leftover, err error) {
		reported++
		if err != nil {
			t.Errorf("%s: %v", l, err)
		}
	})
	t.Logf("removed in %s", time.Since(began).Round(time.Millisecond))
	if left != 0 || reported != len(found) {
		t.Errorf("%d are left, and %d were reported", left, reported)
	}
	for _, name := range names {
		_, err := s.definitions.Get(t.Context(), name, metav1.GetOptions{})
		gone(t, name, err)
	}
	_, err = s.client.CoreV1().Namespaces().Get(t.Context(), "ns-killed", metav1.GetOptions{})
	gone(t, "the namespace", err)
	_, err = s.client.CoreV1().Services("theirs").Get(t.Context(), "hook", metav1.GetOptions{})
	gone(t, "the service", err)
	s.untouched(t, theirs, service, alive, foreign, other)

	// What is of any run is found without an ID.
	found, _, err = cleaner.Find(t.Context(), "")
	if err != nil || !slices.ContainsFunc(found, func(l Leftover) bool { return l.Run == "alive" && l.Kind == "ConfigMap" }) || slices.ContainsFunc(found, func(l Leftover) bool { return l.Run == "killed" }) {
		t.Errorf("found %v, %v", found, err)
	}
}

// TestCleaningWithTheRightsOfTheManifest has no more rights than deploy/rbac.yaml gives, and no fewer than it takes.
func TestCleaningWithTheRightsOfTheManifest(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	s.finalize(t)
	theirs, err := s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "theirs-too"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	definitions := len(s.killed(t, "limited"))
	s.routed(t, "limited", theirs)
	routed := 3 // an EndpointSlice, a Service and a Namespace
	controlled := s.controlled(t, "limited")
	cleaner := s.cleaner(t, s.kubeconfig(t, s.as("cleaning")))

	// Without any right, what cannot be looked for is reported.
	_, unlisted, err := cleaner.Find(t.Context(), "limited")
	ours := 0
	for _, u := range unlisted {
		if u.Ours() {
			ours++
		}
	}
	// Not every API server has storage migrations.
	if err != nil || ours < len(created())-1 || len(unlisted) < 20 {
		t.Errorf("%d of %d that were not seen are ours, %v", ours, len(unlisted), err)
	}

	var rights []Right
	for _, text := range granted(t, "*", "crdconform", "crdconform-cleanup") {
		right := Right{}
		verb, of, _ := strings.Cut(text, " ")
		right.Verb = verb
		right.Resource, right.Group, _ = strings.Cut(of, " of ")
		rights = append(rights, right)
	}
	s.allow(t, "cleaning", rights...)
	var found []Leftover
	eventually(t, func() error {
		found, unlisted, err = cleaner.Find(t.Context(), "limited")
		if slices.ContainsFunc(unlisted, Unlisted.Ours) || len(found) != definitions+routed+controlled {
			return fmt.Errorf("found %v, not seen %v, %w", found, unlisted, err)
		}
		return err
	})
	left := cleaner.Remove(t.Context(), found, func(l Leftover, err error) {
		if err != nil {
			t.Errorf("%s: %v", l, err)
		}
	})
	if left != 0 {
		t.Errorf("%d are left", left)
	}
	s.untouched(t, theirs)
}

// TestOthersAreLeftAlone removes nothing that is another thing by now, or that lost its label.
func TestOthersAreLeftAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	cleaner := s.cleaner(t, s.kubeconfig(t, s.admin()))
	crd := s.install(t, fixtures.None.New(fixtures.InGroup("x.run-again.example.com"), of("again")))
	found, _, err := cleaner.Find(t.Context(), "again")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	s.update(t, crd.Name, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Labels = nil })
	now, err := s.definitions.Get(t.Context(), crd.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for what, l := range map[string]Leftover{
		"no label":   found[0],
		"a new UID":  {Resource: found[0].Resource, Name: found[0].Name, UID: "another", Run: "again"},
		"other runs": {Resource: found[0].Resource, Name: found[0].Name, UID: found[0].UID, Run: "other"},
	} {
		left := cleaner.Remove(t.Context(), []Leftover{l}, func(_ Leftover, err error) {
			if err == nil || !strings.Contains(err.Error(), "it has changed since it was found and is not touched") {
				t.Errorf("%s: %v", what, err)
			}
		})
		if left != 1 {
			t.Errorf("%s: %d are left", what, left)
		}
	}
	s.untouched(t, now)
}

// TestFinalizersOfOthersStay takes the finalizer of a run off what is still the run's, and no other.
func TestFinalizersOfOthersStay(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it starts a kube-apiserver")
	}
	s := apiServer(t)
	cleaner := s.cleaner(t, s.kubeconfig(t, s.admin()))
	configMaps := s.client.CoreV1().ConfigMaps("default")
	const theirs = "example.com/kept"
	made, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "bound", Finalizers: []string{held, theirs}, Labels: map[string]string{cluster.RunLabel: "binding"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_, err1 := configMaps.Patch(ctx, "bound", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err := errors.Join(err1, configMaps.Delete(ctx, "bound", metav1.DeleteOptions{})); err != nil {
			t.Error(err)
		}
	})
	found, _, err := cleaner.Find(t.Context(), "binding")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	replaced, another := found[0], found[0]
	replaced.UID, another.Run = "another", "other"
	for what, l := range map[string]Leftover{"a new UID": replaced, "another run": another} {
		if err := cleaner.release(t.Context(), l); !errors.Is(err, errChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	s.untouched(t, made)
	if err := cleaner.release(t.Context(), found[0]); err != nil {
		t.Error(err)
	}
	if now, err := configMaps.Get(t.Context(), "bound", metav1.GetOptions{}); err != nil || !slices.Equal(now.Finalizers, []string{theirs}) {
		t.Errorf("now there are %v, %v", now.Finalizers, err)
	}
}

func TestOrderOfRemoval(t *testing.T) {
	at := func(group, resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	}
	all := []Leftover{
		{Resource: at("", "namespaces"), Kind: "Namespace", Name: "n", UID: "1"},
		{Resource: at("", "services"), Kind: "Service", Namespaced: true, Namespace: "n", Name: "a", UID: "2"},
		{Resource: at("", "services"), Kind: "Service", Namespaced: true, Namespace: "m", Name: "b", UID: "3"},
		{Resource: at("", "configmaps"), Kind: "ConfigMap", Namespaced: true, Namespace: "n", Name: "held", UID: "7", held: true},
		{Resource: at("events.k8s.io", "events"), Kind: "Event", Namespaced: true, Namespace: "m", Name: "e", UID: "4"},
		{Resource: at("", "events"), Kind: "Event", Namespaced: true, Namespace: "m", Name: "e", UID: "4"},
		{Resource: at("apiextensions.k8s.io", "customresourcedefinitions"), Kind: "CustomResourceDefinition", Name: "c", UID: "5"},
		{Resource: at("admissionregistration.k8s.io", "validatingwebhookconfigurations"), Kind: "ValidatingWebhookConfiguration", Name: "v", UID: "6"},
	}
	var got []string
	for _, these := range inTurn(sorted(all)) {
		var names []string
		for _, l := range these {
			names = append(names, l.Name)
		}
		got = append(got, strings.Join(names, " "))
	}
	if want := []string{"v", "c", "held e b", "n"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}
