package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/options"
)

func TestSet(t *testing.T) {
	t.Parallel()
	ms := func(n float64) Duration { return Duration{time.Duration(n * float64(time.Millisecond))} }
	for _, test := range []struct {
		texts string
		want  Objectives
	}{
		{"", Objectives{}},
		{"mean=1ms p50=2ms p90=3ms p95=4ms p99=5ms p99.9=6ms p99.99=7ms max=1s", Objectives{
			Mean: ms(1), P50: ms(2), P90: ms(3), P95: ms(4), P99: ms(5), P999: ms(6), P9999: ms(7), Max: ms(1000),
		}},
		{"p99=1m30s", Objectives{P99: ms(90_000)}},
		{"p99=1.5ms p99=2ms", Objectives{P99: ms(2)}},
		{"p99=1ms p99=0s", Objectives{}},
		{"errors=1%", Objectives{Errors: new(0.01)}},
		{"errors=0.01", Objectives{Errors: new(0.01)}},
		{"errors=100%", Objectives{Errors: new(1.0)}},
		{"errors=1", Objectives{Errors: new(1.0)}},
		{"errors=1e-3", Objectives{Errors: new(0.001)}},
		{"errors=5% errors=0", Objectives{Errors: new(0.0)}},
		{"errors=0%", Objectives{Errors: new(0.0)}},
		{"objects/s=1000 requests/s=0.5", Objectives{ObjectsPerSecond: 1000, RequestsPerSecond: 0.5}},
		{"objects/s=1000 objects/s=0", Objectives{}},
		{"trace kep trace kep", Objectives{Presets: []string{options.TracePreset, options.KEPPreset}}},
	} {
		var got Objectives
		for text := range strings.FieldsSeq(test.texts) {
			if err := got.Set(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.texts, got, test.want)
		}
		c := Default()
		if c.Objectives = got; c.Validate() != nil {
			t.Errorf("%s: %v", test.texts, c.Validate())
		}
	}
}

func TestSetThatFails(t *testing.T) {
	t.Parallel()
	const known = " (want mean, p50, p90, p95, p99, p99.9, p99.99, max, errors, requests/s, objects/s, kep, trace)"
	for text, want := range map[string]string{
		"":                     `unknown objective ""` + known,
		"=":                    `unknown objective ""` + known,
		"p98=50ms":             `unknown objective "p98"` + known,
		"P99=50ms":             `unknown objective "P99"` + known,
		" p99=50ms":            `unknown objective " p99"` + known,
		"p99 =50ms":            `unknown objective "p99 "` + known,
		"p99<=50ms":            `unknown objective "p99<"` + known,
		"p99<50ms":             `unknown objective "p99<50ms"` + known,
		"p99:50ms":             `unknown objective "p99:50ms"` + known,
		"objectsPerSecond=5":   `unknown objective "objectsPerSecond"` + known,
		"p99=50ms,max=1s":      `"50ms,max=1s" is not a duration; write it as 500ms, 30s or 1m30s, as in p99=50ms`,
		"p99":                  "it has no limit; write p99=50ms",
		"max=":                 "it has no limit; write max=50ms",
		"p99=50":               `"50" has no unit; write 50s for seconds or 50ms for milliseconds, as in p99=50ms`,
		"p99= 50ms":            `" 50ms" is not a duration`,
		"p99=fast":             `"fast" is not a duration`,
		"p99=-1ms":             `"-1ms" is negative`,
		"p99=10%":              `"10%" is not a duration`,
		"p99=99999999h":        `"99999999h" is not a duration`,
		"errors":               "it has no limit; write errors=1%",
		"errors=":              "it has no limit; write errors=1%",
		"errors=%":             `"%" is not a share of the requests; it is from 0 to 1, or from 0% to 100%, as in errors=1%`,
		"errors=few":           `"few" is not a share`,
		"errors=5":             `"5" is not a share`,
		"errors=101%":          `"101%" is not a share`,
		"errors=-1%":           `"-1%" is not a share`,
		"errors=1%%":           `"1%%" is not a share`,
		"errors=1 %":           `"1 %" is not a share`,
		"errors=NaN":           `"NaN" is not a share`,
		"errors=inf%":          `"inf%" is not a share`,
		"objects/s=many":       `"many" is not a number a second, as in objects/s=1000`,
		"objects/s=1000/s":     `"1000/s" is not a number a second`,
		"objects/s=-1":         `"-1" is not a number a second`,
		"requests/s=NaN":       `"NaN" is not a number a second, as in requests/s=500`,
		"requests/s=inf":       `"inf" is not a number a second`,
		"requests/s=1e999":     `"1e999" is not a number a second`,
		"requests/s":           "it has no limit; write requests/s=500",
		"kep=1s":               "the preset kep has its own limits; write only kep",
		"trace=":               "the preset trace has its own limits; write only trace",
		"Kep":                  `unknown objective "Kep"` + known,
		"kep,trace":            `unknown objective "kep,trace"` + known,
		"p99=50ms\x00":         `is not a duration`,
		strings.Repeat("p", 9): `unknown objective "ppppppppp"`,
	} {
		before := func() Objectives {
			return Objectives{Presets: []string{"a"}, P99: Duration{1}, Max: Duration{2}, Errors: new(0.5), ObjectsPerSecond: 3, RequestsPerSecond: 4}
		}
		got := before()
		if err := got.Set(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want something with %s", text, err, want)
		}
		if !reflect.DeepEqual(got, before()) {
			t.Errorf("%q: it is %+v thereafter", text, got)
		}
	}
}

// TestSetOfACopy wants objectives that were copied to be left alone.
func TestSetOfACopy(t *testing.T) {
	t.Parallel()
	presets := make([]string, 1, 2)
	presets[0] = options.KEPPreset
	file := Objectives{Presets: presets, Errors: new(0.5)}
	flags := file
	for _, text := range []string{"trace", "errors=0"} {
		if err := flags.Set(text); err != nil {
			t.Fatal(err)
		}
	}
	if presets[:2][1] != "" || *file.Errors != 0.5 {
		t.Errorf("got %q and %g", presets[:2], *file.Errors)
	}
}
