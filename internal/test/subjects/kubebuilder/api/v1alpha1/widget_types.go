// Package v1alpha1 has the first Widget.
//
// +kubebuilder:object:generate=true
// +groupName=factory.example.org
//
// It can be paused rather than enabled, has its schedule in two fields of their own, and a mode that no later version has.
package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Widget is what the factory makes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec *WidgetSpec `json:"spec,omitempty"`
	// +optional
	Status *WidgetStatus `json:"status,omitempty"`
}

// GroupVersion is where the Widget of this package belongs.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "factory.example.org", Version: "v1alpha1"}
}

// WidgetSpec is what a Widget should be.
type WidgetSpec struct {
	// +optional
	Title *string `json:"title,omitempty"`
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// +optional
	// +kubebuilder:default=false
	Paused *bool `json:"paused,omitempty"`
	// +optional
	SerialNumber *int64 `json:"serialNumber,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,2}(Mi|Gi)$`
	Size *resource.Quantity `json:"size,omitempty"`
	// +optional
	Container *Container `json:"container,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]{0,3}h[1-5]?[0-9]m[1-5]?[0-9]s|([1-9]|[1-5][0-9])m[1-5]?[0-9]s|[1-5]?[0-9]s)$`
	Interval *metav1.Duration `json:"interval,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// +optional
	Args []string `json:"args,omitzero"`
	// +optional
	// +listType=map
	// +listMapKey=name
	Ports []Port `json:"ports,omitzero"`
	// +optional
	Params map[string]string `json:"params,omitzero"`
	// Config is passed on as it is.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Config *apiextensionsv1.JSON `json:"config,omitempty"`
	// Mode was given up after v1alpha1.
	//
	// +optional
	// +kubebuilder:validation:Enum=Fast;Safe
	Mode *string `json:"mode,omitempty"`
}

// Container is what a Widget runs.
type Container struct {
	// +optional
	Repo *string `json:"repo,omitempty"`
	// +optional
	Version *string `json:"version,omitempty"`
}

// Port is where a Widget listens.
type Port struct {
	Name string `json:"name"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
}

// WidgetStatus is what a Widget is.
type WidgetStatus struct {
	// +optional
	State *string `json:"state,omitempty"`
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// +optional
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitzero"`
}
