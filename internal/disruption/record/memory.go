package record

import (
	"slices"
	"time"

	"github.com/crdconform/crdconform/internal/memory"
)

// memoryOf returns how the webhook's memory went; nil if that was not measured for long enough.
func memoryOf(h *History) *memory.Trend {
	var returns []time.Duration // of operations that need a conversion
	for _, o := range h.Operations {
		if !o.Storage {
			returns = append(returns, o.Return)
		}
	}
	slices.Sort(returns)
	return memory.Of(h.Samples, func(at time.Duration) float64 {
		n, _ := slices.BinarySearch(returns, at)
		return float64(n)
	})
}

// leaks is the anomaly about a memory that grows.
func leaks(m *memory.Trend) []Anomaly {
	if m == nil || !m.Leaks {
		return nil
	}
	return []Anomaly{{Kind: FoundLeak, Count: 1, Text: "the webhook's memory grew " + m.String()}}
}
