package disruption

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/pause"
)

// Of ten clients that are paced, so many write at each version by a patch, by server-side apply, and by an update. The others read.
const (
	patchers = 1
	appliers = 1
	updaters = 1
	writers  = patchers + appliers + updaters
	ten      = 10
)

const (
	// clientRate is how many requests a second a client makes. One that waits for an answer makes none.
	clientRate = 12.5

	// listPause is how long it is from one page of a list to the next.
	listPause = 250 * time.Millisecond

	// reopenPause is how long a client waits until it opens a watch again.
	reopenPause = 100 * time.Millisecond

	// lagEvery is how often the harness looks how late it is.
	lagEvery = 50 * time.Millisecond
)

// thing is an object that clients know.
type thing struct {
	name    string
	version string // at which it is written, always; so requests at the storage version need no conversion of managed fields
	fixed   bool   // it is never written
}

// fleet is the clients at work, as long as a scenario lasts.
type fleet struct {
	*api

	record   *record.Recorder
	versions []string
	storage  string // version at which no conversion is needed, and nothing else that fails; empty for none
	things   []thing
	run      string // begins what is written
	seed     uint64

	working sync.WaitGroup
	stop    context.CancelFunc
}

// clientsFor is how many clients make so many requests a second. At each version one of each sort writes, and one reads.
func clientsFor(rate float64, versions int) int {
	return max(int(rate/clientRate)+1, (writers+1)*versions)
}

// start puts the clients to work: at each version some that read, patch, apply, update, list and watch.
func (f *fleet) start(ctx context.Context, rate float64) {
	ctx, f.stop = context.WithCancel(ctx)
	n := clientsFor(rate, len(f.versions))
	period := time.Duration(float64(n) / rate * float64(time.Second))
	mine := f.shares(n)
	for i := range n {
		c := &client{fleet: f, id: i, version: f.versions[i%len(f.versions)], random: rand.New(rand.NewPCG(f.seed, uint64(i))), mine: mine[i]}
		do := c.get
		switch role := i / len(f.versions) % ten; {
		case len(c.mine) == 0:
		case role < patchers:
			do = c.patch
		case role < patchers+appliers:
			do = c.apply
		case role < writers:
			do = c.update
		}
		f.working.Go(func() { c.pace(ctx, period, time.Duration(i)*period/time.Duration(n), do) })
	}
	for i, version := range f.versions {
		lister := &client{fleet: f, id: n + 2*i, version: version}
		f.working.Go(func() { lister.lists(ctx) })
		watcher := &client{fleet: f, id: n + 2*i + 1, version: version}
		f.working.Go(func() { watcher.watches(ctx) })
	}
	f.working.Go(func() { f.lag(ctx) })
}

// shares gives each client that writes objects of its version that nobody else writes: then one order of the writes explains what all see.
func (f *fleet) shares(clients int) [][]thing {
	mine := make([][]thing, clients)
	for v, version := range f.versions {
		var sharing []int
		for i := v; i < clients; i += len(f.versions) {
			if i/len(f.versions)%ten < writers {
				sharing = append(sharing, i)
			}
		}
		n := 0
		for _, t := range f.things {
			if t.version == version && !t.fixed && len(sharing) > 0 {
				writer := sharing[n%len(sharing)]
				mine[writer] = append(mine[writer], t)
				n++
			}
		}
	}
	return mine
}

// end stops the clients, and waits until they have stopped.
func (f *fleet) end() {
	f.stop()
	f.working.Wait()
}

// lag records how late timers are.
func (f *fleet) lag(ctx context.Context) {
	due := f.record.Now()
	for {
		due += lagEvery
		if pause.For(ctx, due-f.record.Now()) != nil {
			return
		}
		now := f.record.Now()
		f.record.Lag(record.Lag{At: due, Lag: now - due})
		due = max(due, now-lagEvery)
	}
}

// client is one of them.
type client struct {
	*fleet

	id      int
	version string
	random  *rand.Rand
	mine    []thing // that it writes
	count   int
	read    []byte // the object to update next, as it was read; nil until it has been
}

// pace does something again and again, at its own pace. What was due while it waited for an answer is left out.
func (c *client) pace(ctx context.Context, period, offset time.Duration, do func(context.Context)) {
	for due := time.Now().Add(offset); ; due = due.Add(period) {
		now := time.Now()
		if due.Before(now) {
			due = now
		}
		if pause.For(ctx, due.Sub(now)) != nil {
			return
		}
		do(ctx)
	}
}

// needsNothing reports whether requests of the client need no conversion.
func (c *client) needsNothing() bool { return c.version == c.storage }

// operation is a request about one object, which it returns; nil if it failed.
func (c *client) operation(ctx context.Context, verb record.Verb, t thing, value string, q kube.Request) []byte {
	o := record.Operation{Client: c.id, Verb: verb, Object: c.key(t.name), Version: c.version, Storage: c.needsNothing(), Written: value, Call: c.record.Now()}
	got := c.do(ctx, q)
	o.Return, o.Code, o.Error, o.Text, o.Outcome = c.record.Now(), got.code, got.error, got.text, got.outcome(value != "")
	if got.error == "" {
		s, err := object(got.body)
		if err != nil {
			o.Error, o.Text, o.Outcome = record.Other, err.Error(), answer{error: record.Other}.outcome(value != "")
		} else {
			o.Seen, o.Digest = &s.state, s.digest
		}
	}
	if got.error == record.Canceled && value == "" {
		return nil // it says nothing
	}
	c.record.Operation(o)
	if o.Error != "" {
		return nil
	}
	return got.body
}

func (c *client) get(ctx context.Context) { c.look(ctx, c.things[c.random.IntN(len(c.things))]) }

// look gets an object.
func (c *client) look(ctx context.Context, t thing) []byte {
	return c.operation(ctx, record.Get, t, "", kube.Request{Method: http.MethodGet, Path: c.Path(c.version, t.name)})
}

// next returns the object to write next, and the value.
func (c *client) next() (thing, string) {
	c.count++
	return c.mine[c.count%len(c.mine)], fmt.Sprintf("%s-%d-%d", c.run, c.id, c.count)
}

func (c *client) patch(ctx context.Context) {
	t, value := c.next()
	c.operation(ctx, record.Patch, t, value, kube.Request{
		Method: http.MethodPatch, Path: c.Path(c.version, t.name), Query: url.Values{"fieldManager": {"crdconform-patch"}}, ContentType: kube.TypeMerge, Body: annotating(value),
	})
}

func (c *client) apply(ctx context.Context) {
	t, value := c.next()
	body, _ := json.Marshal(map[string]any{ // of strings only
		"apiVersion": c.Group + "/" + c.version, "kind": c.kind,
		"metadata": map[string]any{"name": t.name, "annotations": map[string]any{written: value}},
	})
	c.operation(ctx, record.Apply, t, value, kube.Request{
		Method: http.MethodPatch, Path: c.Path(c.version, t.name), Query: url.Values{"fieldManager": {"crdconform-apply"}, "force": {"true"}}, ContentType: kube.TypeApply, Body: body,
	})
}

// update writes back an object that was read the last time, with another value, or reads the one to write the next time.
func (c *client) update(ctx context.Context) {
	if c.read == nil {
		c.read = c.look(ctx, c.mine[(c.count+1)%len(c.mine)])
		return
	}
	t, value := c.next()
	body, err := rewritten(c.read, value)
	c.read = nil
	if err != nil {
		return // the record has the answer, which is no object
	}
	c.operation(ctx, record.Update, t, value, kube.Request{
		Method: http.MethodPut, Path: c.Path(c.version, t.name), Query: url.Values{"fieldManager": {"crdconform-update"}}, ContentType: "application/json", Body: body,
	})
}

// lists lists all objects again and again, in two pages.
func (c *client) lists(ctx context.Context) {
	query := url.Values{"limit": {strconv.Itoa(max(1, (len(c.things)+1)/2))}}
	continues := ""
	for pause.For(ctx, listPause) == nil {
		query.Del("continue")
		if continues != "" {
			query.Set("continue", continues)
		}
		o := record.Operation{Client: c.id, Verb: record.List, Version: c.version, Storage: c.needsNothing(), Call: c.record.Now()}
		got := c.again(c.do(ctx, kube.Request{Method: http.MethodGet, Path: c.Path(c.version), Query: query}))
		o.Return, o.Code, o.Error, o.Text, o.Outcome = c.record.Now(), got.code, got.error, got.text, got.outcome(false)
		continues = got.continues
		if got.error == "" {
			var err error
			if continues, err = c.items(&o, got.body); err != nil {
				o.Error, o.Text, o.Outcome = record.Other, err.Error(), history.Refused
			}
		}
		if got.error != record.Canceled {
			c.record.Operation(o)
		}
	}
}

// again takes an API server that fills its cache anew, since its definition was changed or it was restarted, for one that has a client
// begin again: no webhook is to blame for that.
func (c *client) again(got answer) answer {
	if c.storage == "" && got.error == record.Throttled {
		got.error = record.Expired
	}
	return got
}

// items takes the items of a list, and returns where it continues.
func (c *client) items(o *record.Operation, body []byte) (string, error) {
	var l list
	if err := json.Unmarshal(body, &l); err != nil {
		return "", fmt.Errorf("the answer is not a list: %w", err)
	}
	o.Items = len(l.Items)
	for _, item := range l.Items {
		sight, err := c.sight(item)
		if err != nil {
			return "", err
		}
		o.Listed = append(o.Listed, sight)
	}
	return l.Metadata.Continue, nil
}

func (c *client) sight(raw []byte) (record.Sight, error) {
	s, err := object(raw)
	return record.Sight{Object: c.key(s.name), Digest: s.digest}, err
}
