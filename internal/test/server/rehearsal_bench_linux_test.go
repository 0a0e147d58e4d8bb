package server_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/dump"
	"github.com/crdconform/crdconform/internal/rehearsal"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// gadget is an object of about a kilobyte, with managed fields.
func gadget(i int) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"gadget-%06d","namespace":"ns-%d","uid":"%08x-0000-4000-8000-000000000000","creationTimestamp":"2024-01-01T00:00:00Z","generation":1,`+
		`"managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"example.com/v1","time":"2024-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:text":{},"f:size":{}}}}]},"spec":{"size":%d,"text":"%s"}}`,
		i, i%10, i, i, strings.Repeat("x", 500))
}

// bigSnapshot writes a snapshot with as many gadgets, and other things until it has as many bytes.
func bigSnapshot(b *testing.B, objects, size int) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), "snapshot.db")
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	other := strings.Repeat("y", 8_000)
	for i, total := 0, 0; err == nil && (i < objects || total < size); {
		err = db.Update(func(tx *bbolt.Tx) error {
			keys, err := tx.CreateBucketIfNotExists([]byte("key"))
			if err != nil {
				return err
			}
			keys.FillPercent = 1
			for end := i + 1000; i < end; i++ {
				for sub, kv := range []*mvccpb.KeyValue{
					{Key: fmt.Appendf(nil, "/registry/example.com/gadgets/ns-%d/gadget-%06d", i%10, i), Value: []byte(gadget(i))},
					{Key: fmt.Appendf(nil, "/registry/configmaps/ns/%d", i), Value: []byte(other)},
				} {
					if sub == 0 && i >= objects || sub == 1 && total >= size {
						continue
					}
					data, err := proto.Marshal(kv)
					if err != nil {
						return err
					}
					total += len(data)
					if err := keys.Put(binary.BigEndian.AppendUint64(append(binary.BigEndian.AppendUint64(nil, uint64(i)), '_'), uint64(sub)), data); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	whole, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer whole.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, bufio.NewReader(whole)); err != nil {
		b.Fatal(err)
	}
	if _, err := whole.Write(sum.Sum(nil)); err != nil {
		b.Fatal(err)
	}
	return file
}

// usedSoFar is the processor time of this process, and the most memory that it had.
func usedSoFar(b *testing.B) (seconds, mib float64) {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds(), float64(usage.Maxrss) / (1 << 10)
}

// BenchmarkRehearsalSnapshot opens a snapshot of 1 GiB with 100,000 objects and restores them into a cluster whose etcd is in this process. It is
// meant for -benchtime 1x: the most memory is that since the process began. What is above an idle run is what is above an API server and
// an etcd that have nothing to do.
func BenchmarkRehearsalSnapshot(b *testing.B) {
	const objects, size = 100_000, 1 << 30
	file := bigSnapshot(b, objects, size)
	definitions, err := dump.Definitions(b.Context(), "-", strings.NewReader(gadgets))
	if err != nil {
		b.Fatal(err)
	}
	if err := embedded.LogTo(io.Discard); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		api, err := embedded.Start(b.Context(), embedded.Options{})
		if err != nil {
			b.Fatal(err)
		}
		release := rehearsal.Release{Name: "1.0", Definitions: definitions}
		idleSeconds, idle := usedSoFar(b)
		began := time.Now()
		read, err := rehearsal.NewObjects(b.TempDir(), definitions)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := read.Collect(b.Context(), file, dump.Options{}, nil); err != nil {
			b.Fatal(err)
		}
		if err := read.Complete(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-opened")
		openedSeconds, opened := usedSoFar(b)
		brought, err := rehearsal.Bring(b.Context(), &rehearsal.Plan{Way: rehearsal.Apply, Dir: b.TempDir()}, api, release, read)
		if err != nil {
			b.Fatal(err)
		}
		if brought != objects {
			b.Fatalf("%d objects", brought)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-restored")
		restoredSeconds, restored := usedSoFar(b)
		b.ReportMetric(openedSeconds-idleSeconds, "cpu-s-opened")
		b.ReportMetric(restoredSeconds-idleSeconds, "cpu-s-restored")
		b.ReportMetric(idle, "MiB-idle")
		b.ReportMetric(opened, "MiB-opened")
		b.ReportMetric(restored, "MiB-restored")
		if err := read.Close(); err != nil {
			b.Fatal(err)
		}
		if err := api.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
