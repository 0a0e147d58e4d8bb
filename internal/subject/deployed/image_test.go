package deployed

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// program is a file that looks like a program for Linux.
type program struct {
	machine     elf.Machine
	kind        elf.Type
	system      elf.OSABI
	interpreter string
	more        int // bytes after the headers
}

// bytes returns the program: its header, one segment that names the interpreter if there is one, and zeros.
func (p program) bytes(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	header := elf.Header64{
		Type: uint16(p.kind), Machine: uint16(p.machine), Version: uint32(elf.EV_CURRENT), Phoff: 64, Ehsize: 64, Phentsize: 56, Shentsize: 64,
	}
	copy(header.Ident[:], elf.ELFMAG)
	header.Ident[elf.EI_CLASS], header.Ident[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	header.Ident[elf.EI_VERSION], header.Ident[elf.EI_OSABI] = byte(elf.EV_CURRENT), byte(p.system)
	segment := elf.Prog64{Type: uint32(elf.PT_LOAD), Off: 64 + 56, Filesz: uint64(len(p.interpreter))}
	if p.interpreter != "" {
		segment.Type = uint32(elf.PT_INTERP)
	}
	header.Phnum = 1
	for _, part := range []any{header, segment} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	b.WriteString(p.interpreter)
	b.Write(make([]byte, p.more))
	return b.Bytes()
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func archive(t *testing.T, a *Archive) []byte {
	t.Helper()
	reader := a.Open()
	defer reader.Close()
	data, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestImage(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 392, 393, 1 << 20} { // up to the end of a block, and beyond
		content := program{machine: elf.EM_AARCH64, kind: elf.ET_EXEC, more: size}.bytes(t)
		file := write(t, filepath.Join(t.TempDir(), "webhook"), content)
		a, err := Build(file, "serve", "--fast")
		if err != nil {
			t.Fatal(err)
		}
		if a.Architecture != "arm64" || !strings.HasPrefix(a.Reference, "crdconform.dev/webhook:") {
			t.Errorf("it is %s for %s", a.Reference, a.Architecture)
		}
		data := archive(t, a)
		image, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Config.Entrypoint; !slices.Equal(got, []string{"/webhook", "serve", "--fast"}) {
			t.Errorf("the entry point is %q", got)
		}
		if config.OS != "linux" || config.Architecture != "arm64" || config.Config.User != "65532:65532" || !config.Created.Equal(time.Unix(0, 0)) {
			t.Errorf("the image is %+v", config)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		if want, err := layers[0].DiffID(); err != nil || config.RootFS.DiffIDs[0] != want {
			t.Errorf("the layer is %s, and the image has %v (%v)", want, config.RootFS.DiffIDs, err)
		}
		layer, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := tar.NewReader(layer)
		header, err := files.Next()
		if err != nil || header.Name != "tmp/" || header.Typeflag != tar.TypeDir || header.Mode != 0o1777 {
			t.Fatalf("the first is %+v, %v", header, err)
		}
		if header, err = files.Next(); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(files)
		if header.Name != "webhook" || header.Mode != 0o555 || err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %q with mode %o and %d bytes, %v", len(content), header.Name, header.Mode, len(got), err)
		}
		if _, err := files.Next(); err != io.EOF {
			t.Errorf("there is more: %v", err)
		}
	}
}

func TestImagesAreReproducible(t *testing.T) {
	t.Parallel()
	content := program{machine: elf.EM_X86_64, kind: elf.ET_DYN, more: 1000}.bytes(t)
	first, second := write(t, filepath.Join(t.TempDir(), "webhook"), content), write(t, filepath.Join(t.TempDir(), "webhook"), content)
	if err := os.Chtimes(second, time.Now(), time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(second, 0o700); err != nil {
		t.Fatal(err)
	}
	build := func(file string, arguments ...string) *Archive {
		a, err := Build(file, arguments...)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a, b := build(first, "serve"), build(second, "serve")
	if a.Reference != b.Reference || !bytes.Equal(archive(t, a), archive(t, b)) {
		t.Errorf("the same program makes %s and %s", a.Reference, b.Reference)
	}
	if other := build(first, "serve", "--port=1"); other.Reference == a.Reference {
		t.Error("another entry point makes the same tag")
	}
	write(t, second, append(content, 1))
	if other := build(second, "serve"); other.Reference == a.Reference {
		t.Error("another program makes the same tag")
	}
}

func TestProgramsThatMakeNoImage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := program{machine: elf.EM_X86_64, kind: elf.ET_EXEC}
	dynamic, bsd, object, odd := good, good, good, good
	dynamic.interpreter = "/lib64/ld-linux-x86-64.so.2\x00"
	bsd.system, object.kind, odd.machine = elf.ELFOSABI_FREEBSD, elf.ET_REL, elf.EM_VAX
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"dynamic": {dynamic.bytes(t), "it is dynamically linked and needs /lib64/ld-linux-x86-64.so.2, which an image of only the program lacks; build it with CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build, or give an image instead"},
		"bsd":     {bsd.bytes(t), "it is a program for a system other than Linux"},
		"object":  {object.bytes(t), "it is only a part of a program"},
		"vax":     {odd.bytes(t), "it is for an architecture that Kubernetes has no name for"},
		"macho":   {[]byte{0xcf, 0xfa, 0xed, 0xfe, 7, 0, 0, 1}, "it is a program for macOS, but nodes run Linux; build it with CGO_ENABLED=0 GOOS=linux go build"},
		"windows": {[]byte("MZ\x90\x00"), "it is a program for Windows"},
		"script":  {[]byte("#!/bin/sh\n"), "it is a script"},
		"empty":   {nil, "it is too short to be a program"},
		"text":    {[]byte("hello, world"), "not a program that Linux can run"},
	} {
		if a, err := Build(write(t, filepath.Join(dir, name), test.content)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, %v, want %q", name, a, err, test.want)
		}
	}
	if _, err := Build(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Build(dir); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Build(write(t, filepath.Join(dir, "good"), good.bytes(t))); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// TestOpenArchive has files read as docker save writes them.
func TestOpenArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var images []*Archive
	for _, machine := range []elf.Machine{elf.EM_AARCH64, elf.EM_X86_64} {
		a, err := Build(write(t, filepath.Join(dir, machine.String()), program{machine: machine, kind: elf.ET_EXEC}.bytes(t)))
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, a)
	}
	one := write(t, filepath.Join(dir, "one.tar"), archive(t, images[0]))
	several := filepath.Join(dir, "several.tar")
	tags := map[name.Tag]v1.Image{}
	for i, text := range []string{"widgets:dev", "localhost:5000/gadgets"} {
		tag, err := name.NewTag(text)
		if err != nil {
			t.Fatal(err)
		}
		tags[tag] = images[i].image
	}
	if err := tarball.MultiWriteToFile(several, tags); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ file, reference, want, architecture string }{
		{one, "", images[0].Reference, "arm64"},
		{one, images[0].Reference, images[0].Reference, "arm64"},
		{several, "widgets:dev", "widgets:dev", "arm64"},
		{several, "docker.io/library/widgets:dev", "widgets:dev", "arm64"},
		{several, "localhost:5000/gadgets:latest", "localhost:5000/gadgets:latest", "amd64"},
	} {
		a, err := OpenArchive(test.file, test.reference)
		if err != nil {
			t.Errorf("%s in %s: %v", test.reference, test.file, err)
			continue
		}
		if a.Reference != test.want || a.Architecture != test.architecture {
			t.Errorf("%s in %s is %s for %s", test.reference, test.file, a.Reference, a.Architecture)
		}
		if want, err := os.ReadFile(test.file); err != nil || !bytes.Equal(archive(t, a), want) {
			t.Errorf("%s is written otherwise, %v", test.file, err)
		}
	}
	for _, test := range []struct{ file, reference, want string }{
		{filepath.Join(dir, "none.tar"), "", "image archive: stat "},
		{write(t, filepath.Join(dir, "text.tar"), []byte("hello")), "", "not an archive written by docker save"},
		{several, "", "it has several images, "},
		{one, "widgets:dev", "it does not contain the image widgets:dev, only " + images[0].Reference},
		{one, "Widgets", "is not an image name"},
	} {
		if _, err := OpenArchive(test.file, test.reference); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s in %s: %v, want %q", test.reference, test.file, err, test.want)
		}
	}
}

func TestArchiveThatIsNotRead(t *testing.T) {
	t.Parallel()
	file := write(t, filepath.Join(t.TempDir(), "webhook"), program{machine: elf.EM_X86_64, kind: elf.ET_EXEC, more: 1 << 20}.bytes(t))
	a, err := Build(file)
	if err != nil {
		t.Fatal(err)
	}
	reader := a.Open()
	if _, err := reader.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(io.Discard); err == nil {
		t.Error("an archive of a program that is gone can be written")
	}
}
