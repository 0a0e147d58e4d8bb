package disruption

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdconform/crdconform/internal/disruption/record"
	"github.com/crdconform/crdconform/internal/fleet"
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

// crew is the clients at work, as long as a scenario lasts.
type crew struct {
	*fleet.Clients

	record   *record.Recorder
	looks    looks
	versions []string
	storage  string // version at which no conversion is needed, and nothing else that fails; empty for none
	things   []thing
	run      string // begins what is written
	seed     uint64

	working sync.WaitGroup
	stop    context.CancelFunc
}

// clientsFor is how many clients make so many requests a second. At each version one of each kind writes, and one reads.
func clientsFor(rate float64, versions int) int {
	return max(int(rate/clientRate)+1, (writers+1)*versions)
}

// start puts the clients to work: at each version some that read, patch, apply, update, list and watch.
func (f *crew) start(ctx context.Context, rate float64) {
	ctx, f.stop = context.WithCancel(ctx)
	n := clientsFor(rate, len(f.versions))
	period := time.Duration(float64(n) / rate * float64(time.Second))
	mine := f.shares(n)
	for i := range n {
		c := &client{crew: f, id: i, version: f.versions[i%len(f.versions)], random: rand.New(rand.NewPCG(f.seed, uint64(i))), mine: mine[i]}
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
		f.working.Go(func() { fleet.Pace(ctx, period, time.Duration(i)*period/time.Duration(n), do) })
	}
	for i, version := range f.versions {
		lister := &client{crew: f, id: n + 2*i, version: version}
		f.working.Go(func() { lister.lists(ctx) })
		watcher := &client{crew: f, id: n + 2*i + 1, version: version}
		f.working.Go(func() { watcher.watches(ctx) })
	}
	f.working.Go(func() { f.lag(ctx) })
}

// shares gives each client that writes objects of its version that nobody else writes: then one order of the writes explains what all see.
func (f *crew) shares(clients int) [][]thing {
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
func (f *crew) end() {
	f.stop()
	f.working.Wait()
}

// lag records how late timers are.
func (f *crew) lag(ctx context.Context) {
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
	*crew

	id      int
	version string
	random  *rand.Rand
	mine    []thing // that it writes
	count   int
	read    []byte // the object to update next, as it was read; nil until it has been
}

// needsNothing reports whether requests of the client need no conversion.
func (c *client) needsNothing() bool { return c.version == c.storage }

// operation makes a request about one object and returns its answer; nil if it failed.
func (c *client) operation(ctx context.Context, kind history.Kind, t thing, value string, body []byte) []byte {
	verb, manager := record.Verb(kind), "crdconform-"+string(kind)
	if kind == history.Read {
		verb, manager = record.Get, ""
	}
	o := c.started(verb)
	o.Object, o.Written = c.Key(t.name), value
	raw, err := c.Do(ctx, c.Request(kind, c.version, t.name, manager, body))
	got := c.finish(&o, kind, err)
	if err == nil {
		s, err := sees(c.Clients, raw)
		if err != nil {
			o.Error, o.Text, o.Outcome = record.Other, err.Error(), fleet.Outcome(kind, err)
		} else {
			o.Seen, o.Digest, o.Differs = &s.state, s.digest, c.looks.differs(c.version, s)
		}
	}
	if got.error == record.Canceled && kind == history.Read {
		return nil // it says nothing
	}
	c.record.Operation(o)
	if o.Error != "" {
		return nil
	}
	return raw
}

// started returns an operation that begins now.
func (c *client) started(verb record.Verb) record.Operation {
	return record.Operation{Operation: history.Operation{Client: c.id, Version: c.version, Call: c.record.Now()}, Verb: verb, Storage: c.needsNothing()}
}

// finish ends an operation with what came of its request.
func (c *client) finish(o *record.Operation, kind history.Kind, err error) answer {
	got := answered(err)
	// An API server fills its cache anew, since its definition was changed or it was restarted, and has a client begin again: no webhook
	// is to blame for that.
	if c.storage == "" && got.error == record.Throttled && (o.Verb == record.List || o.Verb == record.Watch) {
		got.error = record.Expired
	}
	o.Return, o.Code, o.Error, o.Text, o.Outcome = c.record.Now(), got.code, got.error, got.text, fleet.Outcome(kind, err)
	return got
}

func (c *client) get(ctx context.Context) { c.look(ctx, c.things[c.random.IntN(len(c.things))]) }

// look gets an object.
func (c *client) look(ctx context.Context, t thing) []byte {
	return c.operation(ctx, history.Read, t, "", nil)
}

// next returns the object to write next, and the value.
func (c *client) next() (thing, string) {
	c.count++
	return c.mine[c.count%len(c.mine)], fmt.Sprintf("%s-%d-%d", c.run, c.id, c.count)
}

func (c *client) patch(ctx context.Context) {
	t, value := c.next()
	c.operation(ctx, history.Patch, t, value, c.Marking(value))
}

func (c *client) apply(ctx context.Context) {
	t, value := c.next()
	c.operation(ctx, history.Apply, t, value, c.Applied(c.version, t.name, "", value))
}

// update writes back an object that was read the last time, with another value, or reads the one to write the next time.
func (c *client) update(ctx context.Context) {
	if c.read == nil {
		c.read = c.look(ctx, c.mine[(c.count+1)%len(c.mine)])
		return
	}
	t, value := c.next()
	body, err := c.Rewritten(c.read, value)
	c.read = nil
	if err != nil {
		return // the record has the answer, which is no object
	}
	c.operation(ctx, history.Update, t, value, body)
}

// lists lists all objects again and again, in two pages. What becomes of a page is recorded.
func (c *client) lists(ctx context.Context) {
	for ctx.Err() == nil {
		all := kube.Pager[*metav1.PartialObjectMetadataList]{List: c.page, Options: metav1.ListOptions{Limit: int64(max(1, (len(c.things)+1)/2))}}
		_ = all.Each(ctx, func(*metav1.PartialObjectMetadataList) error { return nil })
	}
}

// page records a page, and returns where the list continues.
func (c *client) page(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if err := pause.For(ctx, listPause); err != nil {
		return nil, err
	}
	o, page := c.started(record.List), &metav1.PartialObjectMetadataList{}
	query := url.Values{"limit": {strconv.FormatInt(options.Limit, 10)}, "continue": {options.Continue}}
	body, err := c.Do(ctx, kube.Request{Path: c.Path(c.version), Query: query})
	got := c.finish(&o, history.Read, err)
	if err == nil {
		if page.Continue, err = c.items(&o, body); err != nil {
			o.Error, o.Text, o.Outcome = record.Other, err.Error(), history.Refused
		}
	}
	if got.error != record.Canceled {
		c.record.Operation(o)
	}
	return page, err
}

// items takes the items of a list, and returns where it continues.
func (c *client) items(o *record.Operation, body []byte) (string, error) {
	l, err := fleet.Listed[json.RawMessage](body)
	if err != nil {
		return "", err
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
	s, err := sees(c.Clients, raw)
	if err != nil {
		return record.Sight{}, err
	}
	return record.Sight{Object: s.key, Digest: s.digest, Differs: c.looks.differs(c.version, s)}, nil
}
