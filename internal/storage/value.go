package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// What values in etcd begin with, apart from JSON.
var (
	encrypted = []byte("k8s:enc:")
	cbor      = []byte{0xd9, 0xd9, 0xf7} // the tag of self-described CBOR
)

// value is what is of interest in a stored object.
type value struct {
	APIVersion string            `json:"apiVersion"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
}

// errEncrypted says that values cannot be read.
var errEncrypted = errors.New("encrypted")

// parse reads a stored object.
func parse(data []byte) (value, error) {
	var v value
	var err error
	switch {
	case bytes.HasPrefix(data, encrypted):
		return v, fmt.Errorf("the API server stores the objects %w (%s), so the bytes do not show their versions", errEncrypted, provider(data))
	case bytes.HasPrefix(data, cbor):
		data, err = toJSON(data)
		if err == nil {
			err = json.Unmarshal(data, &v)
		}
	default:
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		return v, fmt.Errorf("it is neither JSON nor CBOR: %w", err)
	}
	if v.APIVersion == "" || v.Metadata.Name == "" {
		return v, errors.New("it has no apiVersion or no name")
	}
	return v, nil
}

// toJSON turns CBOR into JSON. The decoder of CBOR knows no fields that are of no interest.
func toJSON(data []byte) ([]byte, error) {
	var everything map[string]any
	if err := direct.Unmarshal(data, &everything); err != nil {
		return nil, err
	}
	return json.Marshal(everything)
}

// provider is the way in which a value is encrypted, such as k8s:enc:aescbc:v1.
func provider(data []byte) string {
	parts := bytes.SplitN(data[:min(len(data), 64)], []byte(":"), 5)
	return string(bytes.Join(parts[:min(len(parts), 4)], []byte(":")))
}

// version is the version that the object is stored at.
func (v value) version() string { return schema.FromAPIVersionAndKind(v.APIVersion, "").Version }
