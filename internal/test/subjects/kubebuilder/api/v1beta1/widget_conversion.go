package v1beta1

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/notes"
	v1 "github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1"
)

// newerFields is the annotation for what v1 has and this version has no field for.
const newerFields = "factory.example.org/v1-fields"

type note struct {
	PullPolicy *string          `json:"pullPolicy,omitempty"`
	TimeZone   *string          `json:"timeZone,omitempty"`
	Weights    map[string]int64 `json:"weights,omitzero"`
	Ports      []portNote       `json:"ports,omitempty"`
}

type portNote struct {
	Name        string  `json:"name"`
	AppProtocol *string `json:"appProtocol,omitempty"`
}

// ConvertTo makes the hub of this object.
func (w *Widget) ConvertTo(hub conversion.Hub) error {
	to, ok := hub.(*v1.Widget)
	if !ok {
		return fmt.Errorf("cannot convert a Widget to %T", hub)
	}
	from := w.DeepCopy()
	to.ObjectMeta = from.ObjectMeta
	var n note
	if !notes.Take(&to.ObjectMeta, newerFields, &n) {
		n = note{}
	}
	to.Spec = specToHub(from.Spec, n)
	if s := from.Status; s != nil {
		to.Status = &v1.WidgetStatus{
			Phase:              s.State,
			ReadyReplicas:      s.ReadyReplicas,
			ObservedGeneration: s.ObservedGeneration,
			Conditions:         s.Conditions,
		}
	}
	return nil
}

func specToHub(s *WidgetSpec, n note) *v1.WidgetSpec {
	if s == nil {
		return nil
	}
	to := &v1.WidgetSpec{
		DisplayName: s.DisplayName,
		Replicas:    s.Replicas,
		Enabled:     s.Enabled,
		Serial:      s.Serial,
		Size:        s.Size,
		Args:        s.Args,
		Parameters:  s.Params,
		Weights:     n.Weights,
		Config:      s.Config,
	}
	if i := s.Image; i != nil {
		to.Image = &v1.Image{Repository: i.Repository, Tag: i.Tag, PullPolicy: n.PullPolicy}
	}
	if sch := s.Schedule; sch != nil {
		to.Schedule = &v1.Schedule{Interval: sch.Interval, NotBefore: sch.NotBefore, TimeZone: n.TimeZone}
	}
	if s.Ports != nil {
		to.Ports = make([]v1.Port, len(s.Ports))
	}
	for i, p := range s.Ports {
		kept := notes.Find(n.Ports, i, func(k portNote) bool { return k.Name == p.Name })
		to.Ports[i] = v1.Port{Name: p.Name, Port: p.Port, Protocol: p.Protocol, AppProtocol: kept.AppProtocol}
	}
	return to
}

// ConvertFrom makes this object of the hub.
func (w *Widget) ConvertFrom(hub conversion.Hub) error {
	widget, ok := hub.(*v1.Widget)
	if !ok {
		return fmt.Errorf("cannot convert %T to a Widget", hub)
	}
	from := widget.DeepCopy()
	w.ObjectMeta = from.ObjectMeta
	var n note
	w.Spec, n = specFromHub(from.Spec)
	if s := from.Status; s != nil {
		w.Status = &WidgetStatus{
			State:              s.Phase,
			ReadyReplicas:      s.ReadyReplicas,
			ObservedGeneration: s.ObservedGeneration,
			Conditions:         s.Conditions,
		}
	}
	return notes.Keep(&w.ObjectMeta, newerFields, n)
}

func specFromHub(s *v1.WidgetSpec) (*WidgetSpec, note) {
	if s == nil {
		return nil, note{}
	}
	n := note{Weights: s.Weights}
	to := &WidgetSpec{
		DisplayName: s.DisplayName,
		Replicas:    s.Replicas,
		Enabled:     s.Enabled,
		Serial:      s.Serial,
		Size:        s.Size,
		Args:        s.Args,
		Params:      s.Parameters,
		Config:      s.Config,
	}
	if i := s.Image; i != nil {
		to.Image = &Image{Repository: i.Repository, Tag: i.Tag}
		n.PullPolicy = i.PullPolicy
	}
	if sch := s.Schedule; sch != nil {
		to.Schedule = &Schedule{Interval: sch.Interval, NotBefore: sch.NotBefore}
		n.TimeZone = sch.TimeZone
	}
	to.Ports, n.Ports = portsFromHub(s.Ports)
	return to, n
}

func portsFromHub(ports []v1.Port) ([]Port, []portNote) {
	if ports == nil {
		return nil, nil
	}
	to := make([]Port, len(ports))
	kept := make([]portNote, len(ports))
	needed := false
	for i, p := range ports {
		to[i] = Port{Name: p.Name, Port: p.Port, Protocol: p.Protocol}
		kept[i] = portNote{Name: p.Name, AppProtocol: p.AppProtocol}
		needed = needed || p.AppProtocol != nil
	}
	if !needed {
		return to, nil
	}
	return to, kept
}
