package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
)

const (
	// lastApplied is the annotation in which kubectl apply keeps what it applied.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
	replaceManager    = "kubectl-replace"

	// effectTimeout is how long an API server may take until it serves a changed definition, and effectPoll how often it is asked.
	effectTimeout = 30 * time.Second
	effectPoll    = 5 * time.Millisecond

	// unseenTimeout is how long it is waited where an API server does not answer for want of a conversion. Its own caches follow within
	// milliseconds.
	unseenTimeout = 2 * time.Second
)

// installer installs definitions as users do.
type installer struct {
	crds     dynamic.ResourceInterface
	rest     rest.Interface
	storage  Storage
	revision int // of definitions that were installed, for columns
}

func definitionsResource() schema.GroupVersionResource {
	return apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
}

// put installs a manifest in a way, over what is there. It returns what the API server says as it is.
func (i *installer) put(ctx context.Context, way Way, manifest map[string]any) error {
	name := (&unstructured.Unstructured{Object: manifest}).GetName()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := i.crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		missing := err != nil
		wanted := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
		switch way {
		case ServerSide:
			return i.applyServerSide(ctx, there, missing, wanted)
		case Replace:
			if missing {
				_, err = i.crds.Create(ctx, wanted, metav1.CreateOptions{FieldManager: "kubectl-create"})
				return err
			}
			wanted.SetResourceVersion(there.GetResourceVersion())
			_, err = i.crds.Update(ctx, wanted, metav1.UpdateOptions{FieldManager: replaceManager})
			return err
		case Apply:
		}
		return i.applyClientSide(ctx, there, missing, wanted)
	})
}

// applyClientSide does what kubectl apply does for definitions: a merge of what was applied last, what is to be applied, and what is there.
func (i *installer) applyClientSide(ctx context.Context, there *unstructured.Unstructured, missing bool, wanted *unstructured.Unstructured) error {
	annotated, err := i.applied(wanted.Object, "")
	if err != nil {
		return err
	}
	wanted.Object = annotated
	if missing {
		_, err = i.crds.Create(ctx, wanted, metav1.CreateOptions{FieldManager: clientSideManager})
		return err
	}
	modified, err1 := json.Marshal(wanted.Object)
	current, err2 := json.Marshal(there.Object)
	if err = errors.Join(err1, err2); err != nil {
		return err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(there.GetAnnotations()[lastApplied]), modified, current)
	if err != nil || string(patch) == "{}" {
		return err
	}
	_, err = i.crds.Patch(ctx, wanted.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: clientSideManager})
	return err
}

// applied returns a manifest with the annotation of kubectl apply: the one that is given, or else that of the manifest itself.
func (i *installer) applied(manifest map[string]any, annotation string) (map[string]any, error) {
	wanted := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
	annotations := wanted.GetAnnotations()
	delete(annotations, lastApplied)
	wanted.SetAnnotations(annotations)
	if annotation == "" {
		raw, err := json.Marshal(wanted.Object)
		if err != nil {
			return nil, err
		}
		annotation = string(raw) + "\n"
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lastApplied] = annotation
	wanted.SetAnnotations(annotations)
	return wanted.Object, nil
}

// applyServerSide does what kubectl apply --server-side does, which first takes over what kubectl apply owned.
func (i *installer) applyServerSide(ctx context.Context, there *unstructured.Unstructured, missing bool, wanted *unstructured.Unstructured) error {
	if !missing {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(there, sets.New(clientSideManager), serverSideManager)
		if err == nil && len(patch) > 0 {
			_, err = i.crds.Patch(ctx, wanted.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{})
		}
		if err != nil {
			return err
		}
	}
	raw, err := json.Marshal(wanted.Object)
	if err != nil {
		return err
	}
	_, err = i.crds.Patch(ctx, wanted.GetName(), types.ApplyPatchType, raw, metav1.PatchOptions{FieldManager: serverSideManager})
	return err
}

// establish waits until a definition is established, or says why it is not.
func (i *installer) establish(ctx context.Context, name string) error {
	var last *apiextensionsv1.CustomResourceDefinition
	err := wait.PollUntilContextTimeout(ctx, effectPoll, effectTimeout, true, func(ctx context.Context) (bool, error) {
		there, err := i.crds.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = &apiextensionsv1.CustomResourceDefinition{}
		if err = runtime.DefaultUnstructuredConverter.FromUnstructured(there.Object, last); err != nil {
			return false, err
		}
		return apihelpers.IsCRDConditionTrue(last, apiextensionsv1.Established), nil
	})
	if err == nil || last == nil || ctx.Err() != nil {
		return err
	}
	var conditions []string
	for _, c := range last.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s is %s: %s", c.Type, c.Status, c.Message))
	}
	return fmt.Errorf("%s is not established after %s (%s)", name, effectTimeout, strings.Join(conditions, "; "))
}

// column names a printer column that a manifest gets, by which requests are seen to be served by it. It changes nothing else.
func (i *installer) column(manifest map[string]any) string {
	i.revision++
	name := fmt.Sprintf("Rehearsal %d", i.revision)
	versions, _, _ := unstructured.NestedSlice(manifest, "spec", "versions") // what has none is refused by the API server
	for _, one := range versions {
		version, ok := one.(map[string]any)
		if !ok {
			continue
		}
		columns, _ := version["additionalPrinterColumns"].([]any)
		version["additionalPrinterColumns"] = append(columns, map[string]any{"name": name, "type": "string", "jsonPath": ".metadata.name"})
	}
	_ = unstructured.SetNestedSlice(manifest, versions, "spec", "versions") // it was read from there
	return name
}

// effective waits until requests are served by a definition with a printer column. The table is that of an object that is not there, so
// that nothing is converted for it. An API server with a watch cache may have to convert all objects first all the same; where that
// fails, there is nothing to wait for.
func (i *installer) effective(ctx context.Context, k *kind, s *side, column string) error {
	served := s.served()
	if len(served) == 0 {
		return nil
	}
	path := []string{"apis", k.group, served[0]}
	if k.scoped {
		path = append(path, "namespaces", "crdconform-none")
	}
	path = append(path, k.plural)
	unseen := time.Time{}
	err := wait.PollUntilContextTimeout(ctx, effectPoll, effectTimeout, true, func(ctx context.Context) (bool, error) {
		raw, err := i.rest.Get().AbsPath(path...).Param("fieldSelector", "metadata.name=crdconform-none").Param("limit", "1").
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Timeout(unseenTimeout).DoRaw(ctx)
		if err == nil {
			unseen = time.Time{}
			return strings.Contains(string(raw), strconv.Quote(column)), nil
		}
		if apierrors.IsNotFound(err) { // it is not served yet
			return false, nil
		}
		if unseen.IsZero() {
			unseen = time.Now()
		}
		return time.Since(unseen) > unseenTimeout, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("the API server does not serve %s as it was changed after %s: %w", k.name, effectTimeout, err)
	}
	return err
}

// remove deletes a definition and waits until it is gone.
func (i *installer) remove(ctx context.Context, name string) error {
	err := i.crds.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, effectPoll, effectTimeout, true, func(ctx context.Context) (bool, error) {
		_, err := i.crds.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
}

// trim sets status.storedVersions.
func (i *installer) trim(ctx context.Context, name string, versions []string) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"storedVersions": versions}})
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err = i.crds.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// plant puts a definition into etcd as it is: in clusters that have had it for long, there are definitions that API servers of today
// refuse to create.
func (i *installer) plant(ctx context.Context, manifest map[string]any, n int) error {
	planted := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
	planted.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)))
	planted.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	planted.SetGeneration(1)
	var storage string
	typed := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(planted.Object, typed); err != nil {
		return err
	}
	storage = storageOf(typed)
	_ = unstructured.SetNestedField(planted.Object, map[string]any{
		"storedVersions": []any{storage}, "conditions": []any{}, "acceptedNames": map[string]any{"plural": "", "kind": ""},
	}, "status")
	raw, err := json.Marshal(planted.Object)
	if err != nil {
		return err
	}
	return i.storage.Put(ctx, cluster.Key{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions", Name: planted.GetName()}, raw)
}

// storedVersions reads status.storedVersions.
func (i *installer) storedVersions(ctx context.Context, name string) ([]string, error) {
	there, err := i.crds.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	versions, _, err := unstructured.NestedStringSlice(there.Object, "status", "storedVersions")
	return versions, err
}

// withClient returns a manifest whose conversion stanza names a webhook.
func withClient(manifest map[string]any, client apiextensionsv1.WebhookClientConfig) (map[string]any, error) {
	manifest = runtime.DeepCopyJSON(manifest)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&client)
	if err != nil {
		return nil, err
	}
	if err := unstructured.SetNestedMap(manifest, fields, "spec", "conversion", "webhook", "clientConfig"); err != nil {
		return nil, fmt.Errorf("spec.conversion: %w", err)
	}
	reviews, found, _ := unstructured.NestedFieldNoCopy(manifest, "spec", "conversion", "webhook", "conversionReviewVersions")
	if list, _ := reviews.([]any); !found || len(list) == 0 {
		return manifest, unstructured.SetNestedStringSlice(manifest, []string{"v1", "v1beta1"}, "spec", "conversion", "webhook", "conversionReviewVersions")
	}
	return manifest, nil
}

// withoutWebhook returns a manifest whose objects are converted by changing their apiVersion only.
func withoutWebhook(manifest map[string]any) map[string]any {
	manifest = runtime.DeepCopyJSON(manifest)
	spec, _ := manifest["spec"].(map[string]any)
	spec["conversion"] = map[string]any{"strategy": "None"}
	return manifest
}

// storedAt returns a manifest with another storage version.
func storedAt(manifest map[string]any, version string) map[string]any {
	manifest = runtime.DeepCopyJSON(manifest)
	versions, _, _ := unstructured.NestedSlice(manifest, "spec", "versions") // the API server has accepted it
	for _, one := range versions {
		if v, ok := one.(map[string]any); ok {
			v["storage"] = v["name"] == version
		}
	}
	_ = unstructured.SetNestedSlice(manifest, versions, "spec", "versions")
	return manifest
}
