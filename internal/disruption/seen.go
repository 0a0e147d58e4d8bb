package disruption

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/crdconform/crdconform/internal/fleet"
	"github.com/crdconform/crdconform/internal/history"
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
	s.digest = hex.EncodeToString(sum[:8])
	return s, nil
}
