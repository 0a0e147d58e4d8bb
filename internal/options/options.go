// Package options is the table of options: what a user can say by a key of crdconform.yaml, by a flag, or by both. Package config reads
// and checks the file by it, and the commands bind their flags by it.
package options

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/crdconform/crdconform/internal/load/profiles"
)

// Key is the key of an option in a message of config.Config.At: the text has the flag instead where the message is about a flag too.
type Key string

// Option is something that a user can say: by a key of the file, and perhaps by a flag.
type Option struct {
	Key      string   // such as webhook.timeout; load.pairs[0].from for a flag that gives one item of a list, with [*] for any item
	Default  any      // what holds where nobody says anything; nil for the zero value
	Implied  bool     // whether a Config has the zero value for the default
	Bounds   *Bounds  // of a number, or of each in a list
	Values   []string // that there are; nil where others are possible
	Flag     string   // such as timeout; nothing when there is none
	Commands []string // that take the flag
	Help     string   // of the flag
	Files    bool     // whether the value names files
	Whole    bool     // whether a comma is a part of a value, so that several values take a flag each
}

// Bounds are what a number can be.
type Bounds struct {
	Min, Max float64 // Max is 0 where there is none
	Above    bool    // whether it must be more than Min
	Zero     string  // what 0 stands for, such as "for all", where that is out of bounds otherwise
	Number   string  // the number in words, as a format such as "%s objects"
	Hint     string  // what else to say of them
}

// Hold reports whether a number is within the bounds.
func (b Bounds) Hold(v float64) bool {
	switch {
	case v == 0 && b.Zero != "":
		return true
	case b.Above && v <= b.Min, b.Max != 0 && v > b.Max, math.IsInf(v, 0):
		return false
	}
	return v >= b.Min
}

// HasDefault reports whether 0 stands for a default.
func (b Bounds) HasDefault() bool { return b.Zero == byDefault }

// String says what is wanted, such as "1 to 100".
func (b Bounds) String() string {
	least, most := number(b.Min), number(b.Max)
	text := least + " to " + most
	switch {
	case b.Above && b.Max != 0:
		text = "more than " + least + " and at most " + most
	case b.Above:
		text = "more than " + least
	case b.Max == 0:
		text = least + " or more"
	}
	switch b.Zero {
	case "":
	case byDefault:
		text += "; leave it out for the default"
	default:
		text += ", or 0 " + b.Zero
	}
	return text + b.Hint
}

// Wrong says that a number is out of bounds.
func (b Bounds) Wrong(v float64) string { return fmt.Sprintf(b.Number+": want %s", number(v), b) }

// number writes a number without an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// counted are the bounds of a number of something, from 1.
func counted(most float64, what, zero string) *Bounds {
	return &Bounds{Min: 1, Max: most, Number: "%s " + what, Zero: zero}
}

// rate are the bounds of a rate of requests.
func rate() *Bounds {
	return &Bounds{Above: true, Max: profiles.MaxRate, Number: "%s requests a second"}
}

// size are the bounds of the size of an object.
func size() *Bounds { return counted(profiles.MaxBytes, "bytes", "to leave objects as they are") }

// port are the bounds of a port that has a default.
func port() *Bounds {
	return &Bounds{Min: 1, Max: 65535, Number: "%s is not a port", Zero: byDefault}
}

// least are the bounds of the least of something in a second.
func least(what string) *Bounds {
	return &Bounds{Above: true, Number: "%s " + what + " a second", Zero: "for no objective"}
}

// The presets of objectives. The limits of KEPPreset are from keps/sig-api-machinery/95-custom-resource-definitions of
// kubernetes/enhancements, those of TracePreset from pkg/apiserver/conversion/webhook_converter.go of apiextensions-apiserver.
const (
	KEPPreset   = "kep"
	TracePreset = "trace"
)

// byDefault is what 0 stands for where there is a default.
const byDefault = "for the default"

// The defaults that texts quote.
const (
	defaultPath    = "/convert"
	defaultTimeout = 30 * time.Second // which API servers wait
)

// The commands that take flags for options.
const (
	check = "check"
	load  = "load"
	run   = "run"

	diff   = "diff"
	record = "record"

	rehearse = "rehearse"
	disrupt  = "disrupt"
	convert  = "convert"

	matrix = "matrix"
	column = "column" // of a matrix
)

// All returns all options that have a flag, a default or bounds: each is declared here and nowhere else. The other keys of the file
// are those of config.Config.
func All() []Option {
	return slices.Concat(commonOptions(), rehearseOptions(), disruptOptions(), webhookOptions(), inClusterOptions(), loadOptions(), generatorOptions(), runLoadOptions(), stageOptions(), settingOptions(), connectionOptions(), storageOptions(), recordOptions(), sideOptions())
}

// Of returns the option at a key.
func Of(key string) (Option, bool) {
	all := All()
	i := slices.IndexFunc(all, func(o Option) bool { return o.Key == key })
	if i < 0 {
		return Option{}, false
	}
	return all[i], true
}

// Or returns a text, or the default at a key if the text is empty.
func Or(text, key string) string {
	if o, found := Of(key); found && text == "" {
		return fmt.Sprint(o.Default)
	}
	return text
}

// commonOptions say what is converted, what is checked, and where the reports go.
func commonOptions() []Option {
	subject, specs := []string{check, load}, []string{check, run, rehearse, matrix, column}
	const folder = "folder for the reports"
	return []Option{
		{Key: "crds", Flag: "crd", Commands: []string{check, load, diff, disrupt, convert, rehearse}, Files: true, Help: "files with CustomResourceDefinitions, patterns such as '*.yaml', folders, kustomizations, git://REF:PATH, or - for standard input"},
		{
			Key: "old", Flag: "old", Commands: []string{check}, Files: true,
			Help: "definitions of an earlier release, whose objects may be in storage; same syntax as --crd, or git://REF:PATH; can be repeated, oldest first",
		},
		{Key: "samples", Flag: "samples", Commands: []string{check, load, diff, disrupt}, Files: true, Help: "files with custom resources to convert; same syntax as --crd"},
		{
			Key: "expected", Flag: "expect", Commands: []string{check}, Files: true,
			Help: "files or folders with objects and what they must become at other versions: the first document of a file is converted, the others are the results",
		},
		{Key: "redact", Commands: subject},
		{Key: "filter", Flag: "filter", Commands: specs, Help: "check only these requirements: IDs, prefixes of IDs such as storage or storage.update, or patterns such as *.uid"},
		{Key: "skip", Flag: "skip", Commands: specs, Help: "skip these requirements; same syntax as --filter"},
		{Key: "strict", Flag: "strict", Commands: specs, Help: "treat Tolerated as Failed"},
		{
			Key: "apiServer", Default: "embedded", Values: []string{"embedded", "kind", "envtest", "existing", "none"}, // as in package kinds
			Flag: "api-server", Commands: []string{check}, Help: "API server for the checks that need one",
		},
		{Key: "apiServer", Default: "embedded", Flag: "api-server", Commands: []string{disrupt}, Help: "API server"},
		{Key: "apiServer", Default: "embedded", Flag: "api-server", Commands: []string{run, column}, Help: "API server to check"},
		{
			Key: "generate.objects", Default: 50, Bounds: &Bounds{Max: 100_000, Number: "%s objects"}, Flag: "generate", Commands: []string{check, diff, rehearse},
			Help: "objects to generate for each version, besides those that are given; rehearse generates none if some are given; 0 generates none",
		},
		{
			Key: "generate.timeBudget", Commands: []string{check},
			Help: "how long to ask a webhook about the objects of a definition; requirements left after that are NotApplicable; default: no limit",
		},
		{
			Key: "generate.coverage", Commands: []string{check},
			Help: "share of the fields of each definition that must be exercised, such as 95%; below that, the exit code is 3",
		},
		{Key: "generate.seed", Flag: "seed", Commands: []string{check, load, run, rehearse, disrupt, matrix, column}, Help: "seed of all random choices, to repeat a run; 0 picks a new one"},
		{Key: "generate.seed", Default: 1, Implied: true, Flag: "seed", Commands: []string{diff}, Help: "seed for the generated objects"},
		{
			Key: "redact", Flag: "redact", Commands: []string{record}, Whole: true,
			Help: "path in objects whose values must not be recorded, such as spec.password, spec.users[*].token or spec.tokens.*; can be repeated",
		},
		{
			Key: "runTimeout", Commands: []string{check, load, run, rehearse, disrupt, matrix, column},
			Help: "how long the whole run may take, such as 20m; after that it ends with a report of what was judged; default: no limit",
		},
		{Key: "reportDir", Default: "crdconform-report", Flag: "report-dir", Commands: []string{check, load, run, rehearse, disrupt, column}, Files: true, Help: folder},
		{Key: "reportDir", Default: "crdconform-matrix", Implied: true, Flag: "report-dir", Commands: []string{matrix}, Files: true, Help: folder},
	}
}

// webhookOptions say where the webhook is, or how to start it, and how to talk to it.
func webhookOptions() []Option {
	subject, asking := []string{check, load, convert}, []string{check, load, convert, diff, record, rehearse}
	return []Option{
		{Key: "webhook.fromCRD", Flag: "from-crd", Commands: subject, Help: "take the webhook and its certificates from spec.conversion of each definition"},
		{Key: "webhook.fromCRD.address", Flag: "address", Commands: []string{check}, Help: "with --from-crd: host:port at which the service can be reached from here, for example through kubectl port-forward"},
		{Key: "webhook.fromCRD.address", Commands: []string{load, convert}},
		{Key: "webhook.command.dir", Default: "."},
		{Key: "webhook.command.path", Default: defaultPath, Commands: append(subject, rehearse, disrupt)},
		{Key: "webhook.command.readyTimeout", Default: time.Minute},
		{Key: "webhook.caFile", Flag: "ca-file", Commands: asking, Files: true, Help: "certificates to verify the webhook, in PEM; default: those of the system"},
		{Key: "webhook.serverName", Commands: asking},
		{Key: "webhook.clientCertificate.certFile", Commands: subject, Files: true, Help: "client certificate for a webhook that requires one, in PEM"},
		{Key: "webhook.clientCertificate.keyFile", Commands: subject, Files: true, Help: "private key of --client-cert, in PEM"},
		{Key: "webhook.http2", Commands: []string{check, load, convert, diff, record}, Help: "use HTTP/2, as API servers do for URLs on localhost; default: HTTP/1.1"},
		{Key: "webhook.timeout", Default: defaultTimeout, Commands: []string{check, load, convert, diff}},
	}
}

// inClusterOptions say which webhook to deploy as pods of the cluster.
func inClusterOptions() []Option {
	deploying, imaging := []string{check, run, disrupt}, []string{check, run, rehearse, disrupt}
	return []Option{
		{
			Key: "webhook.inCluster.image", Flag: "webhook-image", Commands: imaging,
			Help: "kind, existing: image of a webhook to deploy and check, such as widgets:dev; kind nodes get it from Docker if it is there",
		},
		{
			Key: "webhook.inCluster.archive", Commands: imaging, Files: true,
		},
		{
			Key: "webhook.inCluster.manifests", Flag: "webhook-manifests", Commands: deploying, Files: true,
			Help: "kind, existing: files, folders or a kustomization that deploy the webhook, instead of the objects created for an image",
		},
		{
			Key: "webhook.inCluster.service", Commands: deploying,
			Help: "NAME or NAMESPACE/NAME of the webhook's service: one in the manifests, or the name for a new one; default: webhook, in a namespace of the run",
		},
		{
			Key: "webhook.inCluster.port", Bounds: port(), Commands: deploying,
			Help: "port of the webhook's service; default: the port in a definition among the manifests, or 443",
		},
		{
			Key: "webhook.inCluster.targetPort", Default: 9443, Implied: true, Bounds: port(), Commands: imaging,
			Help: "port that --webhook-image listens on",
		},
		{
			Key: "webhook.inCluster.path", Commands: imaging,
			Help: "URL path of the webhook; default: the path in a definition among the manifests, or " + defaultPath,
		},
		{
			Key: "webhook.inCluster.replicas", Default: 1, Implied: true, Bounds: counted(100, "pods", byDefault),
			Commands: deploying, Help: "number of pods of --webhook-image",
		},
		{Key: "webhook.inCluster.readyTimeout", Default: 2 * time.Minute, Implied: true},
		{Key: "webhook.inCluster.secret", Commands: deploying, Help: "Secret that the pods of the manifests mount, to store a certificate in"},
		{
			Key: "webhook.inCluster.caSecret", Commands: deploying,
			Help: "Secret with the authority of the certificate that the manifests provide, under ca.crt or tls.crt; default: the caBundle in their definitions",
		},
	}
}

// loadOptions say what load is sent, and what it has to keep.
func loadOptions() []Option {
	sends := []string{load}
	return []Option{
		{Key: "load.profile", Default: profiles.Constant, Values: profiles.Names(), Implied: true, Flag: "profile", Commands: sends, Help: "what to send; see above"},
		{Key: "load.rates", Bounds: rate(), Flag: "rate", Commands: sends, Help: "requests per second"},
		{
			Key: "load.batches", Bounds: counted(profiles.MaxBatch, "objects", ""), Flag: "batch", Commands: sends,
			Help: "objects per request; API servers were observed to send one",
		},
		{Key: "load.bytes", Bounds: size()},
		{
			Key: "load.clients", Bounds: counted(profiles.MaxClients, "clients", ""), Flag: "clients", Commands: sends,
			Help: "clients that each send the next request when they have a response, in the profiles apiserver and relist",
		},
		{Key: "load.duration", Flag: "duration", Commands: sends, Help: "how long each stage sends"},
		{Key: "load.objects", Bounds: counted(profiles.MaxObjects, "objects", "for those of the profile")},
		{Key: "load.reviewVersion", Default: "v1", Implied: true, Commands: []string{diff}},
		{Key: "load.inFlight", Default: profiles.DefaultInFlight, Implied: true, Bounds: counted(profiles.MaxInFlight, "requests in flight", byDefault)},
		{Key: "load.judgeContent", Commands: []string{load, run}},
		{Key: "load.recording", Flag: "recording", Commands: sends, Files: true, Help: "file written by \"crdconform record\", to send again with the profile replay"},
		{
			Key: "load.throughAPIServer", Flag: "through-api-server", Commands: sends,
			Help: "also measure clients of an API server that crdconform starts; requires --crd",
		},
		{
			Key: "load.repeat", Default: 1, Bounds: counted(profiles.MaxRepeat, "times", ""), Flag: "repeat", Commands: sends,
			Help: "how many times to run all stages",
		},
		{
			Key: "objectives", Flag: "objective", Commands: sends, Whole: true,
			Help: "limit for every stage, such as p99=50ms, or a preset: kep, trace; can be repeated",
		},
	}
}

// runLoadOptions say what load run sends, as one of the things that it does.
func runLoadOptions() []Option {
	sends := []string{run}
	return []Option{
		{Key: "load.rates[0]", Default: 100, Implied: true, Flag: "load-rate", Commands: sends, Help: "requests per second of the load test"},
		{Key: "load.batches[0]", Default: 10, Implied: true, Flag: "load-batch", Commands: sends, Help: "objects per request of the load test"},
		{Key: "load.duration", Default: 5 * time.Second, Implied: true, Flag: "load-duration", Commands: sends, Help: "duration of the load test; 0 skips it"},
	}
}

// stageOptions are the bounds of what only the file says of a load test.
func stageOptions() []Option {
	return []Option{
		{Key: "load.stages[*].clients", Bounds: counted(profiles.MaxClients, "clients", "for phases")},
		{Key: "load.stages[*].requests", Bounds: counted(0, "requests", "for as many as the clients can")},
		{Key: "load.stages[*].batch", Default: 1, Implied: true, Bounds: counted(profiles.MaxBatch, "objects", byDefault)},
		{Key: "load.stages[*].bytes", Bounds: size()},
		{Key: "load.stages[*].phases[*].rate", Bounds: &Bounds{Max: profiles.MaxRate, Number: "%s requests a second"}},
		{Key: "load.stages[*].phases[*].to", Bounds: &Bounds{Max: profiles.MaxRate, Number: "%s requests a second"}},
		{Key: "objectives.errors", Bounds: &Bounds{Max: 1, Number: "%s is not a share", Hint: "; 0.01 is one request in a hundred"}},
		{Key: "objectives.requestsPerSecond", Bounds: least("requests")},
		{Key: "objectives.objectsPerSecond", Bounds: least("objects")},
	}
}
