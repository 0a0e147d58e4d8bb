// Package dump reads the objects and definitions that users have, from whatever they have them in: what kubectl wrote, folders and
// archives of that, a backup of Velero, a snapshot of etcd, a cluster, or a repository of git. It keeps one object in memory at a time,
// unpacks nothing to disk, and writes to no cluster.
package dump

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/files"
)

// Object is an object that a user has.
type Object struct {
	Group, Version, Kind string
	Namespace, Name      string

	// JSON is the object, without needless space. The receiver may keep it.
	JSON []byte

	// Stored reports that JSON is what etcd has, which no API server converted or completed by defaults.
	Stored bool

	// Generated reports that it is from no cluster, so that nobody has applied it.
	Generated bool

	// From is where it was found: a file and a line, with the number of the item in a list, or the key in etcd.
	From string
}

// Options are how to read, and how much of it.
type Options struct {
	Stdin  io.Reader // what the source - is
	Prefix string    // of the keys in a snapshot; /registry if empty

	// Definitions says that definitions are wanted too, for their status. They do not count as objects.
	Definitions bool

	Objects     int   // that are wanted, at most; 200,000 if 0
	ObjectBytes int64 // of an object as it is written, at most; 8 MiB if 0
	Bytes       int64 // of all that is read, when it is decompressed, at most; 4 GiB if 0
}

// What is read at most by default. An object has 1.5 MiB at most in etcd, and needs several times that when it is indented.
const (
	mostObjects     = 200_000
	mostObjectBytes = 8 << 20
	mostBytes       = 4 << 30
)

// Summary is what a source has.
type Summary struct {
	// Objects is the number of those that were wanted.
	Objects map[schema.GroupVersionKind]int

	// Others is the number of other objects by their kind and group, such as Deployment.apps. Of a snapshot it has all that is in
	// etcd, by resource, such as pods.
	Others map[string]int

	// CBOR is the number of those that were wanted that etcd has as CBOR, so that JSON is not byte for byte what is stored.
	CBOR int
}

// Read calls visit with each object of some definitions in a source. That is a file, compressed by gzip or not: YAML or JSON as
// kubectl writes it, an archive of tar with such files, as backups of Velero are, or a snapshot of etcd. It may be a folder with files
// of YAML and JSON, or - for standard input. Objects of other kinds are counted.
//
// It fails if there is no object of any of the definitions, if there are two of the same name, and if something is damaged or too large.
// Visit may have been called before.
func Read(ctx context.Context, source string, definitions []apiextensionsv1.CustomResourceDefinition, options Options, visit func(Object) error) (Summary, error) {
	c := newCollector(options, visit)
	for i := range definitions {
		c.wants(definitions[i].Spec.Group, definitions[i].Spec.Names.Kind)
	}
	if options.Definitions {
		c.also = schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
	}
	if err := c.source(ctx, source, definitions); err != nil {
		return c.summary, err
	}
	return c.summary, c.found(source)
}

func (c *collector) source(ctx context.Context, source string, definitions []apiextensionsv1.CustomResourceDefinition) error {
	if source == "-" {
		return c.standardInput(ctx)
	}
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return c.folder(ctx, source)
	}
	if info.Mode().IsRegular() {
		is, err := isSnapshot(source)
		if err != nil {
			return err
		}
		if is {
			return c.snapshot(ctx, source, definitions)
		}
	}
	return c.file(ctx, source)
}

// standardInput reads standard input until its end, or until the context is done. Nothing else ends a read from a terminal.
func (c *collector) standardInput(ctx context.Context) error {
	if c.options.Stdin == nil {
		return errors.New("there is no standard input to read; give a file instead of -")
	}
	out, in := io.Pipe()
	defer context.AfterFunc(ctx, func() { out.CloseWithError(ctx.Err()) })()
	defer func() { _ = out.Close() }() // it never fails
	go func() {
		_, err := io.Copy(in, c.options.Stdin)
		in.CloseWithError(err) // nil is the end
	}()
	return c.stream(ctx, "standard input", out)
}

// file reads a file that is no snapshot.
func (c *collector) file(ctx context.Context, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	return c.stream(ctx, name, file)
}

// What the pages of the database of etcd begin with: 16 bytes of their own, and on the first page this number.
const (
	bboltHeader = 16
	bboltMagic  = 0xED0CDAED
)

func isBolt(head []byte) bool {
	return len(head) >= bboltHeader+4 && binary.LittleEndian.Uint32(head[bboltHeader:]) == bboltMagic
}

// isSnapshot reports whether a file is a database of etcd.
func isSnapshot(name string) (bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }() // it was only read
	var head bytes.Buffer
	if _, err := io.CopyN(&head, file, bboltHeader+4); err != nil && err != io.EOF { //nolint:errorlint // CopyN returns it as it is
		return false, err
	}
	return isBolt(head.Bytes()), nil
}
