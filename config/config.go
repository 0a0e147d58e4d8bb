// Package config is the configuration file of crdconform, crdconform.yaml: what it may say, what holds when it says
// nothing, and where it is wrong. Whatever is wrong in a file is told with file, line and column.
package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
)

//go:generate go run ./generate

// FileName is the name of the file that is looked for when none is given.
const FileName = "crdconform.yaml"

// APIVersion and Kind are what every configuration file begins with.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	Kind       = "Config"
)

// Config is a configuration file. File names in it are as they were written; Path says what they mean.
type Config struct { //nolint:recvcheck // a value, which Override alone changes
	// Version of this file's form: crdconform.dev/v1alpha1.
	APIVersion string `json:"apiVersion" jsonschema:"required,enum=crdconform.dev/v1alpha1"`
	// Kind of this file: Config.
	Kind string `json:"kind" jsonschema:"required,enum=Config"`
	// Files with CustomResourceDefinitions: names, patterns such as *.yaml, or folders; relative to the folder of this file.
	CRDs []string `json:"crds"`
	// Definitions of earlier releases, the oldest first, each written like an entry of crds, or git://REF:PATH for a file or a folder in
	// the repository of the current directory, such as git://v1.4.0:config/crd/bases. Objects that their schemas allowed are converted too.
	// For rehearsals also context://NAME, the definitions in the cluster of a context.
	Old []string `json:"old"`
	// Files with custom resources to convert besides generated ones, written like crds.
	Samples []string `json:"samples"`
	// Paths into samples at which letters and digits are masked before anything is done with them, such as spec.password and
	// spec.users[*].token, with all below them, as each version spells them.
	Redact []string `json:"redact"`
	// The webhook to check.
	Webhook Webhook `json:"webhook"`
	// Fields that conversions are known to lose.
	Lossy []Lossy `json:"lossy"`
	// Requirements that are known to fail. One that passes fails the run.
	KnownFailing []KnownFailing `json:"knownFailing"`
	// Check only these requirements: IDs, beginnings of IDs such as webhook.response, or patterns such as *.uid. All when empty.
	Filter []string `json:"filter"`
	// Leave these requirements out, written like filter.
	Skip []string `json:"skip"`
	// Whether what API servers tolerate fails the run as well. The default is false.
	Strict bool `json:"strict"`
	// Kind of API server for the checks that need one, or none to leave those checks out. What more is to be said of it, such as a
	// node image or a context, is said by flags.
	Cluster Cluster `json:"cluster"`
	// How objects are generated.
	Generate Generate `json:"generate"`
	// How long the whole run may take. It ends then with a report of what was judged. The default is 0: as long as it takes.
	RunTimeout Duration `json:"runTimeout,omitzero"`
	// Folder to write the reports to, relative to the folder of this file.
	ReportDir string `json:"reportDir" jsonschema:"minLength=1"`
	// Load to send.
	Load Load `json:"load"`
	// What response times and errors the load test allows.
	Objectives Objectives `json:"objectives"`
	// The upgrade to rehearse, from the releases of old to crds and webhook.
	Rehearse Rehearse `json:"rehearse"`
	// What is done to the webhook on purpose, and what that may cost.
	Disrupt Disrupt `json:"disrupt"`

	source *source // nil when there is no file
}

// Webhook is the webhook under test: where it is, or how to start it. At most one of url, fromCRD, command, inCluster and
// reference can be given; without any of them the command line has to say it.
type Webhook struct {
	// URL of the webhook, https://host:port/path.
	URL string `json:"url,omitempty" jsonschema:"pattern=^https://"`
	// Where, and with which certificates, each definition's own spec.conversion says. Written as {} when nothing is to be added.
	FromCRD *FromCRD `json:"fromCRD,omitempty"`
	// A program to start that serves the webhook.
	Command *Command `json:"command,omitempty"`
	// What to deploy as pods of the cluster, which has to be kind or existing.
	InCluster *InCluster `json:"inCluster,omitempty"`
	// The built-in webhook for the CronTabs of the documents.
	Reference *Reference `json:"reference,omitempty"`
	// File with the certificates to verify the webhook by, in PEM. With url, those of the system when missing; with fromCRD it
	// takes the place of caBundle.
	CAFile string `json:"caFile,omitempty"`
	// Name to verify the webhook's certificate against, such as widgets.system.svc; the host of the URL when missing.
	ServerName string `json:"serverName,omitempty"`
	// Certificate to show to a webhook that asks for one.
	ClientCertificate ClientCertificate `json:"clientCertificate,omitzero"`
	// Whether to use HTTP/2, as API servers do for URLs on localhost. The default is false: HTTP/1.1.
	HTTP2 bool `json:"http2"`
	// How long to wait for a response; by default as long as API servers do.
	Timeout Duration `json:"timeout"`
}

// FromCRD takes the webhook from each definition's own spec.conversion.
type FromCRD struct {
	// Where the service is reached from here, host:port, such as localhost:9443 of a kubectl port-forward.
	Address string `json:"address,omitempty"`
}

// Command is a program that serves a conversion webhook. In args and env, {certs} stands for a folder with tls.crt, tls.key
// and ca.crt, {port} and {host} for where to serve, {kubeconfig} for a file that leads to the API server.
type Command struct {
	// The program and its arguments. A program with a slash in its name is relative to dir.
	Args []string `json:"args" jsonschema:"required,minItems=1"`
	// Environment variables to add.
	Env map[string]string `json:"env,omitempty"`
	// Folder to start the program in, relative to the folder of this file. The default is that folder.
	Dir string `json:"dir"`
	// Path of the webhook's URL.
	Path string `json:"path" jsonschema:"pattern=^/"`
	// How long the program may take until it serves.
	ReadyTimeout Duration `json:"readyTimeout"`
	// A name for the certificate besides localhost, such as widgets.system.svc; the webhook is then verified against it.
	ServerName string `json:"serverName,omitempty"`
}

// InCluster is a webhook that is deployed as pods behind a service, from manifests, or from an image alone. One of image, archive
// and manifests is needed.
type InCluster struct {
	// Image of the webhook, such as widgets:dev; with manifests, an image that they name. Nodes of kind get it from Docker if it
	// is there.
	Image string `json:"image,omitempty"`
	// File that docker save has written, with an image to load into the nodes of kind. Image says which if it has several.
	Archive string `json:"archive,omitempty"`
	// Files with what to apply, folders of such files, or folders with a kustomization.
	Manifests []string `json:"manifests,omitempty"`
	// Service of the webhook, name or namespace/name. With manifests it is one of theirs, and can be left out when a definition
	// among them says it, or there is only one; without, what it is to be called: webhook, in a namespace of the run.
	Service string `json:"service,omitempty" jsonschema:"pattern=^([a-z0-9-]+/)?[a-z0-9-]+$"`
	// Port of the service. The default is what a definition among the manifests says, or else 443.
	Port int32 `json:"port,omitempty"`
	// Path of the webhook's URL. The default is what a definition among the manifests says, or else /convert.
	Path string `json:"path,omitempty" jsonschema:"pattern=^/"`
	// Secret that the pods of the manifests mount, for crdconform to put a certificate into.
	Secret string `json:"secret,omitempty"`
	// Secret, name or namespace/name, that has the authority of the webhook's certificate, under ca.crt or tls.crt. When it and
	// secret are missing, a caBundle of the definitions among the manifests has it.
	CASecret string `json:"caSecret,omitempty"`
	// Port that the image listens on, on all addresses.
	TargetPort int32 `json:"targetPort,omitempty"`
	// Pods of the image.
	Replicas int32 `json:"replicas,omitempty"`
	// Arguments in place of those of the image.
	Args []string `json:"args,omitempty"`
	// Environment variables to set.
	Env map[string]string `json:"env,omitempty"`
	// Folder where the image looks for tls.crt and tls.key. The default is the one of controller-runtime,
	// /tmp/k8s-webhook-server/serving-certs.
	Certs string `json:"certs,omitempty" jsonschema:"pattern=^/"`
	// How long it may take until the webhook is ready.
	ReadyTimeout Duration `json:"readyTimeout,omitzero"`
}

// Reference is the built-in webhook for the CronTabs of the documents.
type Reference struct {
	// Promises that it is to break, for trying out what is then reported; "crdconform serve --help" lists them.
	Faults []string `json:"faults"`
}

// ClientCertificate names the files of a client certificate. Both are needed.
type ClientCertificate struct {
	// File with the certificate, in PEM.
	CertFile string `json:"certFile" jsonschema:"required,minLength=1"`
	// File with its private key, in PEM.
	KeyFile string `json:"keyFile" jsonschema:"required,minLength=1"`
}

// Lossy is a field that conversions are known to lose.
type Lossy struct {
	// The field with all below it, such as spec.legacy[*].mode: [*] for any item of a list, * for any key, ['a/b'] for a key
	// with dots or slashes.
	Path Pattern `json:"path" jsonschema:"required"`
	// Group of the definition; any when missing.
	Group string `json:"group,omitempty"`
	// Kind of the objects; any when missing.
	Kind string `json:"kind,omitempty"`
	// Version of the objects that lose the field; any when missing.
	From string `json:"from,omitempty"`
	// Version that they are converted to and back from; any when missing.
	Through string `json:"through,omitempty"`
	// Why the loss is right, for the report.
	Reason string `json:"reason" jsonschema:"required,pattern=[^ ]"`
}

// Matches reports whether a loss is known: of the field at a path such as spec.legacy[3].mode, of an object of the group and
// kind at the version from, on its way to the version through and back.
func (l Lossy) Matches(group, kind, from, through, path string) bool {
	for _, pair := range [][2]string{{l.Group, group}, {l.Kind, kind}, {l.From, from}, {l.Through, through}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return l.Path.Matches(path)
}

// KnownFailing is a requirement that is known to fail.
type KnownFailing struct {
	// ID of the requirement, such as webhook.response.uid.
	ID string `json:"id" jsonschema:"required"`
	// Why it fails, for the report.
	Reason string `json:"reason" jsonschema:"required,pattern=[^ ]"`
}

// Cluster is a kind of API server to run checks against.
type Cluster string

// The clusters that need nothing else to be said.
const (
	Embedded Cluster = "embedded"
	None     Cluster = "none" // leave out what needs an API server
)

// Generate says how objects are generated from the schemas.
type Generate struct {
	// Objects for each version; 0 for samples only.
	Objects int `json:"objects"`
	// Seed of all random choices, to repeat a run. The default is 0: a new one in each run.
	Seed int64 `json:"seed"`
	// TimeBudget is how long a webhook is asked about the objects of a definition. What is not judged by then is NotApplicable. The default
	// is 0: as long as it takes.
	TimeBudget Duration `json:"timeBudget,omitzero"`
	// Coverage is the share of the fields of each definition that must be exercised, or the run fails: 95% for example. The default is 0%: any.
	Coverage Share `json:"coverage,omitempty"`
}

// Load is the load test. What is left out is as the profile has it.
type Load struct {
	// What is sent: the name of a profile that "crdconform load --help" lists. Without profile, stages and duration, only
	// "crdconform load" sends any load.
	Profile string `json:"profile,omitempty"`
	// A profile of your own, stage by stage, in the place of a built-in one.
	Stages []Stage `json:"stages,omitempty"`
	// Requests a second. Several make a stage for each of them, with each of batches and bytes.
	Rates []float64 `json:"rates,omitempty"`
	// Objects in a request; several as with rates.
	Batches []int `json:"batches,omitempty"`
	// Bytes that an object is to have, at least: smaller ones get an annotation. 0 leaves them as they are. Several as with rates.
	Bytes []int `json:"bytes,omitempty"`
	// Clients that ask as soon as they are answered, in the profiles apiserver and relist; several as with rates.
	Clients []int `json:"clients,omitempty"`
	// How long each stage sends, or each probe of the profile search.
	Duration Duration `json:"duration,omitzero"`
	// Objects in all requests of the profile relist together, and with throughAPIServer those that the API server is to have.
	Objects int `json:"objects,omitempty"`
	// Versions to convert from and to, in turn. The default is one pair that there are objects for.
	Pairs []Pair `json:"pairs,omitempty"`
	// Version of ConversionReview: v1 or v1beta1.
	ReviewVersion string `json:"reviewVersion,omitempty" jsonschema:"enum=v1,enum=v1beta1"`
	// Requests that may wait for their responses at once, unless clients ask.
	InFlight int `json:"inFlight,omitempty"`
	// Judge every n-th response only; 1 is all of them.
	JudgeEvery int `json:"judgeEvery,omitempty"`
	// Whether to compare the objects in each judged response with what the webhook answered to the same request before the load. The
	// default is false.
	JudgeContent bool `json:"judgeContent,omitempty"`
	// File that "crdconform record" wrote, whose requests the profile replay sends.
	Recording string `json:"recording,omitempty"`
	// Whether to measure clients of an API server of crdconform's own as well, whose requests need conversions. The default is
	// false. It needs crds.
	ThroughAPIServer bool `json:"throughAPIServer,omitempty"`
	// How many times all stages run, for a comparison.
	Repeat int `json:"repeat"`
	// How long the first stage is sent beforehand, unmeasured. The default is 0s.
	WarmUp Duration `json:"warmUp,omitzero"`
}

// Stage is a part of a load test: either phases, or clients for a duration.
type Stage struct {
	// Name for the reports.
	Name string `json:"name" jsonschema:"required,pattern=[^ ]"`
	// When requests are due: one phase after another.
	Phases []Phase `json:"phases,omitempty"`
	// Clients that ask as soon as they are answered, in the place of phases.
	Clients int `json:"clients,omitempty"`
	// How long the clients ask.
	Duration Duration `json:"duration,omitzero"`
	// How many requests the clients send at most. The default is 0: as many as they can.
	Requests int `json:"requests,omitempty"`
	// Objects in a request.
	Batch int `json:"batch,omitempty"`
	// Bytes that an object is to have, at least. The default is 0: as it is.
	Bytes int `json:"bytes,omitempty"`
}

// Phase is a time in which requests are due at a rate that stays, rises or falls.
type Phase struct {
	// Requests a second at its beginning.
	Rate float64 `json:"rate"`
	// Requests a second at its end. The default is rate.
	To *float64 `json:"to,omitempty"`
	// How long it takes.
	Duration Duration `json:"duration"`
}

// Pair is a version to convert from and one to convert to.
type Pair struct {
	// Version of the objects that are sent.
	From string `json:"from" jsonschema:"required,minLength=1"`
	// Version that is asked for.
	To string `json:"to" jsonschema:"required,minLength=1"`
}

// Objectives is what the load test has to keep, each stage of it. Response times are counted from when a request was due. 0s
// and 0 are no objective.
type Objectives struct {
	// Limits that others have set: kep for those of the enhancement proposal "CRDs to GA" by number and size of objects, trace
	// for 50 ms and 8 ms an object, beyond which API servers log a trace.
	Presets []string `json:"presets" jsonschema:"enum=kep,enum=trace"`
	// Mean response time.
	Mean Duration `json:"mean"`
	// Longest response time of the fastest half of the requests.
	P50 Duration `json:"p50"`
	// Longest response time of the fastest 90 % of the requests.
	P90 Duration `json:"p90"`
	// Longest response time of the fastest 95 % of the requests.
	P95 Duration `json:"p95"`
	// Longest response time of the fastest 99 % of the requests.
	P99 Duration `json:"p99"`
	// Longest response time of the fastest 99.9 % of the requests.
	P999 Duration `json:"p99.9"`
	// Longest response time of the fastest 99.99 % of the requests.
	P9999 Duration `json:"p99.99"`
	// Longest response time of all.
	Max Duration `json:"max"`
	// Share of requests that may fail, from 0 to 1. Without it, one that fails fails the load test.
	Errors *float64 `json:"errors,omitempty"`
	// Fewest requests a second that have to be answered.
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// Fewest objects a second that have to be converted as API servers accept it.
	ObjectsPerSecond float64 `json:"objectsPerSecond"`
}

// Default returns what holds where a file says nothing.
func Default() Config {
	c := Config{APIVersion: APIVersion, Kind: Kind}
	options.SetDefaults(&c, "")
	return c
}

// defaultCommand returns what holds where the section webhook.command says nothing.
func defaultCommand() Command {
	c := Config{Webhook: Webhook{Command: &Command{}}}
	options.SetDefaults(&c, "webhook.command")
	return *c.Webhook.Command
}

// Source returns the key that says where the webhook is: url, fromCRD, command, inCluster or reference; nothing when there is
// none.
func (w Webhook) Source() string {
	if sources := w.sources(); len(sources) > 0 {
		return sources[0]
	}
	return ""
}

func (w Webhook) sources() []string {
	var sources []string
	if w.URL != "" {
		sources = append(sources, "url")
	}
	if w.FromCRD != nil {
		sources = append(sources, "fromCRD")
	}
	if w.Command != nil {
		sources = append(sources, "command")
	}
	if w.InCluster != nil {
		sources = append(sources, "inCluster")
	}
	if w.Reference != nil {
		sources = append(sources, "reference")
	}
	return sources
}

// Path returns what a file name in the configuration means: names are relative to the folder of the file that they are in.
// A name that is absolute or empty, or in git, and every name of a configuration that was not read from a file, stays as it is.
func (c Config) Path(name string) string {
	if name == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "git://") || !c.inFile() {
		return name
	}
	return filepath.Join(filepath.Dir(c.source.name), name)
}

// inFile reports whether the configuration was read from a file.
func (c Config) inFile() bool { return c.source != nil && c.source.name != "" }

// Origin says where the value of a key such as webhook.url or knownFailing[0].id comes from: "crdconform.yaml:7", "--strict", or
// "default" when neither a file nor a flag says it.
func (c Config) Origin(key string) string {
	if c.source == nil {
		return byDefault
	}
	if flag := c.source.flags[key]; flag != "" {
		return flag
	}
	if p, found := c.source.positions[key]; found {
		return fmt.Sprintf("%s:%d", c.source.name, p.line)
	}
	return byDefault
}

// byDefault is the origin of what nobody says.
const byDefault = "default"
