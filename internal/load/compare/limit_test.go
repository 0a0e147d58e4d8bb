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
		"":               "has to be STATISTIC=SHARE",
		"p99":            "has to be STATISTIC=SHARE",
		"=10%":           `no statistic ""`,
		"p98=10%":        "there are min, mean, p50, p90, p95, p99, p99.9, p99.99, max, requests/s, objects/s, and *",
		"P99=10%":        `no statistic "P99"`,
		"p99 =10%":       `no statistic "p99 "`,
		"errors=10%":     `no statistic "errors"`,
		"p99=":           "give per cent",
		"p99=10":         "give per cent, such as 10%",
		"p99=0.1":        "give per cent",
		"p99=5ms":        `"5ms" is no share of the baseline`,
		"p99=%":          "give per cent",
		"p99=10%%":       "give per cent",
		"p99=ten%":       "give per cent",
		"p99=4%":         "give at least 5%",
		"p99=0%":         "give at least 5%",
		"p99=-10%":       "the limit p99=-10%: it is how much worse a statistic may be, which is no less than nothing; give at least 5%",
		"p99=NaN%":       "give at least 5%",
		"p99=Inf%":       "nothing can exceed it; leave it out",
		"*=100%":         "rates have it too, and none can fall by so much; give less than 100%",
		"objects/s=150%": "no rate can fall by so much; give less than 100%",
		"p99=10%,p50":    "give per cent",
	} {
		if got, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v and the error %v, want one with %q", text, got, err, want)
		}
	}
}
