package storage

import (
	"bytes"
	"context"
	"fmt"
)

// EachKey calls visit with all that a source has: the key, the prefix that it begins with, and the bytes, which are valid during the
// call only.
func EachKey(ctx context.Context, source Source, visit func(key, prefix string, value []byte) error) error {
	prefix := source.key() + "/"
	return source.each(ctx, prefix, func(key string, value []byte) error { return visit(key, prefix, value) }, func() error { return errCompacted })
}

// JSON returns a custom resource as JSON, which is how it is stored unless isCBOR. It fails if the bytes are encrypted.
func JSON(value []byte) (data []byte, isCBOR bool, err error) {
	switch {
	case bytes.HasPrefix(value, encrypted):
		return nil, false, fmt.Errorf("the API server stores it %w (%s)", errEncrypted, provider(value))
	case bytes.HasPrefix(value, cbor):
		if data, err = toJSON(value); err != nil {
			return nil, true, fmt.Errorf("it is not CBOR: %w", err)
		}
		return data, true, nil
	}
	return value, false, nil
}
