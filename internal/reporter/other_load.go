package reporter

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/crdconform/crdconform/loadgen"
)

// OtherLoad returns how the loads of two stages differ, or "" if they are the same.
func OtherLoad(x, y loadgen.Stage) string {
	for _, each := range []struct {
		what string
		x, y any
	}{
		{"rates", x.Phases, y.Phases},
		{"clients", x.Clients, y.Clients},
		{"maximum number of client requests", x.Most, y.Most},
		{"seconds", x.Duration, y.Duration},
		{"objects in a request", x.Batch, y.Batch},
		{"bytes of an object", x.Bytes, y.Bytes},
		{"versions", x.Pairs, y.Pairs},
		{"version of ConversionReview", x.ReviewVersion, y.ReviewVersion},
		{"protocol", x.HTTP, y.HTTP},
		{"requests in flight", x.InFlight, y.InFlight},
		{"comparison of the content", x.JudgeContent, y.JudgeContent},
		{"workers", x.Workers, y.Workers},
	} {
		if !reflect.DeepEqual(each.x, each.y) {
			return fmt.Sprintf("%s: %s and %s", each.what, worded(each.x), worded(each.y))
		}
	}
	return ""
}

// worded returns a property of a stage as text.
func worded(v any) string {
	var all []string
	switch v := v.(type) {
	case []loadgen.Phase:
		for _, phase := range v {
			all = append(all, PhaseText(phase))
		}
	case []loadgen.Pair:
		for _, pair := range v {
			all = append(all, PairText(pair))
		}
	default:
		return fmt.Sprint(v)
	}
	return strings.Join(all, ", ")
}
