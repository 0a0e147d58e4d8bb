package rehearsal

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/crdconform/crdconform/internal/kube"
)

// book has what objects show at versions, in a file. In memory it has their names, and 24 bytes for each object and version.
type book struct {
	file  *os.File
	out   *bufio.Writer
	end   int64
	names []string       // sorted until open
	ids   map[string]int // by name
	pages map[page][]place
}

// page is what objects show at a version at some time.
type page struct {
	when    string // before or after the upgrade
	version string
}

// When objects were looked at.
const (
	before = "before" // the upgrade
	after  = "after"  // it
)

// place is where in the file something is. The hash is 0 where there is nothing.
type place struct {
	offset int64
	length int32
	hash   uint64
}

// newBook returns a book of objects with these names, sorted.
func newBook(dir string, names []string) (*book, error) {
	file, err := os.OpenFile(filepath.Join(dir, "book-"+uuid.NewString()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	b := &book{file: file, out: bufio.NewWriterSize(file, 1<<18), names: names, ids: make(map[string]int, len(names)), pages: map[page][]place{}}
	for i, name := range names {
		b.ids[name] = i
	}
	return b, nil
}

// add adds a name.
func (b *book) add(name string) {
	if _, known := b.ids[name]; known {
		return
	}
	b.ids[name] = len(b.names)
	b.names = append(b.names, name)
}

// enter enters what an object shows.
func (b *book) enter(at page, object *unstructured.Unstructured) error {
	id, known := b.ids[keyOf(object)]
	if !known {
		return nil // it is somebody else's
	}
	raw, hash, err := encode(object.Object)
	if err != nil {
		return err
	}
	for len(b.pages[at]) <= id {
		b.pages[at] = append(b.pages[at], make([]place, len(b.names)-len(b.pages[at]))...)
	}
	b.pages[at][id] = place{b.end, int32(len(raw)), hash}
	b.end += int64(len(raw))
	_, err = b.out.Write(raw)
	return err
}

// known reports whether something was entered for an object.
func (b *book) known(at page, name string) bool { return b.placeOf(at, name).hash != 0 }

// has reports whether anything was entered for a version.
func (b *book) has(at page) bool { return len(b.pages[at]) > 0 }

func (b *book) placeOf(at page, name string) place {
	id, known := b.ids[name]
	if !known || id >= len(b.pages[at]) {
		return place{}
	}
	return b.pages[at][id]
}

// differs returns what was entered for an object if the object is not the same now; nil if it is, or if nothing was entered.
func (b *book) differs(at page, object *unstructured.Unstructured) (map[string]any, error) {
	p := b.placeOf(at, keyOf(object))
	if p.hash == 0 {
		return nil, nil
	}
	_, hash, err := encode(object.Object)
	if err != nil || hash == p.hash {
		return nil, err
	}
	return b.at(p)
}

func (b *book) at(p place) (map[string]any, error) {
	if err := b.out.Flush(); err != nil {
		return nil, err
	}
	raw := make([]byte, p.length)
	if _, err := io.ReadFull(io.NewSectionReader(b.file, p.offset, int64(p.length)), raw); err != nil {
		return nil, fmt.Errorf("reading what an object was: %w", err)
	}
	var object map[string]any
	return object, kjson.UnmarshalCaseSensitivePreserveInts(raw, &object)
}

// close removes the file.
func (b *book) close() error {
	if b == nil {
		return nil
	}
	if err := b.file.Close(); err != nil {
		return err
	}
	return os.Remove(b.file.Name())
}

func keyOf(object *unstructured.Unstructured) string {
	return kube.Key(object.GetNamespace(), object.GetName())
}
