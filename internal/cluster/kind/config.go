package kind

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/kindconfig"
)

// withoutWatchCache is a patch for kubeadm's configuration. Without an API version kind translates it for the one that the
// node's kubeadm reads.
const withoutWatchCache = `kind: ClusterConfiguration
apiServer:
  extraArgs:
    watch-cache: "false"
`

// configuration returns what kind is to make: the base, the user's configuration over it, and what the options say.
func configuration(options Options) (*v1alpha4.Cluster, error) {
	user, err := readConfig(options.ConfigFile)
	if err != nil {
		return nil, err
	}
	base, err := baseFor(options, user)
	if err != nil {
		return nil, err
	}
	c := laid(user, base)
	if len(c.Nodes) == 0 {
		c.Nodes = []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}}
	}
	for i := range c.Nodes {
		node := &c.Nodes[i]
		node.Labels = maps.Clone(node.Labels)
		if node.Labels == nil {
			node.Labels = map[string]string{}
		}
		node.Labels[cluster.RunLabel] = options.Run
		switch {
		case options.Image != "":
			node.Image = options.Image
		case node.Image == "" && len(base.Nodes) > 0:
			node.Image = base.Nodes[0].Image
		case node.Image == "":
			node.Image = defaults.Image
		}
	}
	if !options.WatchCache {
		c.KubeadmConfigPatches = append(c.KubeadmConfigPatches, withoutWatchCache)
	}
	return &c, nil
}

// readConfig reads a configuration of kind. Without a file it is empty.
func readConfig(path string) (v1alpha4.Cluster, error) {
	var c v1alpha4.Cluster
	if path == "" {
		return c, nil
	}
	raw, err := files.Read(path, files.Objects)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("kind configuration %s does not exist", path)
	}
	if err != nil {
		return c, fmt.Errorf("the kind configuration: %w", err)
	}
	var what v1alpha4.TypeMeta
	if err := yaml.Unmarshal(raw, &what); err != nil {
		return c, fmt.Errorf("the kind configuration %s is not YAML: %w", path, err)
	}
	if want := (v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"}); what != want {
		return c, fmt.Errorf("%s is not a kind configuration: it has the kind %q and the apiVersion %q (want %q and %q)", path, what.Kind, what.APIVersion, want.Kind, want.APIVersion)
	}
	if err := yaml.UnmarshalStrict(raw, &c); err != nil {
		return c, fmt.Errorf("the kind configuration %s cannot be read: %w", path, err)
	}
	return c, nil
}

// tagged finds the Kubernetes minor in the tag of an image.
var tagged = regexp.MustCompile(`:v(1\.\d+)\.[^:/]*$`)

// baseFor returns the configuration of the minor that is wanted, or an empty one where it is not known which that is.
func baseFor(options Options, user v1alpha4.Cluster) (v1alpha4.Cluster, error) {
	if options.Kubernetes != "" {
		config, err := kindconfig.For(options.Kubernetes)
		if err != nil {
			return v1alpha4.Cluster{}, err
		}
		if of := tagged.FindStringSubmatch(withoutDigest(options.Image)); of != nil && of[1] != config.Minor {
			return v1alpha4.Cluster{}, fmt.Errorf("the tag of the image %s says Kubernetes %s, but the configuration is for %s; leave one of them out", options.Image, of[1], config.Minor)
		}
		return config.Cluster, nil
	}
	image := options.Image
	for _, node := range user.Nodes {
		if image == "" {
			image = node.Image
		}
	}
	all, err := kindconfig.All()
	if err != nil {
		return v1alpha4.Cluster{}, err
	}
	if image == "" {
		return all[len(all)-1].Cluster, nil
	}
	found := tagged.FindStringSubmatch(withoutDigest(image))
	if found == nil {
		return v1alpha4.Cluster{}, nil
	}
	for _, config := range all {
		if config.Minor == found[1] {
			return config.Cluster, nil
		}
	}
	return v1alpha4.Cluster{}, nil
}

// digest ends a reference to an image that names its contents.
var digest = regexp.MustCompile(`@sha256:[0-9a-f]+$`)

func withoutDigest(image string) string { return digest.ReplaceAllString(image, "") }

// laid returns a configuration laid over another. Of maps and patches it has those of both, and where both have a key the
// upper one counts.
func laid(upper, base v1alpha4.Cluster) v1alpha4.Cluster {
	c := upper
	c.TypeMeta = v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"}
	if len(c.Nodes) == 0 {
		c.Nodes = slices.Clone(base.Nodes)
	}
	c.FeatureGates = merged(base.FeatureGates, upper.FeatureGates)
	c.RuntimeConfig = merged(base.RuntimeConfig, upper.RuntimeConfig)
	c.KubeadmConfigPatches = slices.Concat(base.KubeadmConfigPatches, upper.KubeadmConfigPatches)
	c.KubeadmConfigPatchesJSON6902 = slices.Concat(base.KubeadmConfigPatchesJSON6902, upper.KubeadmConfigPatchesJSON6902)
	c.ContainerdConfigPatches = slices.Concat(base.ContainerdConfigPatches, upper.ContainerdConfigPatches)
	c.ContainerdConfigPatchesJSON6902 = slices.Concat(base.ContainerdConfigPatchesJSON6902, upper.ContainerdConfigPatchesJSON6902)
	return c
}

func merged[V any](base, upper map[string]V) map[string]V {
	both := maps.Clone(base)
	if both == nil {
		both = map[string]V{}
	}
	maps.Copy(both, upper)
	return both
}
