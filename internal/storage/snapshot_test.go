package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// TestSnapshotInStretches reads a snapshot at once, and as if each value were more than fits into memory.
func TestSnapshotInStretches(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "snapshot.db")
	db, err := bbolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		keys, err := tx.CreateBucket([]byte(bucket))
		if err != nil {
			return err
		}
		for revision := range uint64(30) { // of ten keys, the last of which is deleted
			value, err := proto.Marshal(&mvccpb.KeyValue{Key: fmt.Appendf(nil, "/registry/%d", revision%10), Value: fmt.Appendf(nil, "value %d", revision)})
			if err != nil {
				return err
			}
			k := append(binary.BigEndian.AppendUint64(nil, revision+1), '_')
			k = binary.BigEndian.AppendUint64(k, 0)
			if revision == 29 {
				k = append(k, tombstone)
			}
			if err := keys.Put(k, value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if err := os.WriteFile(file, append(data, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(stretch int) (all []string) {
		source, err := OpenSnapshot(t.Context(), file, "")
		if err != nil {
			t.Fatal(err)
		}
		opened, is := source.(*snapshot)
		if !is {
			t.Fatal("it is no snapshot")
		}
		opened.stretch = stretch
		err = opened.each(t.Context(), "", func(key string, value []byte) error { all = append(all, key+" "+string(value)); return nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	whole, parts := read(1<<30), read(1)
	if len(whole) != 9 || whole[0] != "/registry/8 value 28" || !slices.Equal(whole, parts) {
		t.Errorf("read at once, there are %q, and %q read in stretches", whole, parts)
	}
}
