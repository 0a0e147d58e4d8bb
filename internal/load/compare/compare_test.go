package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/crdconform/crdconform/loadgen"
)

// values returns n values that lie within a share of a center, in no order.
func values(n int, center, share float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[(i*7)%n] = center * (1 + share*(2*float64(i)/float64(n-1)-1))
	}
	return all
}

// p99 is a series of times and its control, both n times.
func p99(n int, center, control float64) []Series {
	return []Series{
		{Statistic: "p99", Unit: "ms", Values: values(n, center, 0.02)},
		{Statistic: "p99", Unit: "ms", Control: true, Values: values(n, control, 0.02)},
	}
}

// zeros is the same with all times 0.
func zeros(series []Series) []Series {
	series[0].Values = make([]float64, len(series[0].Values))
	return series
}

// rates turns times into what is better when higher.
func rates(series []Series) []Series {
	var all []Series
	for _, s := range series {
		s.HigherIsBetter, s.Values = true, slices.Clone(s.Values)
		for i := range s.Values {
			s.Values[i] = 1000 / s.Values[i]
		}
		all = append(all, s)
	}
	return all
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	limited, free := []Limit{{"p99", 0.1}}, []Limit(nil)
	for name, test := range map[string]struct {
		base, now []Series
		limits    []Limit
		want      Verdict
	}{
		"the same":                             {p99(10, 4, 1), p99(10, 4, 1), limited, NoDifference},
		"within the limit":                     {p99(10, 4, 1), p99(10, 4.3, 1), limited, Slower},
		"without a limit":                      {p99(10, 4, 1), p99(10, 9, 1), free, Slower},
		"beyond the limit":                     {p99(10, 4, 1), p99(10, 4.8, 1), limited, Regressed},
		"at the limit":                         {p99(10, 4, 1), p99(10, 4.4, 1), limited, Slower},
		"better":                               {p99(10, 4, 1), p99(10, 3.8, 1), limited, Faster},
		"better, without a limit":              {p99(10, 4, 1), p99(10, 2, 1), free, Faster},
		"better by more than the limit":        {p99(10, 4, 1), p99(10, 3.2, 1), limited, Improved},
		"with the machine":                     {p99(10, 4, 1), p99(10, 4.8, 1.2), limited, Incomparable},
		"twice as much as the machine":         {p99(10, 4, 1), p99(10, 4*1.2*1.2*1.05, 1.2), limited, Incomparable},
		"beyond what the machine could":        {p99(10, 4, 1), p99(10, 4*1.2*1.2*1.2, 1.2), limited, Regressed},
		"on a faster machine":                  {p99(10, 4, 1), p99(10, 4.8, 0.8), limited, Regressed},
		"slower on a faster machine":           {p99(10, 4, 1), p99(10, 4.3, 0.8), limited, Slower},
		"faster on a slower machine":           {p99(10, 4, 1), p99(10, 3.7, 1.2), limited, Faster},
		"faster with the machine":              {p99(10, 4, 1), p99(10, 3.2, 0.8), limited, NoDifference},
		"slower with the machine":              {p99(10, 4, 1), p99(10, 4.3, 1.07), limited, NoDifference},
		"no control":                           {p99(10, 4, 1)[:1], p99(10, 8, 1)[:1], limited, Incomparable},
		"no control at baseline":               {p99(10, 4, 1)[:1], p99(10, 8, 1), limited, Incomparable},
		"no control, without a limit":          {p99(10, 4, 1)[:1], p99(10, 8, 1)[:1], free, Slower},
		"no control, better":                   {p99(10, 4, 1)[:1], p99(10, 2, 1)[:1], limited, Faster},
		"3 repeats of the control":             {append(p99(10, 4, 1)[:1], p99(3, 4, 1)[1]), append(p99(10, 8, 1)[:1], p99(3, 8, 1)[1]), limited, Incomparable},
		"4 repeats of the control":             {append(p99(10, 4, 1)[:1], p99(4, 4, 1)[1]), append(p99(10, 8, 1)[:1], p99(4, 8, 1)[1]), limited, Regressed},
		"4 repeats":                            {p99(4, 4, 1), p99(4, 8, 1), limited, TooFewRepeats},
		"4 repeats, without a limit":           {p99(4, 4, 1), p99(4, 8, 1), free, Slower},
		"3 repeats, without a limit":           {p99(3, 4, 1), p99(3, 8, 1), free, TooFewRepeats},
		"5 repeats":                            {p99(5, 4, 1), p99(5, 8, 1), limited, Regressed},
		"4 repeats against 10":                 {p99(10, 4, 1), p99(4, 8, 1), limited, Regressed},
		"2 repeats against 10":                 {p99(10, 4, 1), p99(2, 8, 1), limited, TooFewRepeats},
		"too noisy":                            {spread(1), spread(1.1), limited, TooNoisy},
		"noisy, without a limit":               {spread(1), spread(1.1), free, NoDifference},
		"noisy, within a wide limit":           {spread(1), spread(1.1), []Limit{{"p99", 0.95}}, NoDifference},
		"missing":                              {p99(10, 4, 1), p99(10, 4, 1)[1:], limited, Missing},
		"missing at baseline, without a limit": {p99(10, 4, 1)[1:], p99(10, 4, 1), free, Missing},
		"no repeats":                           {p99(10, 4, 1), []Series{{Statistic: "p99", Unit: "ms"}}, limited, Missing},
		"something after nothing":              {zeros(p99(10, 4, 1)), p99(10, 4, 1), limited, Regressed},
		"nothing after nothing":                {zeros(p99(10, 4, 1)), zeros(p99(10, 4, 1)), limited, NoDifference},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := only(t, test.base, test.now, test.limits)
			if row.Verdict != test.want {
				t.Errorf("got %+v, want %s", row, test.want)
			}
			if strings.Contains(name, "nothing") {
				return // a rate that is infinite cannot be
			}
			turned := only(t, rates(test.base), rates(test.now), test.limits)
			if turned.Verdict != test.want {
				t.Errorf("turned into rates: got %+v, want %s", turned, test.want)
			}
		})
	}
}

// spread is a p99 whose repeats differ by as much as 50 %, beside a steady control.
func spread(by float64) []Series {
	all := p99(10, 4, 1)
	for i := range all[0].Values {
		all[0].Values[i] = by * (4 + 2*float64(i%5)/4)
	}
	return all
}

// only compares and returns the row of p99.
func only(t *testing.T, base, now []Series, limits []Limit) loadgen.Row {
	t.Helper()
	c, err := Runs(base, now, limits)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.Rows, func(r loadgen.Row) bool { return !r.Control })
	if i < 0 {
		t.Fatalf("there is no row of p99: %+v", c)
	}
	row := c.Rows[i]
	regressed := row.Verdict == Regressed
	undecided := len(limits) > 0 && slices.Contains([]Verdict{Incomparable, TooFewRepeats, TooNoisy, Missing}, row.Verdict)
	if len(RegressedRows(c)) > 0 != regressed || len(UndecidedRows(c)) > 0 != undecided || (row.Why != "") != (regressed || undecided) {
		t.Errorf("%d series are regressed, %d undecided and why is %q, with the verdict %s",
			len(RegressedRows(c)), len(UndecidedRows(c)), row.Why, row.Verdict)
	}
	return row
}

// TestLimitsOfRates holds that a limit of a rate is a share of the rate, not of the time that it stands for.
func TestLimitsOfRates(t *testing.T) {
	t.Parallel()
	limits := []Limit{{"p99", 0.35}}
	for rate, want := range map[float64]Verdict{0.7: Slower, 0.6: Regressed, 1.3: Faster, 1.42: Improved} {
		base, now := p99(10, 4, 1), p99(10, 4*rate, 1)
		base[0].HigherIsBetter, now[0].HigherIsBetter = true, true
		if row := only(t, base, now, limits); row.Verdict != want {
			t.Errorf("a rate %g times as high: got %+v, want %s", rate, row, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	row := only(t, p99(10, 4, 1), p99(10, 6, 1.2), []Limit{{Every, 0.1}})
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.02*want {
			t.Errorf("%s is %g, want about %g", what, got, want)
		}
	}
	near("the baseline", row.Base.Value, 4)
	near("now", row.Now.Value, 6)
	near("the ratio", row.Ratio.Value, 1.5)
	near("the ratio of the control", row.Machine.Value, 1.2)
	for _, e := range []*loadgen.Estimate{row.Base, row.Now, row.Ratio, row.Machine} {
		if e.Low >= e.Value || e.High <= e.Value || e.Confidence < 0.95 || e.Confidence > 0.98 {
			t.Errorf("the interval %+v has no sense", *e)
		}
	}
	// All of 10 against all of 10: there are 184,756 ways to choose 10 of 20.
	near("p", row.P, 2.0/184756)
	turned := only(t, rates(p99(10, 4, 1)), rates(p99(10, 6, 1.2)), []Limit{{Every, 0.1}})
	near("the ratio of rates", turned.Ratio.Value, 1/1.5)
	near("the ratio of the control's rates", turned.Machine.Value, 1/1.2)
	if turned.Ratio.Low >= turned.Ratio.Value || turned.Ratio.High <= turned.Ratio.Value {
		t.Errorf("the interval of the ratio of rates is %+v", *turned.Ratio)
	}
	if row.BaseRepeats != 10 || row.NowRepeats != 10 || row.Limit != "10%" || row.PLimit == nil {
		t.Errorf("got %+v", row)
	}
}

// TestManyLimits holds that more limits take more proof.
func TestManyLimits(t *testing.T) {
	t.Parallel()
	var base, now []Series
	for _, stage := range []string{"a", "b", "c"} {
		for _, s := range p99(5, 4, 1) {
			s.Stage = stage
			base = append(base, s)
		}
		for _, s := range p99(5, 8, 1) {
			s.Stage = stage
			now = append(now, s)
		}
	}
	verdicts := func(stages int, repeats int) []Verdict {
		c, err := Runs(base[:2*stages], now[:2*stages], []Limit{{Every, 0.1}})
		if err != nil {
			t.Fatal(err)
		}
		if got := RepeatsFor(stages); got != repeats {
			t.Errorf("%d limits need %d repeats, want %d", stages, got, repeats)
		}
		var all []Verdict
		for _, row := range c.Rows {
			if !row.Control {
				all = append(all, row.Verdict)
			}
		}
		return all
	}
	if diff := cmp.Diff([]Verdict{Regressed, Regressed}, verdicts(2, 5)); diff != "" {
		t.Errorf("2 limits and 5 repeats: %s", diff)
	}
	if diff := cmp.Diff([]Verdict{TooFewRepeats, TooFewRepeats, TooFewRepeats}, verdicts(3, 6)); diff != "" {
		t.Errorf("3 limits and 5 repeats: %s", diff)
	}
	for limits, want := range map[int]int{0: 4, 1: 5, 9: 6, 10: 7, 34: 7, 35: 8, 128: 8, 129: 9} {
		if got := RepeatsFor(limits); got != want {
			t.Errorf("%d limits need %d repeats, want %d", limits, got, want)
		}
	}
}

func TestHolm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		p    []float64
		want []bool
	}{
		"none":              {nil, nil},
		"step by step":      {[]float64{0.01, 0.003, 0.005}, []bool{true, true, true}},
		"the least too big": {[]float64{0.0034, 0.0034, 0.0034}, []bool{false, false, false}},
		"stops":             {[]float64{0.0001, 0.0051, 0.0052}, []bool{true, false, false}},
	} {
		of := map[*matter]float64{}
		var all []*matter
		for _, p := range test.p {
			m := &matter{}
			all, of[m] = append(all, m), p
		}
		significant := holm(all, func(m *matter) float64 { return of[m] })
		for i, m := range all {
			if significant[m] != test.want[i] {
				t.Errorf("%s: %g is significant: %t, want %t", name, test.p[i], significant[m], test.want[i])
			}
		}
	}
}

// TestShortTimes holds that a control accounts for a share of times that are longer than its own, and for the same time in shorter ones.
func TestShortTimes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		base, now []Series
		want      Verdict
	}{
		"longer":                       {p99(10, 4, 2), p99(10, 5.2, 2.1), Regressed},
		"as long":                      {p99(10, 2, 2), p99(10, 2.6, 2.1), Regressed},
		"shorter, by as much time":     {p99(10, 0.4, 2), p99(10, 0.52, 2.1), Incomparable},
		"shorter, by more":             {p99(10, 0.4, 2), p99(10, 0.9, 2.1), Regressed},
		"shorter, and nothing changed": {p99(10, 0.4, 2), p99(10, 0.4, 2), NoDifference},
		"shorter, the control faster":  {p99(10, 0.4, 2), p99(10, 0.3, 1.9), NoDifference},
		"shorter, the control gone":    {p99(10, 0.4, 2), p99(10, 0.1, 1), NoDifference},
		"rates":                        {rates(p99(10, 0.4, 2)), rates(p99(10, 0.6, 2.1)), Regressed},
	} {
		if row := only(t, test.base, test.now, []Limit{{"p99", 0.1}}); row.Verdict != test.want {
			t.Errorf("%s: got %s with %+v, %+v, want %s", name, row.Verdict, row.Ratio, row.Machine, test.want)
		}
	}
}

// TestControls holds that a control is for its stage and its statistic.
func TestControls(t *testing.T) {
	t.Parallel()
	series := func(stage, statistic string, control bool, center float64) Series {
		return Series{Stage: stage, Statistic: statistic, Control: control, Values: values(10, center, 0.02)}
	}
	base := []Series{
		series("a", "p99", false, 4), series("b", "p99", false, 4), series("a", "p50", false, 4),
		series("a", "p99", true, 1), series("", "p99", true, 1),
	}
	now := []Series{
		series("a", "p99", false, 8), series("b", "p99", false, 8), series("a", "p50", false, 8),
		series("a", "p99", true, 2), series("", "p99", true, 1),
	}
	c, err := Runs(base, now, []Limit{{Every, 0.1}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range c.Rows {
		got = append(got, Name(row)+": "+row.Verdict)
	}
	want := []string{"a p99: Incomparable", "b p99: Regressed", "a p50: Incomparable", "control a p99: Slower", "control p99: NoDifference"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	base, now := p99(10, 4, 1), p99(10, 5, 1)
	for _, limits := range [][]Limit{{{Every, 0.1}, {"p99", 0.5}}, {{"p99", 0.5}, {Every, 0.1}}} {
		if row := only(t, base, now, limits); row.Verdict != Slower || row.Limit != "50%" {
			t.Errorf("%v: got %+v, want the limit of p99", limits, row)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	good := p99(10, 4, 1)
	with := func(change func([]Series)) []Series {
		series := p99(10, 4, 1)
		change(series)
		return series
	}
	for name, test := range map[string]struct {
		base, now []Series
		limits    []Limit
		want      string
	}{
		"twice":           {good, append(p99(10, 4, 1), good[0]), nil, "the run has p99 twice"},
		"not a number":    {with(func(s []Series) { s[0].Values[3] = math.NaN() }), good, nil, "the baseline has NaN for p99 in repeat 4"},
		"infinite":        {good, with(func(s []Series) { s[0].Values[0] = math.Inf(1) }), nil, "the run has +Inf for p99 in repeat 1"},
		"negative":        {good, with(func(s []Series) { s[0].Values[0] = -1 }), nil, "the run has -1 for p99 in repeat 1"},
		"control of zero": {good, with(func(s []Series) { s[1].Values[9] = 0 }), nil, "the run has 0 for control p99 in repeat 10"},
		"another unit":    {good, with(func(s []Series) { s[0].Unit = "s" }), nil, `p99 is in "s" now but was in "ms" in the baseline`},
		"other way round": {good, with(func(s []Series) { s[0].HigherIsBetter = true }), nil, "measure the baseline again"},
		"too many":        {good, with(func(s []Series) { s[0].Values = values(101, 1, 0) }), nil, "101 repeats of p99, more than the maximum of 100"},
		"not measured":    {good, good, []Limit{{"p50", 0.1}}, "nothing was measured for the limit p50=10% (measured: p99)"},
		"only a control":  {good[1:], good[1:], []Limit{{Every, 0.1}}, "nothing was measured for the limit *=10%"},
		"two limits":      {good, good, []Limit{{"p99", 0.1}, {"p99", 0.2}}, "p99 has two limits"},
		"limit too small": {good, good, []Limit{{"p99", 0.01}}, "use at least 5%"},
	} {
		c, err := Runs(test.base, test.now, test.limits)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %+v and the error %v, want one with %q", name, c, err, test.want)
		}
	}
}

func TestInputIsLeftAlone(t *testing.T) {
	t.Parallel()
	base, now := p99(10, 4, 1), p99(10, 5, 1)
	limits := []Limit{{Every, 0.1}}
	if _, err := Runs(base, now, limits); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{p99(10, 4, 1), p99(10, 5, 1), []Limit{{Every, 0.1}}}, []any{base, now, limits}); diff != "" {
		t.Error(diff)
	}
}

// report has a series for each way of writing one.
func report(t *testing.T) loadgen.Comparison {
	t.Helper()
	stage := func(name string, n int, p99, rate, control float64) []Series {
		return []Series{
			{Stage: name, Statistic: "p99", Unit: "ms", Values: values(n, p99, 0.05)},
			{Stage: name, Statistic: "objects/s", HigherIsBetter: true, Values: values(n, rate, 0.03)},
			{Stage: name, Statistic: "p99", Unit: "ms", Control: true, Values: values(n, control, 0.01)},
		}
	}
	base := slices.Concat(stage("batch 1", 10, 4.2, 13900, 1), stage("batch 10", 10, 0.61, 112000, 1), stage("gone", 3, 1, 1, 1),
		[]Series{{Statistic: "errors", Values: make([]float64, 10)}})
	now := slices.Concat(stage("batch 1", 10, 5.6, 13800, 1.01), stage("batch 10", 10, 0.75, 125000, 1.2), stage("few", 3, 1, 1, 1),
		[]Series{{Statistic: "errors", Values: make([]float64, 10)}})
	base = append(base, stage("few", 3, 1, 1, 1)...)
	c, err := Runs(base, now, []Limit{{"p99", 0.1}, {"objects/s", 0.05}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestTextOfOddStages has a name that users chose stay in its line and its column.
func TestTextOfOddStages(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := WriteText(&got, loadgen.Comparison{Rows: []loadgen.Row{{Stage: "a\tb\nc", Statistic: "p99", Verdict: Missing, Why: "a\nb is missing"}}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(got.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "a b c p99  -") || lines[2] != "a b is missing" {
		t.Errorf("got\n%s", got.String())
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := WriteText(&got, report(t)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/comparison.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the text differs from testdata/comparison.txt (-want +got):\n%s", diff)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(got.String()), "\n") {
		if line != strings.TrimRight(line, " ") {
			t.Errorf("%q ends with blanks", line)
		}
	}
}

func TestTextCannotBeWritten(t *testing.T) {
	t.Parallel()
	if err := WriteText(full{}, report(t)); err == nil || !strings.Contains(err.Error(), "writing the comparison") {
		t.Errorf("got %v", err)
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestJSON(t *testing.T) {
	t.Parallel()
	want := report(t)
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got loadgen.Comparison
	if err := json.Unmarshal(encoded, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{
		`"rows":[{"stage":"batch 1","statistic":"p99","unit":"ms"`, `"verdict":"Regressed"`, `"pLimit":`, `"machine":{"value":`,
	} {
		if !strings.Contains(string(encoded), key) {
			t.Errorf("there is no %s in %s", key, encoded)
		}
	}
}
