package engine

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/memory"
	"github.com/crdconform/crdconform/internal/process"
	"github.com/crdconform/crdconform/loadgen"
)

// TestSoakProvesLeaks has a webhook whose memory grows with each look at it, and one whose memory stays. Only a soak fails for that.
func TestSoakProvesLeaks(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	for name, test := range map[string]struct {
		profile string
		grows   uint64 // bytes from one look to the next
		leaks   bool
		judged  bool
	}{
		"leaks":           {profiles.Soak, 20 * mebibyte, true, true},
		"stays":           {profiles.Soak, 0, false, true},
		"in another load": {profiles.Constant, 20 * mebibyte, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Description{Handler: webhook.Handler()}
			d.Load = config.Load{Profile: test.profile, Rates: []float64{20}, Batches: []int{2}, Duration: config.Duration{Duration: 6 * time.Second}}
			plan, err := d.Prepare()
			if err != nil {
				t.Fatal(err)
			}
			server, err := webhook.Start(t.Context(), "127.0.0.1:0", webhook.Handler())
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			control, err := controlAt(server)
			if err != nil {
				t.Fatal(err)
			}
			defer control.Client.Close()
			looks := new(atomic.Uint64)
			plan.loads[0].Usage = func() (process.Usage, bool) {
				return process.Usage{Resident: 30*mebibyte + looks.Add(1)*test.grows, Processes: 1}, true
			}
			got, err := plan.loads[0].Run(t.Context(), control.Client, quiet{}.Loading)
			if err != nil || len(got.Stages) != 1 || got.Stages[0].Memory == nil {
				t.Fatalf("got %+v, %v", got, err)
			}
			m := got.Stages[0].Memory
			if m.Leaks != test.leaks || (m.Limit > 0) == test.leaks || m.PerMinuteLow > m.PerMinute || m.PerMinute > m.PerMinuteHigh {
				t.Errorf("got %+v", m)
			}
			if test.leaks && m.PerObject < mebibyte/2 {
				t.Errorf("%.0f bytes an object", m.PerObject)
			}
			if !test.leaks && (m.Max != 30*mebibyte || m.Limit != 48*mebibyte) {
				t.Errorf("at most %.0f, and a limit of %.0f", m.Max, m.Limit)
			}
			if (len(got.Objectives) == 1) != test.judged || test.judged && (got.Objectives[0].Met == test.leaks || got.Objectives[0].Name != "memory leaks") {
				t.Errorf("got %+v", got.Objectives)
			}
		})
	}
}

// TestSoakWithoutProgram says that nobody looked at the memory.
func TestSoakWithoutProgram(t *testing.T) {
	t.Parallel()
	d := Description{Handler: webhook.Handler()}
	d.Load = config.Load{Profile: profiles.Soak, Rates: []float64{20}, Duration: config.Duration{Duration: 200 * time.Millisecond}}
	plan, err := d.Prepare()
	if err != nil {
		t.Fatal(err)
	}
	report := plan.Load(t.Context(), nil, nil)
	if notes := strings.Join(report.Notes, "\n"); !strings.Contains(notes, "Whether the webhook leaks memory was not judged") {
		t.Errorf("got %q", notes)
	}
	if report.Load == nil || len(report.Load.Objectives) > 0 || report.Load.Stages[0].Memory != nil {
		t.Errorf("got %+v", report.Load)
	}
}

// TestObjectsUntil interpolates between the counts of seconds.
func TestObjectsUntil(t *testing.T) {
	m := meter{counts: []count{{time.Second, 100}, {3 * time.Second, 500}}}
	for at, want := range map[time.Duration]float64{0: 0, time.Second / 2: 50, time.Second: 100, 2 * time.Second: 300, 3 * time.Second: 500, time.Minute: 500} {
		if got := m.objects(at); got != want {
			t.Errorf("%s: got %v, want %v", at, got, want)
		}
	}
	if got := memoryOf((*memory.Trend)(nil)); got != (*loadgen.Memory)(nil) {
		t.Errorf("got %+v of nothing", got)
	}
}
