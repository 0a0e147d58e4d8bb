package main

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What follows is the conversion of the reference webhook as one writes it with controller-runtime.

// V1 is a CronTab at version v1, by way of which the others are converted.
type V1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Host *string `json:"host,omitempty"`
	Port *string `json:"port,omitempty"`
}

// V1beta1 is a CronTab at version v1beta1.
type V1beta1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	HostPort *string `json:"hostPort,omitempty"`
}

// crontabScheme knows both versions.
func crontabScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for version, object := range map[string]runtime.Object{"v1": &V1{}, "v1beta1": &V1beta1{}} {
		scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "CronTab"}, object)
	}
	return scheme
}

// DeepCopyObject returns a copy that shares nothing.
func (c *V1) DeepCopyObject() runtime.Object {
	other := &V1{TypeMeta: c.TypeMeta, Host: copied(c.Host), Port: copied(c.Port)}
	c.DeepCopyInto(&other.ObjectMeta)
	return other
}

// DeepCopyObject returns a copy that shares nothing.
func (c *V1beta1) DeepCopyObject() runtime.Object {
	other := &V1beta1{TypeMeta: c.TypeMeta, HostPort: copied(c.HostPort)}
	c.DeepCopyInto(&other.ObjectMeta)
	return other
}

func copied(text *string) *string {
	if text == nil {
		return nil
	}
	return new(*text)
}

// with returns annotations with one more.
func with(annotations map[string]string, name, value string) map[string]string {
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	return annotations
}

// without returns annotations without one, and what that was.
func without(annotations map[string]string, name string) (map[string]string, string) {
	value, found := annotations[name]
	if !found {
		return annotations, ""
	}
	annotations = maps.Clone(annotations)
	delete(annotations, name)
	return annotations, value
}
