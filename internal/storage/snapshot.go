package storage

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	etcdversion "go.etcd.io/etcd/api/v3/version"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/version"
)

// snapshot is a file as `etcdctl snapshot save` writes it: a database with the SHA-256 of it behind.
type snapshot struct {
	file, prefix string

	// stretch is how many bytes of values are read before the file is opened again: what was read of it counts as memory while it is open.
	stretch int
}

// bucket is where etcd keeps all revisions of all keys.
const bucket = "key"

// sector is what the size of a database is a multiple of, in bytes. That is how a hash behind it shows.
const sector = 512

// OpenSnapshot opens a snapshot of etcd and makes sure that it is whole. The prefix is that of the keys of the API server, /registry
// if empty.
func OpenSnapshot(ctx context.Context, file, prefix string) (Source, error) {
	if err := whole(ctx, file); err != nil {
		return nil, fmt.Errorf("the snapshot %s %w", file, err)
	}
	s := &snapshot{file: file, prefix: prefix, stretch: 64 << 20}
	err := s.view(func(tx *bbolt.Tx) error {
		if tx.Bucket([]byte(bucket)) == nil {
			return fmt.Errorf("the snapshot %s is not an etcd database: it has no keys", file)
		}
		if saved := newer(tx); saved != "" {
			return fmt.Errorf("the snapshot %s is from etcd %s, and crdconform can read those of etcd %s and earlier; update crdconform", file, saved, etcdversion.APIVersion)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// view opens the database for a function that reads it.
func (s *snapshot) view(read func(*bbolt.Tx) error) error {
	db, err := bbolt.Open(s.file, 0o400, &bbolt.Options{ReadOnly: true, Timeout: time.Second})
	if err != nil {
		return fmt.Errorf("the snapshot %s is not an etcd database: %w", s.file, err)
	}
	return errors.Join(db.View(read), db.Close())
}

// newer returns the version of the format of a snapshot if it is newer than any known here: nobody knows what that has changed. Versions
// before 3.6 do not write it.
func newer(tx *bbolt.Tx) string {
	meta := tx.Bucket([]byte("meta"))
	if meta == nil {
		return ""
	}
	saved, err := version.ParseSemantic(string(meta.Get([]byte("storageVersion"))))
	known := version.MustParseSemantic(etcdversion.Version)
	if err != nil || saved.Major() < known.Major() || saved.Major() == known.Major() && saved.Minor() <= known.Minor() {
		return ""
	}
	return saved.String()
}

// whole returns an error unless a file ends with the SHA-256 of all that is before.
func whole(ctx context.Context, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("is not a regular file")
	}
	size := info.Size() - sha256.Size
	if size <= 0 || info.Size()%sector != sha256.Size {
		return errors.New("does not end with a SHA-256, as those of \"etcdctl snapshot save\" do: it is truncated, or a copy of the database of a member")
	}
	sum := sha256.New()
	if _, err = io.Copy(interruptible{ctx, sum}, io.LimitReader(file, size)); err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	want, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if string(want) != string(sum.Sum(nil)) {
		return errors.New("does not have the SHA-256 that it ends with: it is truncated or damaged; save another one")
	}
	return nil
}

// interruptible is a hash that stops with its context.
type interruptible struct {
	ctx context.Context //nolint:containedctx // io.Copy knows none
	hash.Hash
}

func (i interruptible) Write(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.Hash.Write(p)
}

func (s *snapshot) basis() Basis               { return Snapshot }
func (s *snapshot) Close() error               { return nil }
func (s *snapshot) key(names ...string) string { return keyBelow(s.prefix, names) }

func (s *snapshot) get(ctx context.Context, key string) ([]byte, error) {
	var found []byte
	err := s.latest(ctx, func(k string) bool { return k == key }, func(_ string, value []byte) error {
		found = append([]byte{}, value...)
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return found, err
}

// errFound ends a search.
var errFound = errors.New("found")

func (s *snapshot) each(ctx context.Context, prefix string, visit func(string, []byte) error, _ func() error) error {
	return s.latest(ctx, func(key string) bool { return strings.HasPrefix(key, prefix) }, visit)
}

// digest stands for a key, so that a million of them need little memory.
type digest [16]byte

// latest visits the latest revision of the keys that are wanted, unless they were deleted. Revisions are in their order, so the
// last is the first that is seen from the end.
func (s *snapshot) latest(ctx context.Context, wanted func(key string) bool, visit func(key string, value []byte) error) error {
	seen := map[digest]struct{}{}
	var from []byte
	for {
		var err error
		if from, err = s.some(ctx, from, seen, wanted, visit); err != nil || from == nil {
			return err
		}
	}
}

// some goes on with latest from a revision, or from the last if it is nil, for a stretch. It returns the revision to go on with, or nil
// at the end.
func (s *snapshot) some(ctx context.Context, from []byte, seen map[digest]struct{}, wanted func(string) bool, visit func(string, []byte) error) ([]byte, error) {
	var next []byte
	err := s.view(func(tx *bbolt.Tx) error {
		cursor, read := tx.Bucket([]byte(bucket)).Cursor(), 0
		k, v := cursor.Last()
		if from != nil {
			k, v = cursor.Seek(from)
		}
		for ; k != nil; k, v = cursor.Prev() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if read > s.stretch {
				next = bytes.Clone(k)
				return nil
			}
			read += len(v)
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(v, &kv); err != nil {
				return fmt.Errorf("revision %d: %w", revisionOf(k), err)
			}
			if !wanted(string(kv.GetKey())) {
				continue
			}
			sum := sha256.Sum256(kv.GetKey())
			known := digest(sum[:16])
			if _, again := seen[known]; again {
				continue
			}
			seen[known] = struct{}{}
			if isTombstone(k) {
				continue
			}
			if err := visit(string(kv.GetKey()), kv.GetValue()); err != nil {
				return err
			}
		}
		return nil
	})
	return next, err
}

// tombstone is what the revision of a deletion ends with, behind two numbers of eight bytes and an underscore.
const tombstone = 't'

func isTombstone(k []byte) bool { return len(k) == 18 && k[17] == tombstone }

func revisionOf(k []byte) uint64 {
	if len(k) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(k)
}
