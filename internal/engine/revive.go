package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// mostRestarts is how often a program that ends while it is judged is started again. It is a count, so that a run finds the same on any
// machine.
const mostRestarts = 100

// crashes are how often a program ended and was started again, and how it ended the first time.
type crashes struct {
	mu    sync.Mutex // clients of an API server find them too
	times int
	first string
}

// revive returns what starts the webhook under test again if it ends; nil if nothing does.
func (s *session) revive() func(context.Context, time.Time) (bool, error) {
	if s.hook.Revive == nil {
		return nil
	}
	return func(ctx context.Context, since time.Time) (bool, error) {
		before, ended := s.hook.Revive(ctx, since)
		if ended == nil {
			return false, nil
		}
		s.crashes.mu.Lock()
		defer s.crashes.mu.Unlock()
		if s.crashes.times++; s.crashes.times == 1 {
			s.crashes.first = strings.ReplaceAll(ended.Error(), "\n", " ")
			s.say(fmt.Sprintf("the program ended, and is started again whenever it does, at most %d times: %s", mostRestarts, s.crashes.first))
		}
		return before, ended
	}
}

// runs starts the webhook again if it has ended, and says how it ended if it cannot.
func (s *session) runs(ctx context.Context) error {
	if revive := s.revive(); revive != nil {
		_, _ = revive(ctx, time.Now()) // it runs again, or else the next line says what is wrong
	}
	if s.hook.Alive == nil {
		return nil
	}
	return s.hook.Alive()
}

// noteCrashes notes how often the program ended.
func (s *session) noteCrashes() {
	if c := &s.crashes; c.times > 0 {
		s.note(fmt.Sprintf("The program ended %s and was started again. The first time: %s", times(c.times), c.first))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
