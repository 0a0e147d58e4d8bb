// Package v1 has the Widget that the other versions are converted by way of.
//
// +kubebuilder:object:generate=true
// +groupName=factory.example.org
//
// What is written back is what was read. Optional fields are pointers, lists and maps are left out only when they are nil,
// and the definition admits quantities, durations and times only as their types write them.
package v1

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
// +kubebuilder:storageversion
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
	return schema.GroupVersion{Group: "factory.example.org", Version: "v1"}
}

// Hub marks the version that the others are converted by way of.
func (*Widget) Hub() {}

// WidgetSpec is what a Widget should be.
type WidgetSpec struct {
	// +optional
	DisplayName *string `json:"displayName,omitempty"`
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// +optional
	Serial *int64 `json:"serial,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,2}(Mi|Gi)$`
	Size *resource.Quantity `json:"size,omitempty"`
	// +optional
	Image *Image `json:"image,omitempty"`
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`
	// +optional
	Args []string `json:"args,omitzero"`
	// +optional
	// +listType=map
	// +listMapKey=name
	Ports []Port `json:"ports,omitzero"`
	// +optional
	Parameters map[string]string `json:"parameters,omitzero"`
	// Weights are new in v1.
	//
	// +optional
	Weights map[string]int64 `json:"weights,omitzero"`
	// Config is passed on as it is.
	//
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Config *apiextensionsv1.JSON `json:"config,omitempty"`
}

// Image is what a Widget runs.
type Image struct {
	// +optional
	Repository *string `json:"repository,omitempty"`
	// +optional
	Tag *string `json:"tag,omitempty"`
	// PullPolicy is new in v1.
	//
	// +optional
	// +kubebuilder:validation:Enum=Always;Never;IfNotPresent
	PullPolicy *string `json:"pullPolicy,omitempty"`
}

// Schedule is when a Widget runs.
type Schedule struct {
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([1-9][0-9]{0,3}h[1-5]?[0-9]m[1-5]?[0-9]s|([1-9]|[1-5][0-9])m[1-5]?[0-9]s|[1-5]?[0-9]s)$`
	Interval *metav1.Duration `json:"interval,omitempty"`
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z$`
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// TimeZone is new in v1.
	//
	// +optional
	TimeZone *string `json:"timeZone,omitempty"`
}

// Port is where a Widget listens.
type Port struct {
	Name string `json:"name"`
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port"`
	// Protocol is new in v1beta1.
	//
	// +optional
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol *string `json:"protocol,omitempty"`
	// AppProtocol is new in v1.
	//
	// +optional
	AppProtocol *string `json:"appProtocol,omitempty"`
}

// WidgetStatus is what a Widget is.
type WidgetStatus struct {
	// +optional
	Phase *string `json:"phase,omitempty"`
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
