package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	clientSideManager = "kubectl-client-side-apply"
	serverSideManager = "kubectl"
	replaceManager    = "kubectl-replace"
)

// installer installs definitions as users do.
type installer struct {
	kube.Definitions

	crds     dynamic.ResourceInterface // for what a typed client would not send as it is
	storage  Storage
	revision int // of definitions that were installed, for columns
}

// put installs a manifest in a way, over what is there. It returns what the API server says as it is.
func (i *installer) put(ctx context.Context, way Way, manifest map[string]any) error {
	return i.putBy(ctx, way, manifest, author{manager: serverSideManager})
}

// author is who applies by server-side apply.
type author struct {
	manager string
	force   bool // it takes fields from other managers
}

// putBy is put, by somebody.
func (i *installer) putBy(ctx context.Context, way Way, manifest map[string]any, by author) error {
	name := (&unstructured.Unstructured{Object: manifest}).GetName()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		there, err := i.crds.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			there = nil
		} else if err != nil {
			return err
		}
		wanted := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(manifest)}
		switch way {
		case ServerSide:
			return i.applyServerSide(ctx, there, wanted, by)
		case Replace:
			if there == nil {
				_, err = i.crds.Create(ctx, wanted, metav1.CreateOptions{FieldManager: "kubectl-create"})
				return err
			}
			wanted.SetResourceVersion(there.GetResourceVersion())
			_, err = i.crds.Update(ctx, wanted, metav1.UpdateOptions{FieldManager: replaceManager})
			return err
		case Apply:
		}
		return i.applyClientSide(ctx, there, wanted)
	})
}

// applyClientSide does what kubectl apply does for definitions: a merge of what was applied last, what is to be applied, and what is there, if
// anything is.
func (i *installer) applyClientSide(ctx context.Context, there, wanted *unstructured.Unstructured) error {
	annotated, err := i.applied(wanted.Object, "")
	if err != nil {
		return err
	}
	wanted.Object = annotated
	if there == nil {
		_, err = i.crds.Create(ctx, wanted, metav1.CreateOptions{FieldManager: clientSideManager})
		return err
	}
	modified, err1 := json.Marshal(wanted.Object)
	current, err2 := json.Marshal(there.Object)
	if err = errors.Join(err1, err2); err != nil {
		return err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(there.GetAnnotations()[kube.LastApplied]), modified, current)
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
	delete(annotations, kube.LastApplied)
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
	annotations[kube.LastApplied] = annotation
	wanted.SetAnnotations(annotations)
	return wanted.Object, nil
}

// applyServerSide does what kubectl apply --server-side does, which first takes over what kubectl apply owned.
func (i *installer) applyServerSide(ctx context.Context, there, wanted *unstructured.Unstructured, by author) error {
	if there != nil {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(there, sets.New(clientSideManager), by.manager)
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
	_, err = i.crds.Patch(ctx, wanted.GetName(), types.ApplyPatchType, raw, metav1.PatchOptions{FieldManager: by.manager, Force: &by.force})
	return err
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

// effective waits until a definition is established, and requests are served by what it is on a side, which has a printer column.
func (i *installer) effective(ctx context.Context, s *side, column string) error {
	if _, err := i.Established(ctx, s.typed.Name); err != nil {
		return err
	}
	return i.Served(ctx, s.typed, column)
}

// named waits until an API server has looked at the names of a definition that is established, and fails if it does not accept them.
func (i *installer) named(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, kube.Effect)
	defer cancel()
	return kube.Until(ctx, namesPoll, func(ctx context.Context) (bool, error) {
		now, err := i.Client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if c := apihelpers.FindCRDCondition(now, apiextensionsv1.NamesAccepted); c != nil && c.Status == apiextensionsv1.ConditionFalse {
			return false, fmt.Errorf("%w (%s)", i.Taken(ctx, now), c.Message)
		}
		return equality.Semantic.DeepEqual(now.Spec.Names, now.Status.AcceptedNames), nil
	})
}

// namesPoll is how often an API server is asked about names.
const namesPoll = 10 * time.Millisecond

// remove deletes a definition and waits until it is gone.
func (i *installer) remove(ctx context.Context, name string) error {
	there, err := i.Client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, kube.Effect)
	defer cancel()
	return i.Remove(ctx, there, nil)
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
	storage = kube.StorageVersion(typed)
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
