package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	hubconversion "sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	v1 "github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1alpha1"
	"github.com/crdconform/crdconform/internal/test/subjects/kubebuilder/api/v1beta1"
	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// spoke is a Widget of another version than the hub's.
type spoke interface {
	client.Object
	hubconversion.Convertible
}

// bug is a defect of the conversions between the hub and a spoke. What is nil does nothing.
type bug struct {
	program.Bug

	inHub   func(hub *v1.Widget)                    // before the hub becomes a spoke, and after a spoke became the hub
	fromHub func(hub *v1.Widget, spoke spoke) error // after the hub became a spoke
	toHub   func(hub *v1.Widget)                    // after a spoke became the hub
	makes   func() func(hub *v1.Widget)             // makes an inHub that remembers
}

// spoiled returns a converter that has a bug.
func spoiled(scheme *runtime.Scheme, b bug) (conversion.Converter, error) {
	if b.makes != nil {
		b.inHub = b.makes()
	}
	return conversion.NewHubSpokeConverter(&v1.Widget{},
		spoiledSpoke(&v1alpha1.Widget{}, b),
		spoiledSpoke(&v1beta1.Widget{}, b),
	)(scheme)
}

func spoiledSpoke[S spoke](of S, b bug) conversion.SpokeConverter[*v1.Widget] {
	return conversion.NewSpokeConverter(of,
		func(_ context.Context, hub *v1.Widget, to S) error {
			if b.inHub != nil {
				b.inHub(hub)
			}
			if err := to.ConvertFrom(hub); err != nil || b.fromHub == nil {
				return err
			}
			return b.fromHub(hub, to)
		},
		func(_ context.Context, from S, hub *v1.Widget) error {
			if err := from.ConvertTo(hub); err != nil {
				return err
			}
			if b.inHub != nil {
				b.inHub(hub)
			}
			if b.toHub != nil {
				b.toHub(hub)
			}
			return nil
		})
}

// inSpec is an inHub that minds missing specs.
func inSpec(change func(spec *v1.WidgetSpec)) func(*v1.Widget) {
	return func(hub *v1.Widget) {
		if hub.Spec != nil {
			change(hub.Spec)
		}
	}
}

func bugs() []bug {
	return append(valueBugs(), metadataBugs()...)
}

// valueBugs spoil what is in spec and status.
func valueBugs() []bug {
	return []bug{
		{Bug: program.Bug{Name: "loses-field", Summary: "forgets spec.args"}, inHub: inSpec(func(s *v1.WidgetSpec) { s.Args = nil })},
		{Bug: program.Bug{Name: "loses-status", Summary: "forgets the conditions of the status"}, inHub: func(w *v1.Widget) {
			if w.Status != nil {
				w.Status.Conditions = nil
			}
		}},
		{Bug: program.Bug{Name: "float64", Summary: "takes the serial number through a float64"}, inHub: inSpec(func(s *v1.WidgetSpec) {
			if s.Serial != nil {
				rounded := int64(float64(*s.Serial))
				s.Serial = &rounded
			}
		})},
		{Bug: program.Bug{Name: "drops-false", Summary: "takes enabled: false for unset, and the default is true"}, inHub: inSpec(func(s *v1.WidgetSpec) {
			if s.Enabled != nil && !*s.Enabled {
				s.Enabled = nil
			}
		})},
		{Bug: program.Bug{Name: "fills-in", Summary: "makes 0 of replicas that are not set, and the default is 1"}, inHub: inSpec(func(s *v1.WidgetSpec) {
			if s.Replicas == nil {
				s.Replicas = new(int32)
			}
		})},
		{Bug: program.Bug{Name: "truncates", Summary: "cuts the display name off after 63 bytes"}, inHub: inSpec(func(s *v1.WidgetSpec) {
			if s.DisplayName != nil && len(*s.DisplayName) > 63 {
				cut := strings.ToValidUTF8((*s.DisplayName)[:63], "")
				s.DisplayName = &cut
			}
		})},
		{Bug: program.Bug{Name: "panics", Summary: "panics when there is no spec"}, inHub: func(w *v1.Widget) {
			w.Spec.Args = append([]string(nil), w.Spec.Args...)
		}},
		{Bug: program.Bug{Name: "shares-state", Summary: "gives objects without parameters those of the object before"}, makes: sharesState},
	}
}

// sharesState makes an object without parameters have those of the one before. The lock keeps the process alive.
func sharesState() func(*v1.Widget) {
	var lock sync.Mutex
	var last map[string]string
	return inSpec(func(s *v1.WidgetSpec) {
		lock.Lock()
		defer lock.Unlock()
		if s.Parameters == nil {
			s.Parameters = last
		}
		last = maps.Clone(s.Parameters)
	})
}

// whole is the annotation of stale-annotation.
const whole = "factory.example.org/whole-spec"

// metadataBugs spoil annotations, or what is done with them.
func metadataBugs() []bug {
	return []bug{
		{
			Bug:     program.Bug{Name: "stale-annotation", Summary: "keeps the whole spec in an annotation, which wins over later edits"},
			fromHub: keepWhole, toHub: takeWhole,
		},
		{Bug: program.Bug{Name: "map-order", Summary: "lists the parameters in an annotation, in the order of a Go map"}, inHub: func(w *v1.Widget) {
			if w.Spec == nil {
				return
			}
			var names []string
			for name := range w.Spec.Parameters { // its order is what the bug is about
				names = append(names, name)
			}
			annotate(w, "factory.example.org/parameters", strings.Join(names, ","))
		}},
		{Bug: program.Bug{Name: "timestamp", Summary: "notes the time of the conversion in an annotation"}, inHub: func(w *v1.Widget) {
			// All are of one length, or three that happen to end in ever fewer zeros would seem to grow.
			annotate(w, "factory.example.org/converted-at", time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z"))
		}},
		{Bug: program.Bug{Name: "grows", Summary: "adds to an annotation with each conversion"}, inHub: func(w *v1.Widget) {
			annotate(w, "factory.example.org/history", w.Annotations["factory.example.org/history"]+"converted;")
		}},
	}
}

func annotate(w client.Object, name, value string) {
	annotations := maps.Clone(w.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	w.SetAnnotations(annotations)
}

func keepWhole(hub *v1.Widget, to spoke) error {
	raw, err := json.Marshal(hub.Spec)
	if err != nil {
		return fmt.Errorf("annotation %s: %w", whole, err)
	}
	annotate(to, whole, string(raw))
	return nil
}

func takeWhole(hub *v1.Widget) {
	raw, found := hub.Annotations[whole]
	if !found {
		return
	}
	delete(hub.Annotations, whole) // ConvertTo has made a map of its own
	var spec *v1.WidgetSpec
	if json.Unmarshal([]byte(raw), &spec) == nil {
		hub.Spec = spec
	}
}
