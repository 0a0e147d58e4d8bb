package dump_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/dump"
)

// BenchmarkRead reads 100,000 objects of 1 kB from each source, and reports the largest heap, with garbage.
func BenchmarkRead(b *testing.B) {
	const objects = 100_000
	fill := strings.Repeat("x", 850)
	inJSON, inYAML, backup, stored := strings.Builder{}, strings.Builder{}, map[string]string{}, [][2]string{}
	inJSON.WriteString(`{"apiVersion":"v1","items":[`)
	inYAML.WriteString("apiVersion: v1\nitems:\n")
	for i := range objects {
		name := fmt.Sprintf("object-%06d", i)
		object := strings.Replace(widget("v1", name), "a ", fill, 1)
		if i > 0 {
			inJSON.WriteString(",")
		}
		inJSON.WriteString(object)
		inYAML.WriteString(strings.Replace(item(name), "# no comment", "# no comment"+strings.Repeat("\n      - "+fill[:70], 11), 1))
		backup["resources/widgets.example.com/namespaces/default/"+name+".json"] = object
		stored = append(stored, [2]string{"/registry/example.com/widgets/default/" + name, object})
	}
	inJSON.WriteString(`],"kind":"List"}`)
	inYAML.WriteString("kind: List\n")
	folder := b.TempDir()
	files := map[string]string{"JSON": filepath.Join(folder, "list.json"), "YAML": filepath.Join(folder, "list.yaml"), "tar.gz": filepath.Join(folder, "backup.tar.gz")}
	for name, data := range map[string]string{"JSON": inJSON.String(), "YAML": inYAML.String(), "tar.gz": zipped(b, archive(b, backup))} {
		if err := os.WriteFile(files[name], []byte(data), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	files["snapshot"] = snapshot(b, stored...)
	inJSON.Reset()
	inYAML.Reset()
	clear(backup)
	clear(stored)
	for _, name := range []string{"JSON", "YAML", "tar.gz", "snapshot"} {
		b.Run(name, func(b *testing.B) {
			var most atomic.Uint64
			done := make(chan struct{})
			go func() {
				sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
				for tick := time.Tick(5 * time.Millisecond); ; {
					select {
					case <-done:
						return
					case <-tick:
						metrics.Read(sample)
						most.Store(max(most.Load(), sample[0].Value.Uint64()))
					}
				}
			}()
			for b.Loop() {
				found := 0
				if _, err := dump.Read(b.Context(), files[name], widgets(), dump.Options{}, func(dump.Object) error { found++; return nil }); err != nil || found != objects {
					b.Fatal(found, err)
				}
			}
			close(done)
			b.ReportMetric(float64(most.Load())/(1<<20), "MiB-heap")
		})
	}
}
