package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/load/profiles"
	"github.com/crdconform/crdconform/internal/options"
)

// skeleton returns a configuration file for definitions, whose files it names by entries.
func skeleton(entries, samples []string, all []definition) string {
	var b strings.Builder
	b.WriteString("# yaml-language-server: $schema=" + SchemaURL + "\n")
	b.WriteString("# Configuration of crdconform. \"crdconform config view\" shows the settings in force, with all defaults.\n")
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\n\n", APIVersion, Kind)
	b.WriteString("# Files with definitions, relative to this one: names, patterns such as *.yaml, or folders.\n")
	for _, d := range all {
		fmt.Fprintf(&b, "#   %s: %s\n", oneLine(d.Name), oneLine(d.versions()))
	}
	b.WriteString("crds:\n")
	for _, entry := range entries {
		fmt.Fprintf(&b, "  - %s\n", scalar(entry))
	}
	b.WriteString(`
# Definitions of earlier releases, whose objects may be in storage: folders, or revisions of this repository.
# old:
#   - git://v1.0.0:config/crd/bases

# Custom resources to convert in addition to generated ones, whose texts take the form of theirs.
`)
	if len(samples) == 0 {
		b.WriteString("# samples:\n#   - config/samples/*.yaml\n")
	} else {
		b.WriteString("samples:\n")
	}
	for _, entry := range samples {
		fmt.Fprintf(&b, "  - %s\n", scalar(entry))
	}
	b.WriteString("\n")
	b.WriteString(webhookGuess(all))
	b.WriteString(remainder())
	return b.String()
}

// oneLine puts text on one line, so that it cannot end a comment.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const commandHint = `  # A program to start here instead. {certs} is a folder with tls.crt and tls.key, {port} the port to serve at.
  # command:
  #   args: [./bin/manager, "--webhook-cert-path={certs}"]
  #   path: /convert
`

// webhookGuess returns the section webhook, guessed from spec.conversion of the definitions.
func webhookGuess(all []definition) string {
	var urls, forwards []string
	trusted := true
	for _, d := range all {
		client := d.client()
		if client == nil {
			continue
		}
		trusted = trusted && len(client.CABundle) > 1
		if client.URL != nil {
			urls = append(urls, *client.URL)
		}
		if s := client.Service; s != nil {
			port := int32(443)
			if s.Port != nil {
				port = *s.Port
			}
			forwards = append(forwards, fmt.Sprintf("kubectl port-forward -n %s service/%s 9443:%d", cmp.Or(s.Namespace, "NAMESPACE"), cmp.Or(s.Name, "NAME"), port))
		}
	}
	slices.Sort(urls)
	slices.Sort(forwards)
	urls, forwards = slices.Compact(urls), slices.Compact(forwards)
	ca := ""
	if !trusted {
		ca = "  # A definition has no caBundle. This is the file with the certificates to verify the webhook.\n  # caFile: ca.crt\n"
	}
	const head = "# The webhook: one of url, fromCRD, command, inCluster and reference.\n"
	switch {
	case len(forwards) > 0:
		return head + "webhook:\n" + fromService(forwards) + ca + commandHint
	case len(urls) == 1 && checkURL(urls[0]) == nil:
		return head + "webhook:\n  url: " + scalar(urls[0]) + "\n" +
			"  # Certificates to verify it, in PEM; default: those of the system.\n  # caFile: ca.crt\n" + commandHint
	case len(urls) > 0:
		return head + "webhook:\n  # Where each definition says.\n  fromCRD: {}\n" + ca + commandHint
	}
	return head + `# These definitions name none, so say here where yours is.
# webhook:
#   url: https://localhost:9443/convert
#   caFile: ca.crt
` + "# Or a program to start:\n# webhook:\n#   command:\n#     args: [./bin/manager, \"--webhook-cert-path={certs}\"]\n"
}

// fromService returns the section webhook for services that are reached through port forwarding.
func fromService(forwards []string) string {
	var b strings.Builder
	b.WriteString("  # The service that the definitions name, reached through\n")
	for _, line := range forwards {
		fmt.Fprintf(&b, "  #   %s\n", oneLine(line))
	}
	if len(forwards) > 1 {
		b.WriteString("  # There are several services: check the definitions of one at a time, or run inside of the cluster without an address.\n")
	}
	b.WriteString("  fromCRD:\n    address: localhost:9443\n")
	return b.String()
}

// remainder returns the other sections, commented out.
func remainder() string {
	batch, _ := profiles.Named("batch")
	objects, _ := options.Of("generate.objects")
	return fmt.Sprintf(`
# Fields that conversions are known to lose, each with everything below it.
# lossy:
#   - path: spec.legacy[*].mode
#     kind: Widget
#     reason: the field was removed on purpose

# Fields that both versions have and that have other values, or another place, at the other version.
# renamedValues:
#   - path: spec.timeout
#     reason: seconds in v1, milliseconds in v2
# moved:
#   - path: spec.host
#     into: spec.internalHost
#     reason: v2 names the external host in spec.host

# Requirements that are known to fail. One that passes fails the run.
# knownFailing:
#   - id: webhook.response.uid
#     reason: issue 12

# Requirements that pass in some runs and fail in others. Both are reported, and neither fails the run.
# knownFlaky:
#   - id: webhook.response.in-time
#     reason: issue 13

# Objects generated for each version; with a seed, the same ones in every run.
# generate:
#   objects: %d
#   seed: 0

# The upgrade that "crdconform rehearse" rehearses, from old to crds: the old webhooks, and the objects of a cluster.
# rehearse:
#   programs: ["./manager-v1.0 --webhook-port={port} --webhook-cert-path={certs}"]
#   objects: [cluster-dump.yaml]

# What "crdconform disrupt" allows: no error in a rollout, and 5 s to recover after a restart.
# disrupt:
#   objectives: [rolling, restart.recovery=5s]

# A load test. Profiles are %s: "crdconform load --help".
# load:
#   profile: %s
#   batches: [1, 10, 100]
#   bytes: %v
#   rates: %v
#   duration: 10s

# Limits for each of its stages: those that Kubernetes expects of conversion webhooks, and your own.
# objectives:
#   presets: [kep]
#   p99.9: 2s
#   errors: 0
`, objects.Default, strings.Join(profiles.Names(), ", "), batch.Name, batch.Bytes, batch.Rates)
}
