package v1alpha1

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/conversion"

	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/notes"
	v1 "github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1"
)

// The annotations for what v1 has and this version has no field for, and the other way round. The first is found here and
// the second at later versions.
const (
	newerFields = "factory.example.org/v1-fields"
	olderFields = "factory.example.org/v1alpha1-fields"
)

type newer struct {
	PullPolicy *string          `json:"pullPolicy,omitempty"`
	Schedule   *schedule        `json:"schedule,omitempty"` // there is one, even if it is empty
	Weights    map[string]int64 `json:"weights,omitzero"`
	Ports      []port           `json:"ports,omitempty"`
}

type schedule struct {
	TimeZone *string `json:"timeZone,omitempty"`
}

type port struct {
	Name        string  `json:"name"`
	Protocol    *string `json:"protocol,omitempty"`
	AppProtocol *string `json:"appProtocol,omitempty"`
}

type older struct {
	Mode *string `json:"mode,omitempty"`
}

// ConvertTo makes the hub of this object.
func (w *Widget) ConvertTo(hub conversion.Hub) error {
	to, ok := hub.(*v1.Widget)
	if !ok {
		return fmt.Errorf("cannot convert a Widget to %T", hub)
	}
	from := w.DeepCopy()
	to.ObjectMeta = from.ObjectMeta
	var n newer
	if !notes.Take(&to.ObjectMeta, newerFields, &n) {
		n = newer{}
	}
	var o older
	to.Spec, o = specToHub(from.Spec, n)
	if s := from.Status; s != nil {
		to.Status = &v1.WidgetStatus{
			Phase:              s.State,
			ReadyReplicas:      s.ReadyReplicas,
			ObservedGeneration: s.ObservedGeneration,
			Conditions:         s.Conditions,
		}
	}
	return notes.Keep(&to.ObjectMeta, olderFields, o)
}

func specToHub(s *WidgetSpec, n newer) (*v1.WidgetSpec, older) {
	if s == nil {
		return nil, older{}
	}
	to := &v1.WidgetSpec{
		DisplayName: s.Title,
		Replicas:    s.Replicas,
		Enabled:     not(s.Paused),
		Serial:      s.SerialNumber,
		Size:        s.Size,
		Args:        s.Args,
		Parameters:  s.Params,
		Weights:     n.Weights,
		Config:      s.Config,
	}
	if c := s.Container; c != nil {
		to.Image = &v1.Image{Repository: c.Repo, Tag: c.Version, PullPolicy: n.PullPolicy}
	}
	if n.Schedule != nil || s.Interval != nil || s.NotBefore != nil {
		to.Schedule = &v1.Schedule{Interval: s.Interval, NotBefore: s.NotBefore}
	}
	if n.Schedule != nil {
		to.Schedule.TimeZone = n.Schedule.TimeZone
	}
	if s.Ports != nil {
		to.Ports = make([]v1.Port, len(s.Ports))
	}
	for i, p := range s.Ports {
		kept := notes.Find(n.Ports, i, func(k port) bool { return k.Name == p.Name })
		to.Ports[i] = v1.Port{Name: p.Name, Port: p.Port, Protocol: kept.Protocol, AppProtocol: kept.AppProtocol}
	}
	return to, older{Mode: s.Mode}
}

// ConvertFrom makes this object of the hub.
func (w *Widget) ConvertFrom(hub conversion.Hub) error {
	widget, ok := hub.(*v1.Widget)
	if !ok {
		return fmt.Errorf("cannot convert %T to a Widget", hub)
	}
	from := widget.DeepCopy()
	w.ObjectMeta = from.ObjectMeta
	var o older
	if !notes.Take(&w.ObjectMeta, olderFields, &o) {
		o = older{}
	}
	var n newer
	w.Spec, n = specFromHub(from.Spec, o)
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

func specFromHub(s *v1.WidgetSpec, o older) (*WidgetSpec, newer) {
	if s == nil {
		return nil, newer{}
	}
	n := newer{Weights: s.Weights}
	to := &WidgetSpec{
		Title:        s.DisplayName,
		Replicas:     s.Replicas,
		Paused:       not(s.Enabled),
		SerialNumber: s.Serial,
		Size:         s.Size,
		Args:         s.Args,
		Params:       s.Parameters,
		Config:       s.Config,
		Mode:         o.Mode,
	}
	if i := s.Image; i != nil {
		to.Container = &Container{Repo: i.Repository, Version: i.Tag}
		n.PullPolicy = i.PullPolicy
	}
	if sch := s.Schedule; sch != nil {
		to.Interval, to.NotBefore = sch.Interval, sch.NotBefore
		if sch.TimeZone != nil || to.Interval == nil && to.NotBefore == nil {
			n.Schedule = &schedule{TimeZone: sch.TimeZone}
		}
	}
	to.Ports, n.Ports = portsFromHub(s.Ports)
	return to, n
}

func portsFromHub(ports []v1.Port) ([]Port, []port) {
	if ports == nil {
		return nil, nil
	}
	to := make([]Port, len(ports))
	kept := make([]port, len(ports))
	needed := false
	for i, p := range ports {
		to[i] = Port{Name: p.Name, Port: p.Port}
		kept[i] = port{Name: p.Name, Protocol: p.Protocol, AppProtocol: p.AppProtocol}
		needed = needed || p.Protocol != nil || p.AppProtocol != nil
	}
	if !needed {
		return to, nil
	}
	return to, kept
}

// not returns the opposite of what is set, and leaves unset what is not.
func not(b *bool) *bool {
	if b == nil {
		return nil
	}
	opposite := !*b
	return &opposite
}
