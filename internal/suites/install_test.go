package suites

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/crdconform/crdconform/requirement"
)

// TestArrange puts definitions into the order of the specs that want them, a shared one where the first of its specs runs.
func TestArrange(t *testing.T) {
	t.Parallel()
	i := newInstaller(newEnv(Options{}))
	for _, ids := range [][]requirement.ID{{"third"}, {"unknown"}, {"fourth", "first"}, {"second"}} {
		i.announced = append(i.announced, &pending{ids: ids})
	}
	i.order = []requirement.ID{"first", "second", "third", "fourth"}
	i.arrange()
	var got []requirement.ID
	for _, p := range i.announced {
		got = append(got, p.ids[0])
	}
	if want := []requirement.ID{"unknown", "fourth", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("the order is %v, want %v", got, want)
	}
}

// TestAhead holds a definition back until specs are near, and lets it go when the run ends.
func TestAhead(t *testing.T) {
	t.Parallel()
	for name, release := range map[string]func(i *installer, cancel func()){
		"asked for":       func(i *installer, _ func()) { i.ask(&pending{index: 5 + ahead}) },
		"the one before":  func(i *installer, _ func()) { i.ask(&pending{index: 5}) },
		"the run is over": func(_ *installer, cancel func()) { cancel() },
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newInstaller(newEnv(Options{}))
			let := make(chan struct{})
			ctx, cancel := i.context(t.Context())
			defer cancel()
			go func() {
				i.waitFor(ctx, &pending{index: ahead})
				i.waitFor(ctx, &pending{index: 5 + ahead})
				close(let)
			}()
			synctest.Wait()
			select {
			case <-let:
				t.Errorf("%s: it is installed at once", name)
			default:
			}
			i.ask(&pending{index: 4})
			synctest.Wait()
			select {
			case <-let:
				t.Errorf("%s: it is installed too early", name)
			default:
			}
			release(i, cancel)
			<-let
		})
	}
}
