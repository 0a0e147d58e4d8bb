package workers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// protocol is the version of what coordinators and workers say to each other. Both sides have to know the same one: a field that
// one of them does not know would change what is measured.
const protocol = 6

// spec is what workers are given. It holds no private key.
type spec struct {
	Protocol int `json:"protocol"`
	Load
}

// newSpec is the spec of a load.
func newSpec(l Load) spec {
	l.Patience = l.patience()
	return spec{protocol, l}
}

func (s spec) encode() ([]byte, error) {
	encoded, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("load: the spec of the workers: %w", err)
	}
	return append(encoded, '\n'), nil
}

// decodeSpec reads a spec. It fails when that is of another protocol, or has anything in it that is not known.
func decodeSpec(raw []byte) (spec, error) {
	var version struct {
		Protocol int `json:"protocol"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return spec{}, fmt.Errorf("the spec of the workers is not JSON: %w", err)
	}
	if version.Protocol != protocol {
		return spec{}, otherProtocol(version.Protocol)
	}
	var s spec
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil {
		return spec{}, fmt.Errorf("the spec of the workers: %w", err)
	}
	switch {
	case s.Workers < 1:
		return spec{}, fmt.Errorf("the spec of the workers is for %d of them; it must be 1 or more", s.Workers)
	case len(s.Requests) == 0:
		return spec{}, errors.New("the spec of the workers has no requests in it")
	}
	return s, nil
}

// otherProtocol says that two sides are of different releases.
func otherProtocol(other int) error {
	return fmt.Errorf("the other side speaks version %d of the protocol of workers, and this one %d: use the same release of crdconform for both", other, protocol)
}
