package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
)

// presets returns the names of the presets of objectives.
func presets() []string { return []string{options.KEPPreset, options.TracePreset} }

// The names of objectives other than times, as Set accepts them.
const (
	errorsObjective   = "errors"
	requestsObjective = "requests/s"
	objectsObjective  = "objects/s"
)

// timeObjective is an objective that is a time.
type timeObjective struct {
	name       string // as in files
	limit      *Duration
	percentile bool
}

// times returns the objectives that are times, whether or not they are set.
func (o *Objectives) times() []timeObjective {
	return []timeObjective{
		{"mean", &o.Mean, false},
		{"p50", &o.P50, true},
		{"p90", &o.P90, true},
		{"p95", &o.P95, true},
		{"p99", &o.P99, true},
		{"p99.9", &o.P999, true},
		{"p99.99", &o.P9999, true},
		{"max", &o.Max, false},
	}
}

// Set sets one objective, replacing its earlier limit. The text is a time such as p99=50ms, for mean, max or a percentile; errors=1%
// or errors=0.01; requests/s=500; or objects/s=1000. A limit of 0s or 0 removes the objective, except errors=0, which allows no
// errors. The name of a preset, kep or trace, adds that preset. If Set fails, it changes nothing.
func (o *Objectives) Set(text string) error {
	name, limit, hasLimit := strings.Cut(text, "=")
	if slices.Contains(presets(), name) {
		if hasLimit {
			return fmt.Errorf("the preset %s has its own limits; write only %s", name, name)
		}
		if !slices.Contains(o.Presets, name) {
			o.Presets = append(slices.Clone(o.Presets), name)
		}
		return nil
	}
	set, example := o.setter(name)
	switch {
	case set == nil:
		return fmt.Errorf("unknown objective %q (want %s)", name, strings.Join(o.names(), ", "))
	case limit == "":
		return fmt.Errorf("it has no limit; write %s=%s", name, example)
	}
	if err := set(limit); err != nil {
		return fmt.Errorf("%w, as in %s=%s", err, name, example)
	}
	return nil
}

// names returns the names that Set accepts.
func (o *Objectives) names() []string {
	var all []string
	for _, t := range o.times() {
		all = append(all, t.name)
	}
	return slices.Concat(all, []string{errorsObjective, requestsObjective, objectsObjective}, presets())
}

// setter returns a function that sets an objective to a limit, and an example of a limit. It returns nil if there is no such
// objective.
func (o *Objectives) setter(name string) (set func(limit string) error, example string) {
	switch name {
	case errorsObjective:
		return o.setErrors, "1%"
	case requestsObjective:
		return func(limit string) error { return setLeast(&o.RequestsPerSecond, limit) }, "500"
	case objectsObjective:
		return func(limit string) error { return setLeast(&o.ObjectsPerSecond, limit) }, "1000"
	}
	for _, t := range o.times() {
		if t.name == name {
			return func(limit string) error { return t.limit.UnmarshalText([]byte(limit)) }, "50ms"
		}
	}
	return nil, ""
}

// setErrors reads a share such as 0.01 or 1%.
func (o *Objectives) setErrors(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !within("objectives.errors", share) {
		return fmt.Errorf("%q is not a share of the requests; it is from 0 to 1, or from 0%% to 100%%", text)
	}
	o.Errors = &share
	return nil
}

// setLeast reads a minimum number per second.
func setLeast(limit *float64, text string) error {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || !within("objectives.requestsPerSecond", number) {
		return errors.New(strconv.Quote(text) + " is not a number a second")
	}
	*limit = number
	return nil
}

// within reports whether a number is within the bounds of an option.
func within(key string, number float64) bool {
	o, _ := options.Of(key)
	return o.Bounds.Hold(number)
}
