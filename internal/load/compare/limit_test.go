package compare

import (
	"strings"
	"testing"
)

func TestParseLimit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Limit{
		"p99=10%":         {"p99", 0.1},
		"p99.9=7.5%":      {"p99.9", 0.075},
		"objects/s=5%":    {"objects/s", 0.05},
		"*=99%":           {"*", 0.99},
		"requests/s=1e1%": {"requests/s", 0.1},
		"p99=150%":        {"p99", 1.5},
		"mean=100%":       {"mean", 1},
	} {
		got, err := ParseLimit(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v and %v, want %+v", text, got, err, want)
		}
	}
	for _, statistic := range append(Statistics(), Every) {
		limit := Limit{statistic, 0.1}
		if got, err := ParseLimit(limit.String()); err != nil || got != limit {
			t.Errorf("%s: read back as %+v, %v", limit, got, err)
		}
	}
}

func TestWrongLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":               "want STATISTIC=SHARE",
		"p99":            "want STATISTIC=SHARE",
		"=10%":           `unknown statistic ""`,
		"p98=10%":        "(want min, mean, p50, p90, p95, p99, p99.9, p99.99, max, requests/s, objects/s, or * ",
		"P99=10%":        `unknown statistic "P99"`,
		"p99 =10%":       `unknown statistic "p99 "`,
		"errors=10%":     `unknown statistic "errors"`,
		"p99=":           "not a percentage of the baseline",
		"p99=10":         "not a percentage of the baseline",
		"p99=0.1":        "not a percentage of the baseline",
		"p99=5ms":        `"5ms" is not a percentage of the baseline`,
		"p99=%":          "not a percentage of the baseline",
		"p99=10%%":       "not a percentage of the baseline",
		"p99=ten%":       "not a percentage of the baseline",
		"p99=4%":         "use at least 5%",
		"p99=0%":         "use at least 5%",
		"p99=-10%":       "the limit p99=-10%: it must not be negative: it is how much worse a statistic may be; use at least 5%",
		"p99=NaN%":       "use at least 5%",
		"p99=Inf%":       "nothing can exceed it; omit it",
		"*=100%":         "it applies to rates too, which cannot fall by that much; use less than 100%",
		"objects/s=150%": "a rate cannot fall by that much; use less than 100%",
		"p99=10%,p50":    "not a percentage of the baseline",
	} {
		if got, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v and the error %v, want one with %q", text, got, err, want)
		}
	}
}
