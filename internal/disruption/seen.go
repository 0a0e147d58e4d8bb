package disruption

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// namespace is where namespaced objects are created.
	namespace = "default"

	// written is the annotation that writers write.
	written = "crdconform.dev/written"

	// patience is how long a client waits for an answer: longer than API servers wait for a webhook, which is 30 s.
	patience = 40 * time.Second
)

// seen is what a client takes from an object. The digest leaves annotations out: clients write one, and webhooks keep in others what a
// version has no field for, which depends on who wrote last.
type seen struct {
	key    string
	state  history.State
	digest string
	fields map[string]any // that the digest is of
}

// looks are the objects as they were seen first at each version, to say in which fields others differ from them.
type looks struct {
	mu    sync.Mutex
	first map[[2]string]seen
}

// differs returns the fields in which an object differs at a version from how it was seen first.
func (l *looks) differs(version string, s seen) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := [2]string{s.key, version}
	first, known := l.first[at]
	switch {
	case !known:
		if l.first == nil {
			l.first = map[[2]string]seen{}
		}
		l.first[at] = s
		return nil
	case first.digest == s.digest:
		return nil
	}
	var fields []string
	for _, d := range kube.Differences("", first.fields, s.fields) {
		what := " is another one"
		switch {
		case d.Gone:
			what = " is gone"
		case d.Added:
			what = " is new"
		}
		fields = append(fields, strings.TrimPrefix(d.Path, ".")+what) // values may be secrets, and the record is kept
	}
	return fields
}

// sees reads an object of an answer.
func sees(clients *fleet.Clients, raw []byte) (seen, error) {
	o, err := fleet.Decode(raw)
	if err != nil {
		return seen{}, err
	}
	name, _ := o.Metadata["name"].(string)
	s := seen{key: clients.Key(name), state: clients.State(o)}
	for _, changing := range []string{"resourceVersion", "managedFields", "generation", "annotations"} {
		delete(o.Metadata, changing)
	}
	text, err := json.Marshal(o.Fields)
	if err != nil {
		return seen{}, err
	}
	sum := sha256.Sum256(text)
	s.digest, s.fields = hex.EncodeToString(sum[:8]), o.Fields
	return s, nil
}
