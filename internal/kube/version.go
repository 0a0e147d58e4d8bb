package kube

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// StorageVersion returns the version at which a definition stores objects; empty if it has none, which API servers refuse.
func StorageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// ServedVersions returns the served versions, in the definition's order.
func ServedVersions(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var served []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	return served
}

// ReadableVersions returns the served versions, the storage version first if it is one of them: it takes no conversion.
func ReadableVersions(crd *apiextensionsv1.CustomResourceDefinition) []string {
	served, storage := ServedVersions(crd), StorageVersion(crd)
	if i := slices.Index(served, storage); i > 0 {
		served = slices.Insert(slices.Delete(served, i, i+1), 0, storage)
	}
	return served
}

// StorageVersionHash returns what discovery shows for the version at which the objects of a kind are stored. It is as in
// k8s.io/apiserver/pkg/endpoints/discovery, which would link a whole API server.
func StorageVersionHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
