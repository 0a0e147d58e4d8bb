package main

import (
	"encoding/json"
	"strconv"
	"sync/atomic"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

const serial = "water.example.org/serial" // annotation

// serials counts the serial numbers that were given to objects.
type serials struct{ last atomic.Int64 }

// convertAll gives a serial number to what becomes the newer version and has none, since that is about to be stored.
func (s *serials) convertAll(request program.Review) ([]json.RawMessage, error) {
	converted, err := convertAll(request, nil)
	if err != nil || request.Desired != newer {
		return converted, err
	}
	for i, raw := range converted {
		if converted[i], err = s.number(raw); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

func (s *serials) number(raw json.RawMessage) (json.RawMessage, error) {
	var object, meta, annotations fields
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object["metadata"], &meta); err != nil {
		return nil, err
	}
	if text, has := meta["annotations"]; has {
		if err := json.Unmarshal(text, &annotations); err != nil {
			return nil, err
		}
	}
	if annotations[serial] != nil {
		return raw, nil
	}
	if annotations == nil {
		annotations = fields{}
	}
	annotations[serial] = json.RawMessage(strconv.Quote(strconv.FormatInt(s.last.Add(1), 10)))
	var err error
	if meta["annotations"], err = json.Marshal(annotations); err != nil {
		return nil, err
	}
	if object["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}
