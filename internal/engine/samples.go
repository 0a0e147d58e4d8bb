package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/manifest"
)

// filesOf returns the names of the files that samples come from.
func filesOf(samples []sample) []string {
	var files []string
	for _, s := range samples {
		files = append(files, s.file)
	}
	return slices.Compact(files)
}

func (p *Plan) readSamples() ([]sample, error) {
	files, err := p.want.Files("samples", p.want.Samples)
	if err != nil {
		return nil, err
	}
	var samples []sample
	var errs []error
	for _, file := range files {
		data, err := manifest.Read(file)
		if err != nil {
			return nil, p.want.At("samples", "%w", err)
		}
		objects, err := corpus.ReadSamples(file, data)
		if err != nil {
			errs = append(errs, p.want.At("samples", "%w", err))
		}
		for _, object := range objects {
			samples = append(samples, sample{object, file})
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if len(files) > 0 && len(samples) == 0 {
		return nil, p.want.At("samples", "there are no objects in %s", strings.Join(files, ", "))
	}
	return samples, nil
}

// redact masks the values of samples at the configured paths before anything else sees them. A path at which no sample has a value
// may be misspelt, which would leak the value that it was meant for, so it is an error.
func (p *Plan) redact(samples []sample) error {
	if len(p.want.Redact) == 0 {
		return nil
	}
	redaction, err := recording.ParseRedaction(p.want.Redact)
	if err != nil {
		return p.want.At("redact", "%w", err)
	}
	var objects []*unstructured.Unstructured
	for _, s := range samples {
		objects = append(objects, s.object)
	}
	found, err := redaction.Objects(objects)
	if err != nil {
		return p.want.At("redact", "%w", err)
	}
	for i, path := range redaction.Paths() {
		if !slices.Contains(found, path) {
			return p.want.At(fmt.Sprintf("redact[%d]", i), "no sample has a value at %s; write the path as the samples have it, or remove it", path)
		}
	}
	p.notes = append(p.notes, fmt.Sprintf("Values of samples at %s were masked before any request was sent.", strings.Join(found, ", ")))
	return nil
}
