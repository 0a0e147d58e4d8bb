package subject

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/wire"
)

// again is what starts a program again that has ended by itself.
type again struct {
	most         int // how often
	start, await func(context.Context) error

	mu    sync.Mutex // for those that find it ended at the same time
	last  time.Time  // when it was started again
	ended time.Time  // when it had ended then
	crash error      // how
}

// Revive starts the program again if it has ended by itself, or says how it ended if another has done so since a time, and whether it had ended
// before that time. The error is nil if it has not ended, or is not started again any more, as Err says then. It is for those that find their
// connection broken, which shows a moment before the end does.
func (p *Process) Revive(ctx context.Context, since time.Time) (before bool, ended error) {
	const moments, moment = 20, 50 * time.Millisecond
	a := &p.again
	a.mu.Lock()
	defer a.mu.Unlock()
	for n := 0; ; n++ {
		switch {
		case p.running().Crashed():
			ended = p.revive(ctx)
			return ended != nil && a.ended.Before(since), ended
		case a.last.After(since):
			return a.ended.Before(since), a.crash
		case n == moments, ctx.Err() != nil, p.answers(ctx):
			return false, nil
		}
		_ = pause.For(ctx, moment) // the loop looks whether it is over
	}
}

// revive starts the program again, which has ended. What it has started itself, and has left, has its port.
func (p *Process) revive(ctx context.Context) error {
	p.mu.Lock()
	over := p.vain != nil || p.times == p.again.most
	p.mu.Unlock()
	if over {
		return nil
	}
	crash, ended := p.Err(), p.running().EndedAt()
	err := p.running().Kill()
	if err == nil {
		err = p.again.start(ctx)
	}
	if err == nil {
		if err = p.again.await(ctx); err != nil {
			err = errors.Join(err, p.running().Kill())
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.vain = fmt.Errorf("%w; it could not be started again: %w", crash, err)
		return nil
	}
	p.times++
	p.again.last, p.again.ended, p.again.crash = time.Now(), ended, crash
	return crash
}

// answers reports whether the program answers where it did.
func (p *Process) answers(ctx context.Context) bool {
	door, err := wire.Connect(p.Endpoint)
	if err != nil {
		return false
	}
	defer door.Close()
	return knock(ctx, door) == nil
}
