package config

import (
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Option is something that a user can say: by a key of the file, and perhaps by a flag.
type Option struct {
	Key      string   // such as webhook.timeout; load.pairs[0].from for a flag that gives one item of a list
	Default  any      // what holds where nobody says anything; nil for the zero value
	Implied  bool     // whether a Config has the zero value for the default
	Flag     string   // such as timeout; nothing when there is none
	Commands []string // that take the flag
	Help     string   // of the flag
	Files    bool     // whether the value names files
	Whole    bool     // whether a comma is a part of a value, so that several values take a flag each
}

// The commands that take flags for options.
const (
	check = "check"
	load  = "load"
	run   = "run"
)

// Options returns all options that have a flag or a default: each is declared here and nowhere else. The other keys of the file
// are those of Config.
func Options() []Option {
	return slices.Concat(commonOptions(), webhookOptions(), inClusterOptions(), loadOptions())
}

// commonOptions say what is converted, what is checked, and where the reports go.
func commonOptions() []Option {
	subject := []string{check, load}
	return []Option{
		{Key: "crds", Flag: "crd", Commands: subject, Files: true, Help: "files with CustomResourceDefinitions, patterns such as '*.yaml', or folders"},
		{Key: "samples", Flag: "samples", Commands: subject, Files: true, Help: "files with custom resources to convert; same syntax as --crd"},
		{
			Key: "redact", Flag: "redact", Commands: subject, Whole: true,
			Help: "path in samples whose letters and digits are masked before any use, such as spec.password, spec.users[*].token or spec.tokens.*; can be repeated",
		},
		{Key: "filter", Flag: "filter", Commands: []string{check, run}, Help: "check only these requirements: IDs, prefixes of IDs such as storage or storage.update, or patterns such as *.uid"},
		{Key: "skip", Flag: "skip", Commands: []string{check, run}, Help: "skip these requirements; same syntax as --filter"},
		{Key: "strict", Flag: "strict", Commands: []string{check, run}, Help: "treat Tolerated as Failed"},
		{
			Key: "cluster", Default: Embedded, Flag: "cluster", // the flags about clusters are bound together
			Help: "API server to check: embedded (in this process), kind (a cluster created for the run), envtest (kube-apiserver and etcd as programs) or existing",
		},
		{Key: "generate.objects", Default: 50, Flag: "objects", Commands: []string{check}, Help: "objects to generate for each version; 0 uses samples only"},
		{Key: "generate.seed", Flag: "seed", Commands: []string{check, load, run}, Help: "seed of all random choices, to repeat a run; 0 picks a new one"},
		{Key: "reportDir", Default: "crdconform-report", Flag: "report-dir", Commands: []string{check, load, run}, Files: true, Help: "folder for the reports"},
	}
}

// webhookOptions say where the webhook is, or how to start it, and how to talk to it.
func webhookOptions() []Option {
	subject := []string{check, load}
	return []Option{
		{Key: "webhook.fromCRD", Flag: "from-crd", Commands: subject, Help: "take the webhook and its certificates from spec.conversion of each definition"},
		{Key: "webhook.fromCRD.address", Flag: "address", Commands: subject, Help: "with --from-crd: host:port at which the service can be reached from here, for example through kubectl port-forward"},
		{Key: "webhook.command.dir", Default: "."},
		{Key: "webhook.command.path", Default: "/convert", Flag: "path", Commands: subject, Help: "URL path that a PROGRAM serves"},
		{Key: "webhook.command.readyTimeout", Default: Duration{time.Minute}},
		{Key: "webhook.caFile", Flag: "ca-file", Commands: subject, Files: true, Help: "certificates to verify the webhook, in PEM; default: those of the system"},
		{
			Key: "webhook.serverName", Flag: "server-name", Commands: subject,
			Help: "name to verify the webhook's certificate against, such as SERVICE.NAMESPACE.svc; default: the host of the URL",
		},
		{Key: "webhook.clientCertificate.certFile", Flag: "client-cert", Commands: subject, Files: true, Help: "client certificate for a webhook that requires one, in PEM"},
		{Key: "webhook.clientCertificate.keyFile", Flag: "client-key", Commands: subject, Files: true, Help: "private key of --client-cert, in PEM"},
		{Key: "webhook.http2", Flag: "http2", Commands: subject, Help: "use HTTP/2, as API servers do for URLs on localhost; default: HTTP/1.1"},
		{Key: "webhook.timeout", Default: Duration{30 * time.Second}, Flag: "timeout", Commands: subject, Help: "how long to wait for a response; API servers wait for 30s"},
	}
}

// inClusterOptions say which webhook to deploy as pods of the cluster.
func inClusterOptions() []Option {
	deploying := []string{check, run}
	return []Option{
		{
			Key: "webhook.inCluster.image", Flag: "webhook-image", Commands: deploying,
			Help: "kind, existing: image of a webhook to deploy and check, such as widgets:dev; kind nodes get it from Docker if it is there",
		},
		{
			Key: "webhook.inCluster.archive", Flag: "webhook-image-archive", Commands: deploying, Files: true,
			Help: "kind: file with that image, as written by docker save, to load into the nodes",
		},
		{
			Key: "webhook.inCluster.manifests", Flag: "webhook-manifests", Commands: deploying, Files: true,
			Help: "kind, existing: files, folders or a kustomization that deploy the webhook, instead of the objects created for an image",
		},
		{
			Key: "webhook.inCluster.service", Flag: "webhook-service", Commands: deploying,
			Help: "NAME or NAMESPACE/NAME of its service: one of the manifests, or the name for a new one; default: webhook, in a namespace of the run",
		},
		{
			Key: "webhook.inCluster.port", Flag: "webhook-port", Commands: deploying,
			Help: "port of its service; default: that of a definition among the manifests, or 443",
		},
		{Key: "webhook.inCluster.targetPort", Flag: "webhook-target-port", Commands: deploying, Help: "port that --webhook-image listens on; default: 9443"},
		{
			Key: "webhook.inCluster.path", Flag: "webhook-path", Commands: deploying,
			Help: "URL path; default: that of a definition among the manifests, or /convert",
		},
		{Key: "webhook.inCluster.replicas", Flag: "webhook-replicas", Commands: deploying, Help: "pods of --webhook-image; default: 1"},
		{Key: "webhook.inCluster.secret", Flag: "webhook-secret", Commands: deploying, Help: "Secret that the pods of the manifests mount, to store a certificate in"},
		{
			Key: "webhook.inCluster.caSecret", Flag: "webhook-ca-secret", Commands: deploying,
			Help: "Secret with the authority of the certificate that the manifests bring, under ca.crt or tls.crt; default: the caBundle of their definitions",
		},
	}
}

// loadOptions say what load is sent, and what it has to keep.
func loadOptions() []Option {
	sends := []string{load}
	return []Option{
		{Key: "load.profile", Default: constantProfile, Implied: true, Flag: "profile", Commands: sends, Help: "what to send; see above"},
		{Key: "load.rates", Flag: "rate", Commands: sends, Help: "requests per second"},
		{Key: "load.batches", Flag: "batch", Commands: sends, Help: "objects per request; API servers were observed to send one"},
		{Key: "load.bytes", Flag: "bytes", Commands: sends, Help: "minimum size of an object in bytes; smaller ones get an annotation"},
		{Key: "load.clients", Flag: "clients", Commands: sends, Help: "clients that send the next request when they have a response, in the profiles apiserver and relist"},
		{Key: "load.duration", Flag: "duration", Commands: sends, Help: "how long each stage sends"},
		{
			Key: "load.objects", Flag: "relist-objects", Commands: sends,
			Help: "objects of the profile relist, and in the API server with --through-api-server",
		},
		{
			Key: "load.pairs[0].from", Flag: "from", Commands: sends,
			Help: "version of the objects to send, with --to; default: a version that has objects",
		},
		{Key: "load.pairs[0].to", Flag: "to", Commands: sends, Help: "desired version, with --from"},
		{Key: "load.reviewVersion", Default: "v1", Implied: true, Flag: "review-version", Commands: sends, Help: "version of ConversionReview: v1 or v1beta1"},
		{
			Key: "load.inFlight", Flag: "in-flight", Commands: sends,
			Help: "maximum number of requests in flight; more wait, which counts as response time; 0 means 600",
		},
		{Key: "load.judgeEvery", Default: 1, Implied: true, Flag: "judge-every", Commands: sends, Help: "judge only every n-th response"},
		{Key: "load.recording", Flag: "recording", Commands: sends, Files: true, Help: "file that \"crdconform record\" wrote, to send again: the profile replay"},
		{
			Key: "load.throughAPIServer", Flag: "through-api-server", Commands: sends,
			Help: "also measure clients of an API server of crdconform; needs --crd",
		},
		{Key: "load.repeat", Default: 1, Flag: "repeat", Commands: sends, Help: "how many times all stages run"},
		{Key: "load.warmUp", Flag: "warm-up", Commands: sends, Help: "how long to send load before the measurement"},
		{
			Key: "objectives", Flag: "objective", Commands: sends, Whole: true,
			Help: "limit for every stage, such as p99=50ms, or a preset: kep, trace; can be repeated",
		},
	}
}

// In returns a pointer to the value of the option in a configuration. The sections that it belongs to are made if they are
// missing, with their defaults.
func (o Option) In(c *Config) any {
	isThere := field(reflect.ValueOf(c).Elem(), o.Key, false).IsValid()
	v := field(reflect.ValueOf(c).Elem(), o.Key, true)
	if !isThere {
		c.setDefaults(parent(o.Key))
	}
	return v.Addr().Interface()
}

// field returns the value at a key below a value. Sections that are missing are made if that is wanted; or else it returns the zero
// reflect.Value.
func field(v reflect.Value, key string, missing bool) reflect.Value {
	for step := range strings.SplitSeq(key, ".") {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() && !missing {
				return reflect.Value{}
			}
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		name, index, isItem := strings.Cut(strings.TrimSuffix(step, "]"), "[")
		v = v.Field(slices.Index(fields(v.Type()), name))
		if isItem {
			i, _ := strconv.Atoi(index) // the table has numbers there
			if v.Len() <= i && !missing {
				return reflect.Value{}
			}
			for v.Len() <= i {
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			}
			v = v.Index(i)
		}
	}
	return v
}

// Override puts the value that another configuration has at a key in the place of what this one has, unless the section of the key
// is missing here. What gave it, such as the flag --crd, is named where there is something wrong with it; nothing when it is the
// absence of a value. Names of files are relative to the folder that the program runs in.
func (c *Config) Override(key string, from Config, flag string) {
	key, _, _ = strings.Cut(key, "[")
	value, target := field(reflect.ValueOf(from), key, false), field(reflect.ValueOf(c).Elem(), key, false)
	if !target.IsValid() {
		return
	}
	if slices.ContainsFunc(Options(), func(o Option) bool { return o.Key == key && o.Files }) {
		value = c.fromHere(value)
	}
	target.Set(value)
	s := &source{}
	if c.source != nil {
		*s = *c.source
	}
	s.positions, s.flags = maps.Clone(s.positions), maps.Clone(s.flags)
	maps.DeleteFunc(s.positions, func(given string, _ position) bool { return within(given, key) })
	maps.DeleteFunc(s.flags, func(given, _ string) bool { return within(given, key) })
	if s.flags == nil {
		s.flags = map[string]string{}
	}
	if flag != "" {
		s.flags[key] = flag
	}
	c.source = s
}

// fromHere makes names of files, or a list of them, mean the same in the configuration as for the program.
func (c *Config) fromHere(v reflect.Value) reflect.Value {
	if !c.inFile() {
		return v
	}
	names, isList := reflect.TypeAssert[[]string](v)
	if !isList {
		names = []string{v.String()}
	}
	names = slices.Clone(names)
	for i, name := range names {
		if whole, err := filepath.Abs(name); err == nil && c.Path(name) != name {
			names[i] = whole
		}
	}
	if isList {
		return reflect.ValueOf(names)
	}
	return reflect.ValueOf(names[0])
}

// setDefaults sets the options below a section to their defaults: all, where the section is the whole configuration.
func (c *Config) setDefaults(section string) {
	for _, o := range Options() {
		if o.Default == nil || o.Implied || section != "" && !within(o.Key, section) {
			continue
		}
		if v := field(reflect.ValueOf(c).Elem(), o.Key, false); v.IsValid() {
			v.Set(reflect.ValueOf(o.Default))
		}
	}
}
