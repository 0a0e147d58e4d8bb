package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// limit is how long a run may take. When that is over, the context of the run is cancelled as by an interruption, so that whatever is
// under way stops and is taken down in the same way.
type limit struct {
	length time.Duration // 0 for none
	cause  error         // of the end of the context; it is a context.Canceled too
	timer  *time.Timer   // nil without a limit
}

// limited returns a context that ends when the time of the run is over.
func (s *session) limited(ctx context.Context) context.Context {
	s.limit.length = s.want.RunTimeout.Duration
	if s.limit.length == 0 {
		return ctx
	}
	s.limit.cause = fmt.Errorf("the run timeout of %s expired: %w", s.limit.length, context.Canceled)
	within, cancel := context.WithCancelCause(ctx)
	s.limit.timer = time.AfterFunc(s.limit.length, func() { cancel(s.limit.cause) })
	return within
}

// lift ends the limit: everything is judged, and what follows may take its time.
func (l *limit) lift() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

// ended reports whether it was the limit that ended a context.
func (l *limit) ended(ctx context.Context) bool {
	return l.cause != nil && errors.Is(context.Cause(ctx), l.cause)
}

// cut says in a report that the limit ended the run. Nobody has interrupted it then: the run is one that could not judge everything.
func (s *session) cut(report *reports.Report) {
	left := 0
	for i := range report.Results {
		if r := &report.Results[i]; r.Verdict == requirement.Unknown {
			r.Reason = fmt.Sprintf("the run timeout of %s expired before it was judged", s.limit.length)
			left++
		}
	}
	text := fmt.Sprintf("the run timeout of %s expired before everything was judged", s.limit.length)
	if left > 0 {
		text += fmt.Sprintf("; %d of %d requirements are left", left, len(report.Results))
	}
	report.Interrupted, report.Error = false, strings.TrimSpace(text+"\n"+report.Error)
}
