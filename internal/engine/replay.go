package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdconform/crdconform/internal/wire"
)

// leaveOutRefused tries the redacted requests of the recording, and leaves out those that the webhook now rejects but did not reject
// when they were recorded: either the webhook or the redaction may be the cause.
func (s *session) leaveOutRefused(ctx context.Context, client *wire.Client) error {
	if s.recorded == nil || len(s.recorded.Redacted) == 0 {
		return nil
	}
	if launcher := s.want.Launcher; launcher != nil && launcher.Remote() { // what workers reach need not be in reach from here
		s.note("load.recording: it was redacted at " + strings.Join(s.recorded.Redacted, ", ") +
			", and workers in a cluster send all of it: requests that the webhook rejects because of that count as failed")
		return nil
	}
	s.progress.Note("trying the redacted requests of the recording")
	all := len(s.recorded.Exchanges)
	refused := s.recorded.LeaveOutRefused(ctx, client.Send)
	if refused.Exchanges == 0 || ctx.Err() != nil {
		return nil //nolint:nilerr // the caller stopped it
	}
	text := fmt.Sprintf("load.recording: %d of %d requests are not sent: they were redacted at %s after they had been converted, and the webhook rejects the redacted ones: %s",
		refused.Exchanges, all, strings.Join(refused.Paths, ", "), refused.First)
	if refused.Exchanges == all {
		return errors.New(text + "; do not redact values that must be one of a few words")
	}
	s.note(text)
	test, err := s.replay()
	s.loads = []*LoadTest{test}
	return err
}
