package config

import (
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/shell"
)

// Rehearse configures the upgrade that "crdconform rehearse" rehearses, from the releases of old to crds and webhook.
type Rehearse struct {
	// Command lines of the programs that serve the webhooks of the old releases, one for each entry of old, quoted as in a shell.
	// {port}, {certs}, {host} and {kubeconfig} stand for the same as in webhook.command, whose dir, path, env and readyTimeout apply
	// here too. An entry is empty for a release without a webhook.
	Programs []string `json:"programs"`
	// Images of the webhooks of the old releases, one for each entry of old, instead of programs.
	Images []string `json:"images"`
	// Objects in the cluster: files as kubectl writes them, folders and archives of such files, Velero backups, or etcd snapshots. If
	// there are none, objects are generated.
	Objects []string `json:"objects"`
	// Kubeconfig context of a cluster to read the objects from. Nothing is written to that cluster.
	FromContext string `json:"fromContext"`
	// How to install definitions: apply, server-side or replace.
	Install string `json:"install"`
}

// rehearse checks the section rehearse.
func (k *checker) rehearse() {
	r := k.config.Rehearse
	k.names("rehearse.objects", r.Objects)
	for key, list := range map[string][]string{"rehearse.programs": r.Programs, "rehearse.images": r.Images} {
		k.unless(len(list) == 0 || len(list) <= max(len(k.config.Old), 1), key, "there are %d for %d old releases (%s); give one for each, the oldest first", len(list), len(k.config.Old), options.Key("old"))
	}
	for i := range r.Programs {
		words, err := shell.Split(r.Programs[i])
		k.unless(err == nil, options.Item("rehearse.programs", i), "%v; write it as in a shell", err)
		if len(words) > 0 && i < len(r.Images) {
			k.unless(r.Images[i] == "", options.Item("rehearse.images", i), "the release has a program as well (%s); give only one", options.Key("rehearse.programs"))
		}
	}
	install, _ := options.Of("rehearse.install")
	k.unless(r.Install == "" || slices.Contains(install.Values, r.Install), "rehearse.install", "unknown way %q (want %s)", r.Install, strings.Join(install.Values, ", "))
	k.unless(len(r.Objects) == 0 || r.FromContext == "", "rehearse.fromContext", "objects are given too (%s); give only one", options.Key("rehearse.objects"))
}
