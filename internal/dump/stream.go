package dump

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/crdconform/crdconform/internal/manifest"
)

// errTooMuch says that more would be read than may be.
var errTooMuch = errors.New("too much")

// bounded stops with its context, and when more was read than may be.
type bounded struct {
	ctx  context.Context //nolint:containedctx // readers know none
	r    io.Reader
	left *int64
}

func (b bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}

// unreadable says what is wrong with a file.
func (c *collector) unreadable(name string, err error) error {
	at := place{file: name}
	switch {
	case errors.Is(err, errTooMuch):
		return fmt.Errorf("%s: there are more than %d MiB to read when all is decompressed; give less at a time", at, c.options.Bytes>>20)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: it is cut off; get a complete one", at)
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, tar.ErrHeader):
		return fmt.Errorf("%s: it is damaged (%w); get another one", at, err)
	}
	return err
}

// head is how many bytes show the format of a file: the magic of tar comes last.
const (
	head      = 512
	tarMagic  = "ustar"
	tarOffset = 257
)

var gzipMagic = []byte{0x1f, 0x8b}

// stream reads a file that is no snapshot.
func (c *collector) stream(ctx context.Context, name string, r io.Reader) error {
	in := bufio.NewReaderSize(bounded{ctx, r, &c.left}, buffered)
	if start, err := in.Peek(len(gzipMagic)); err == nil && bytes.Equal(start, gzipMagic) {
		zip, err := gzip.NewReader(in)
		if err != nil {
			return c.unreadable(name, err)
		}
		in = bufio.NewReaderSize(bounded{ctx, zip, &c.left}, buffered)
	}
	start, err := in.Peek(head)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return c.unreadable(name, err)
	case len(start) == head && strings.HasPrefix(string(start[tarOffset:]), tarMagic):
		return c.archive(name, in)
	case isBolt(start):
		return fmt.Errorf("%s: this is a snapshot of etcd, which has to be a file that is not compressed", place{file: name})
	}
	return c.text(name, in)
}

// buffered is how much is read at once, in bytes.
const buffered = 64 << 10

// text reads YAML or JSON. PowerShell writes it in UTF-16.
func (c *collector) text(name string, in *bufio.Reader) error {
	start, _ := in.Peek(head) // what is wrong shows when it is read
	for _, mark := range []string{"\xef\xbb\xbf", "\xfe\xff", "\xff\xfe"} {
		if strings.HasPrefix(string(start), mark) {
			in = bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(transform.Nop)), buffered)
			start = nil
		}
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return fmt.Errorf("%s: it is neither YAML, JSON, an archive of tar, nor a snapshot of etcd", place{file: name})
	}
	d := &documents{collector: c, file: name, in: in, line: 1}
	return c.unreadable(name, d.read())
}

// archive reads the files of YAML and JSON in an archive.
func (c *collector) archive(name string, r io.Reader) error {
	archive := tar.NewReader(r)
	inside, files := bufio.NewReaderSize(nil, buffered), 0
	for {
		entry, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return c.unreadable(name, err)
		}
		if entry.Typeflag != tar.TypeReg || !readable(entry.Name) {
			continue
		}
		files++
		if isCopy(entry.Name) {
			continue
		}
		inside.Reset(archive)
		if err := c.text(name+" "+path.Clean(entry.Name), inside); err != nil {
			return err
		}
	}
	if files == 0 {
		return fmt.Errorf("%s: the archive has no .yaml, .yml or .json file", place{file: name})
	}
	return nil
}

// folder reads the files of YAML and JSON in a folder and below it, in the order of their names.
func (c *collector) folder(ctx context.Context, folder string) error {
	files, err := manifest.Below(folder, readable)
	if err == nil && len(files) == 0 {
		return fmt.Errorf("there is no .yaml, .yml or .json file in %s", folder)
	}
	for _, name := range files {
		if inside, unrelated := filepath.Rel(folder, name); unrelated == nil && isCopy(filepath.ToSlash(inside)) {
			continue
		}
		if err = c.file(ctx, name); err != nil {
			return err
		}
	}
	return err
}

// readable reports whether a file is of YAML or JSON, by its name.
func readable(name string) bool {
	return manifest.IsFile(strings.TrimSuffix(name, ".gz"))
}

// isCopy reports whether a file of a backup of Velero has an object that another file has, too. An object is in
// resources/RESOURCE.GROUP/namespaces/NAMESPACE/NAME.json or resources/RESOURCE.GROUP/cluster/NAME.json at the version that the API
// server prefers, and at each version again in a folder between, such as v1-preferredversion.
func isCopy(name string) bool {
	parts := strings.Split(path.Clean(name), "/")
	i := slices.Index(parts, "resources")
	scope := func(n int) bool { return parts[n] == "namespaces" || parts[n] == "cluster" }
	return i >= 0 && len(parts) > i+4 && !scope(i+2) && scope(i+3)
}
