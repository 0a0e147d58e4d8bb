// Package disruption makes things happen to a conversion webhook that happen to all of them sooner or later: restarts, rollouts, rotated
// certificates, networks that fail. Clients of an API server are at work meanwhile, and what they were answered is recorded. Each fault
// is taken back, also if the run is interrupted. Package judge judges the record.
package disruption

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/subject"
)

// Plan is what is disrupted, and how.
type Plan struct {
	Definition *apiextensionsv1.CustomResourceDefinition
	Samples    map[string][]*unstructured.Unstructured // by version
	Program    subject.Command
	OldProgram *subject.Command // nil for none
	Pods       Pods             // the webhook in place of a program; nil for none
	Builds     *Builds          // of the pods; nil if there is no old one
	Path       string           // of the webhook's URL

	// Run labels the definition and the namespace, which are removed in the end; empty for a cluster that goes with all that is in it.
	Run string

	Scenarios []Scenario

	Settings

	// Progress may be nil.
	Progress func(text string)
}

// Settings are how much is done, and how long. All have to be set.
type Settings struct {
	Rate    float64       // operations a second
	Reached float64       // share of the rate that counts as having reached it
	Objects int           //
	Quiet   time.Duration // how long the clients work before the fault without a failure
	Limit   time.Duration // how long recovery may take
	PickUp  time.Duration // how long a program may take to serve a certificate that was written
	Seed    uint64
}

// Reached is the share of the rate that clients must reach before a fault.
const Reached = 0.9

// Defaults are the settings of a run that says nothing else.
func Defaults() Settings {
	return Settings{Rate: 600, Reached: Reached, Objects: 60, Quiet: 1500 * time.Millisecond, Limit: 30 * time.Second, PickUp: 15 * time.Second, Seed: 1}
}

func (p *Plan) note(text string) {
	if p.Progress != nil {
		p.Progress(text)
	}
}

// context for what takes a fault back: it must happen, and must not take for ever.
func undoing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
}

const undoLimit = 2 * time.Minute
