package crdconform

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/crdconform/crdconform/contract/wire"
	"github.com/crdconform/crdconform/loadgen/workers/job"
	"github.com/crdconform/crdconform/reports"
)

// leaveOutRefused asks for what the recording has redacted, and does not send what the webhook refuses now and did not refuse then:
// whether it is to blame or the redaction, nobody can tell.
func (p *Plan) leaveOutRefused(ctx context.Context, progress Progress, client *wire.Client, report *reports.Report) error {
	if p.recorded == nil || len(p.recorded.Redacted) == 0 {
		return nil
	}
	if _, elsewhere := p.check.Fleet.(*job.Fleet); elsewhere { // what workers reach need not be in reach from here
		report.Notes = append(report.Notes, "load.recording: it was redacted at "+strings.Join(p.recorded.Redacted, ", ")+
			", and workers in a cluster send all of it: what the webhook refuses for that counts as failed")
		return nil
	}
	progress.Note("asking for what the recording has redacted")
	all := len(p.recorded.Exchanges)
	refused := p.recorded.LeaveOutRefused(ctx, client.Send)
	if refused.Exchanges == 0 || ctx.Err() != nil {
		return nil //nolint:nilerr // whoever stopped it knows
	}
	text := fmt.Sprintf("load.recording: %d of %d requests are not sent: they were redacted at %s when they had been converted, and the webhook refuses them as they are now: %s",
		refused.Exchanges, all, strings.Join(refused.Paths, ", "), refused.First)
	if refused.Exchanges == all {
		return errors.New(text + "; record without --redact for what has to be one of a few words")
	}
	report.Notes = append(report.Notes, text)
	return p.replay()
}
