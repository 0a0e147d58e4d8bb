package deployed

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/crdconform/crdconform/cluster"
)

const (
	// repository is what images are called that are made here. No registry has it.
	repository = "crdconform.dev/webhook"

	// nobody is the user that programs run as: neither root nor any user known to nodes.
	nobody = "65532:65532"
)

// Archive is an image to be loaded into nodes.
type Archive struct {
	Reference    string // name and tag
	Architecture string // of its programs, as Go and Kubernetes call it, such as amd64

	image v1.Image // made here; nil for one in a file
	file  string
}

// Build makes an image from scratch, whose entry point is a program with its first arguments. The program must be static and
// for Linux. It runs as user 65532, and can do so with a root that is read only; beside the program there is an empty folder
// /tmp for everybody. The same program and arguments make the same bytes, and others make another tag. The program is read
// again whenever the archive is written, so it must stay as it is.
func Build(program string, arguments ...string) (*Archive, error) {
	a, err := build(program, arguments)
	if err != nil {
		return nil, fmt.Errorf("image of %s: %w", program, err)
	}
	return a, nil
}

func build(program string, arguments []string) (*Archive, error) {
	architecture, err := inspect(program)
	if err != nil {
		return nil, err
	}
	content, err := layerOf(program)
	if err != nil {
		return nil, err
	}
	digest, err := content.DiffID()
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, content)
	if err != nil {
		return nil, err
	}
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS:           "linux",
		Architecture: architecture,
		Created:      v1.Time{Time: time.Unix(0, 0).UTC()},
		RootFS:       v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{digest}},
		Config: v1.Config{
			User:       nobody,
			WorkingDir: "/",
			Entrypoint: append([]string{"/" + filepath.Base(program)}, arguments...),
		},
	})
	if err != nil {
		return nil, err
	}
	id, err := image.ConfigName()
	if err != nil {
		return nil, err
	}
	return &Archive{Reference: repository + ":" + id.Hex[:16], Architecture: architecture, image: image}, nil
}

// OpenArchive returns an image from a file that `docker save` has written. The reference says which, when there are several; it
// may be empty for the only one. The file is read again whenever the archive is written.
func OpenArchive(file, reference string) (*Archive, error) {
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("image archive: %w", err)
	}
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, fmt.Errorf("image archive %s: not an archive written by docker save: %w", file, err)
	}
	tag, err := tagOf(manifest, reference)
	if err != nil {
		return nil, fmt.Errorf("image archive %s: %w", file, err)
	}
	image, err := tarball.Image(open, &tag)
	if err != nil {
		return nil, fmt.Errorf("image archive %s: %w", file, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("image archive %s: %w", file, err)
	}
	if config.OS != "linux" {
		return nil, fmt.Errorf("image archive %s: %s is for %s, but nodes run Linux", file, tag, config.OS)
	}
	return &Archive{Reference: tag.String(), Architecture: config.Architecture, file: file}, nil
}

// CheckImage says what is wrong with the name of an image, by itself.
func CheckImage(reference string) error {
	if _, err := name.ParseReference(reference); err != nil {
		return fmt.Errorf("%q is not an image name: %w", reference, err)
	}
	return nil
}

// SameImage reports whether two names are of the same image, such as a and docker.io/library/a:latest. Of names that are none, it is false.
func SameImage(one, other string) bool {
	a, err := name.ParseReference(one)
	b, wrong := name.ParseReference(other)
	return err == nil && wrong == nil && a.Name() == b.Name()
}

// tagOf returns the name of the image that is wanted of those in an archive.
func tagOf(manifest tarball.Manifest, reference string) (name.Tag, error) {
	var there []string
	for _, image := range manifest {
		there = append(there, image.RepoTags...)
	}
	switch {
	case len(there) == 0:
		return name.Tag{}, errors.New("the image in it has no name; save it by name, not by ID")
	case reference == "" && len(there) > 1:
		return name.Tag{}, unsaid([]string{"image"}, "it has several images, %s; say which", strings.Join(there, ", "))
	case reference == "":
		return name.NewTag(there[0])
	}
	wanted, err := name.NewTag(reference)
	if err != nil {
		return name.Tag{}, fmt.Errorf("%q is not an image name: %w", reference, err)
	}
	for _, one := range there {
		if tag, err := name.NewTag(one); err == nil && tag.Name() == wanted.Name() {
			return tag, nil
		}
	}
	return name.Tag{}, fmt.Errorf("it does not contain the image %s, only %s", reference, strings.Join(there, ", "))
}

// Write writes the image as `docker save` does.
func (a *Archive) Write(w io.Writer) error {
	if a.image == nil {
		return copyFile(w, a.file)
	}
	tag, err := name.NewTag(a.Reference)
	if err != nil {
		return err
	}
	if err := tarball.Write(tag, a.image, w); err != nil {
		return fmt.Errorf("image %s: %w", a.Reference, err)
	}
	return nil
}

func copyFile(to io.Writer, file string) error {
	from, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("image archive: %w", err)
	}
	defer from.Close() //nolint:errcheck // it was only read
	_, err = io.Copy(to, from)
	return err
}

// Open returns what Write writes, to be read and closed.
func (a *Archive) Open() io.ReadCloser {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(a.Write(writer)) }()
	return reader
}

// Load makes the image known to the nodes of a cluster. It fails when no node can run it, and when images cannot be loaded
// into such clusters.
func (a *Archive) Load(ctx context.Context, c cluster.Cluster) error {
	nodes, able := c.(cluster.Images)
	if !able {
		return fmt.Errorf("image %s: images cannot be loaded into a cluster of the kind %s; push one to a registry that its nodes can reach, and give its name instead", a.Reference, c.Name())
	}
	architectures, err := architectures(ctx, c)
	if err != nil {
		return fmt.Errorf("image %s: determining the architecture of the nodes: %w", a.Reference, err)
	}
	if len(architectures) > 0 && !slices.Contains(architectures, a.Architecture) {
		return a.foreign(architectures)
	}
	archive := a.Open()
	if err := errors.Join(nodes.LoadImage(ctx, archive), archive.Close()); err != nil {
		return fmt.Errorf("image %s: loading it into the nodes: %w", a.Reference, err)
	}
	return nil
}

// foreign says that no node can run the image.
func (a *Archive) foreign(architectures []string) error {
	of, remedy := "the image", "build it for those, or give another image"
	if a.image != nil {
		of, remedy = "the program", "build it with "+buildCommand(architectures[0])+", or give an image instead"
	}
	return fmt.Errorf("image %s: %s is for %s, but the nodes of the cluster are %s; %s", a.Reference, of, a.Architecture, strings.Join(architectures, " and "), remedy)
}

// architectures returns those of the nodes that take pods, sorted.
func architectures(ctx context.Context, c cluster.Cluster) ([]string, error) {
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []string
	for _, node := range nodes.Items {
		if !node.Spec.Unschedulable && node.Status.NodeInfo.Architecture != "" {
			found = append(found, node.Status.NodeInfo.Architecture)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// layerOf returns a file system with a program and an empty folder /tmp in it, in gzip without compression: it goes to a node on this machine or
// near it, and compressing a program takes longer than sending it.
func layerOf(program string) (v1.Layer, error) {
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		file, err := os.Open(program)
		if err != nil {
			return nil, err
		}
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(errors.Join(pack(writer, file), file.Close())) }()
		return reader, nil
	}, tarball.WithCompressionLevel(gzip.NoCompression))
}

func pack(to io.Writer, program *os.File) error {
	info, err := program.Stat()
	if err != nil {
		return err
	}
	archive := tar.NewWriter(to)
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR},
		{Typeflag: tar.TypeReg, Name: filepath.Base(program.Name()), Size: info.Size(), Mode: 0o555, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR},
	} {
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
	}
	if _, err := io.Copy(archive, program); err != nil {
		return err
	}
	return archive.Close()
}
