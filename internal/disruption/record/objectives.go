package record

import (
	"fmt"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/objective"
)

// exceeded compares the figures with what the objectives allow. The limit is how long recovery was waited for.
func exceeded(o objective.Limit, f Facts, limit time.Duration) []Anomaly {
	var anomalies []Anomaly
	add := func(kind AnomalyKind, count int, format string, values ...any) {
		anomalies = append(anomalies, Anomaly{Kind: kind, Count: count, Text: fmt.Sprintf(format, values...)})
	}
	if o.Recovery != nil {
		took := f.Recovery
		if f.SinceReady != nil {
			took = f.SinceReady
		}
		switch {
		case took == nil && limit > 0:
			add(OverRecovery, 1, "recovery took longer than the %s that the run waited, and the objective allows %s", round(limit), *o.Recovery)
		case took == nil:
			add(OverRecovery, 1, "there was no recovery, and the objective allows %s", *o.Recovery)
		case *took > *o.Recovery:
			add(OverRecovery, 1, "recovery took %s, and the objective allows %s", round(*took), *o.Recovery)
		}
	}
	for _, each := range []struct {
		kind     AnomalyKind
		limit    *int
		measured int
		what     string
	}{
		{OverFailed, o.Failed, f.Failed, "operation%s failed"},
		{OverLost, o.Lost, f.Lost, "answer%s of lost writes"},
		{OverWrong, o.Wrong, f.Wrong, "answer%s wrong"},
	} {
		if each.limit != nil && each.measured > *each.limit {
			plural := "s"
			if each.measured == 1 {
				plural = ""
			}
			add(each.kind, each.measured, "%d "+each.what+", and the objective allows %d", each.measured, plural, *each.limit)
		}
	}
	return anomalies
}
