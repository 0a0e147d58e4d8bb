// Package config defines the configuration file of crdconform, crdconform.yaml: its keys, their defaults, and how they are validated.
// Problems in a file are reported with file, line and column.
package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/crdconform/crdconform/internal/options"
)

// FileName is the name of the file that is used when none is given.
const FileName = "crdconform.yaml"

// APIVersion and Kind are the apiVersion and the kind of every configuration file.
const (
	APIVersion = "crdconform.dev/v1alpha1"
	Kind       = "Config"
)

// Config is a configuration file. File names in it are kept as written; Path resolves them.
type Config struct { //nolint:recvcheck // a value, which Override alone changes
	// Version of the file format: crdconform.dev/v1alpha1.
	APIVersion string `json:"apiVersion" jsonschema:"required,enum=crdconform.dev/v1alpha1"`
	// Kind of this file: Config.
	Kind string `json:"kind" jsonschema:"required,enum=Config"`
	// Files with CustomResourceDefinitions: names, patterns such as *.yaml, or folders; relative to the folder of this file.
	CRDs []string `json:"crds"`
	// Definitions of earlier releases, oldest first. Each is written like an entry of crds, or as git://REF:PATH for a file or folder
	// in the repository of the current directory, such as git://v1.4.0:config/crd/bases. Objects that their schemas allow are converted
	// too. Rehearsals also accept context://NAME, for the definitions in the cluster of a kubeconfig context.
	Old []string `json:"old"`
	// Files with custom resources to convert in addition to generated ones, written like crds.
	Samples []string `json:"samples"`
	// Files with objects and what they must become at other versions, written like crds. A folder stands for its subfolders too. The first
	// object of a file is converted, and the others are what it becomes.
	Expected []string `json:"expected"`
	// Paths in samples at which letters and digits are masked before the samples are used, such as spec.password and
	// spec.users[*].token. Everything below a path is masked too. Write paths as each version spells them.
	Redact []string `json:"redact"`
	// The webhook to check.
	Webhook Webhook `json:"webhook"`
	// Fields that conversions are known to lose.
	Lossy []Lossy `json:"lossy"`
	// Fields whose values are in another field at the other version, although both versions have the first.
	Moved []Changed `json:"moved"`
	// Fields that both versions have, and whose values are others at the other version: another unit, or other words for the same.
	RenamedValues []Changed `json:"renamedValues"`
	// Requirements that are known to fail. If one of them passes, the run fails.
	KnownFailing []KnownFailing `json:"knownFailing"`
	// Requirements that pass in some runs and fail in others, written like knownFailing. Neither changes the outcome.
	KnownFlaky []KnownFailing `json:"knownFlaky"`
	// Levels of what lint finds, and exceptions. Of several entries for a finding, the last counts.
	Lint []Lint `json:"lint"`
	// Check only these requirements: IDs, beginnings of IDs such as webhook.response, or patterns such as *.uid. All if empty.
	Filter []string `json:"filter"`
	// Do not check these requirements, written like filter.
	Skip []string `json:"skip"`
	// Whether violations that API servers tolerate fail the run too. The default is false.
	Strict bool `json:"strict"`
	// Kind of API server for the checks that need one, or none to leave those checks out. Other settings of the API server, such as a
	// node image or a context, are given by flags.
	APIServer APIServer `json:"apiServer"`
	// How objects are generated.
	Generate Generate `json:"generate"`
	// Time limit for the whole run. A run that reaches it ends with a report of what was judged. The default is 0: no limit.
	RunTimeout Duration `json:"runTimeout,omitzero"`
	// Folder to write the reports to, relative to the folder of this file.
	ReportDir string `json:"reportDir" jsonschema:"minLength=1"`
	// The load test.
	Load Load `json:"load"`
	// Limits on the response times and errors of the load test.
	Objectives Objectives `json:"objectives"`
	// The upgrade to rehearse, from the releases of old to crds and webhook.
	Rehearse Rehearse `json:"rehearse"`
	// Disruptions of the webhook, and limits on their effects.
	Disrupt Disrupt `json:"disrupt"`
	// The API server to check, beyond its kind.
	Cluster cluster `json:"cluster,omitzero"`
	// How the commands doctor and storage connect to a cluster, beyond a kubeconfig and a context.
	Connection connection `json:"connection,omitzero"`
	// How the commands of storage read and migrate what is stored.
	Storage storage `json:"storage,omitzero"`
	// What the command record serves with, and when it ends. It reads no file.
	Record record `json:"record,omitzero"`
	// How the command diff verifies the one and the other webhook. It reads no file.
	Diff diff `json:"diff,omitzero"`

	source *source // nil if there is neither a file nor a flag
}

// Webhook is the webhook under test: where it is, or how to start it. At most one of url, fromCRD, command, inCluster and reference
// can be set. If none is, the command line must specify the webhook.
type Webhook struct {
	// URL of the webhook, https://host:port/path.
	URL string `json:"url,omitempty" jsonschema:"pattern=^https://"`
	// Use the address and the certificates in spec.conversion of each definition. Write {} if nothing needs to be added.
	FromCRD *FromCRD `json:"fromCRD,omitempty"`
	// Program to start, which serves the webhook.
	Command *Command `json:"command,omitempty"`
	// Webhook to deploy as pods in the cluster, which must be kind or existing.
	InCluster *InCluster `json:"inCluster,omitempty"`
	// The built-in webhook for the CronTabs of the documents.
	Reference *Reference `json:"reference,omitempty"`
	// PEM file with the certificates to verify the webhook with. If it is missing, url uses the certificates of the system. With
	// fromCRD, it replaces caBundle.
	CAFile string `json:"caFile,omitempty"`
	// Name to verify the webhook's certificate against, such as widgets.system.svc. If it is missing, the host of the URL is used.
	ServerName string `json:"serverName,omitempty"`
	// Client certificate to present to a webhook that requests one.
	ClientCertificate ClientCertificate `json:"clientCertificate,omitzero"`
	// Whether to use HTTP/2, as API servers do for URLs on localhost. The default is false: HTTP/1.1.
	HTTP2 bool `json:"http2"`
	// How long to wait for a response; by default as long as API servers do.
	Timeout Duration `json:"timeout"`
}

// FromCRD takes the webhook from each definition's own spec.conversion.
type FromCRD struct {
	// Address, host:port, at which the service can be reached from here, such as localhost:9443 for a kubectl port-forward.
	Address string `json:"address,omitempty"`
}

// Command is a program that serves a conversion webhook. In args and env, {certs} stands for a folder with tls.crt, tls.key and
// ca.crt, {port} and {host} for the port and host to serve on, and {kubeconfig} for the file that KUBECONFIG names, which is a
// kubeconfig for the API server of the run. Without {port}, it is expected at 9443.
type Command struct {
	// The program and its arguments. A program with a slash in its name is relative to dir.
	Args []string `json:"args" jsonschema:"required,minItems=1"`
	// Environment variables to add, or to set in place of KUBECONFIG.
	Env map[string]string `json:"env,omitempty"`
	// Folder to start the program in, relative to the folder of this file. The default is that folder.
	Dir string `json:"dir"`
	// Path of the webhook's URL.
	Path string `json:"path" jsonschema:"pattern=^/"`
	// How long the program may take to start serving.
	ReadyTimeout Duration `json:"readyTimeout"`
	// Name for the certificate in addition to localhost, such as widgets.system.svc. If it is set, the certificate is verified against
	// it.
	ServerName string `json:"serverName,omitempty"`
}

// InCluster is a webhook that is deployed as pods behind a service, from manifests or from an image alone. At least one of image,
// archive and manifests is required.
type InCluster struct {
	// Image of the webhook, such as widgets:dev. With manifests, it must be an image that they use. On kind, nodes get it from Docker
	// if Docker has it.
	Image string `json:"image,omitempty"`
	// File written by docker save, with an image to load into the nodes of kind. If it has several images, image selects one.
	Archive string `json:"archive,omitempty"`
	// Files with objects to apply, folders of such files, or folders with a kustomization.
	Manifests []string `json:"manifests,omitempty"`
	// Service of the webhook, as name or namespace/name. With manifests, it must be one of theirs; it can be left out if a definition
	// among them specifies it, or if there is only one. Without manifests, it is the name of the service to create: webhook, in a
	// namespace of the run, if left out.
	Service string `json:"service,omitempty" jsonschema:"pattern=^([a-z0-9-]+/)?[a-z0-9-]+$"`
	// Port of the service. The default is the port in a definition among the manifests, or else 443.
	Port int32 `json:"port,omitempty"`
	// Path of the webhook's URL. The default is the path in a definition among the manifests, or else /convert.
	Path string `json:"path,omitempty" jsonschema:"pattern=^/"`
	// Secret that the pods of the manifests mount. crdconform puts a certificate into it.
	Secret string `json:"secret,omitempty"`
	// Secret, as name or namespace/name, with the CA of the webhook's certificate under ca.crt or tls.crt. If both it and secret are
	// missing, the CA is taken from a caBundle of the definitions among the manifests.
	CASecret string `json:"caSecret,omitempty"`
	// Port that the image listens on, on all addresses.
	TargetPort int32 `json:"targetPort,omitempty"`
	// Number of pods to run.
	Replicas int32 `json:"replicas,omitempty"`
	// Arguments that replace those of the image.
	Args []string `json:"args,omitempty"`
	// Environment variables to set.
	Env map[string]string `json:"env,omitempty"`
	// Folder where the image looks for tls.crt and tls.key. The default is the one of controller-runtime,
	// /tmp/k8s-webhook-server/serving-certs.
	Certs string `json:"certs,omitempty" jsonschema:"pattern=^/"`
	// How long the webhook may take to become ready.
	ReadyTimeout Duration `json:"readyTimeout,omitzero"`
}

// Reference is the built-in webhook for the CronTabs of the documents.
type Reference struct {
	// Faults to inject, to see how they are reported; "crdconform serve --help" lists them.
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
	// Path of the field, such as spec.legacy[*].mode. It includes everything below the field. [*] stands for any item of a list, * for
	// any key, and ['a/b'] for a key with dots or slashes.
	Path Pattern `json:"path" jsonschema:"required"`
	// Group of the definition; any if missing.
	Group string `json:"group,omitempty"`
	// Kind of the objects; any if missing.
	Kind string `json:"kind,omitempty"`
	// Version of the objects that lose the field; any if missing.
	From string `json:"from,omitempty"`
	// Version that they are converted to and back from; any if missing.
	Through string `json:"through,omitempty"`
	// Why the loss is acceptable, for the report.
	Reason string `json:"reason" jsonschema:"required,pattern=[^ ]"`
}

// Matches reports whether a loss is known: of the field at a path such as spec.legacy[3].mode, in an object of the given group and
// kind that was converted from the version from to the version through and back.
func (l Lossy) Matches(group, kind, from, through, path string) bool {
	for _, pair := range [][2]string{{l.Group, group}, {l.Kind, kind}, {l.From, from}, {l.Through, through}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	return l.Path.Matches(path)
}

// Changed is a field that both versions have, and that is not equal at both.
type Changed struct {
	// Path of the field, written like a path of lossy.
	Path Pattern `json:"path" jsonschema:"required"`
	// Path of the field that has the value at the other version: for moved, which needs it. If the items of a list are in another order, it
	// is the path of the list, as path is. What holds on the way there holds on the way back.
	Into Pattern `json:"into,omitzero"`
	// Group of the definition; any if missing.
	Group string `json:"group,omitempty"`
	// Kind of the objects; any if missing.
	Kind string `json:"kind,omitempty"`
	// Why this is right, for the report.
	Reason string `json:"reason" jsonschema:"required,pattern=[^ ]"`
}

// Lint is the level of what a rule of lint finds: everywhere, in a definition, or at a field.
type Lint struct {
	// Rule, such as list-type-differs; "crdconform lint --rules" lists all.
	Rule string `json:"rule" jsonschema:"required,minLength=1"`
	// Name of the definition, such as widgets.example.com; any if missing.
	Definition string `json:"definition,omitempty"`
	// Path of the field of objects, such as spec.ports[*].name, or of the definition, such as spec.names, with everything below it; any
	// if missing.
	Field Pattern `json:"field,omitzero"`
	// What its findings are: error, warning, note, or off to leave them out.
	Level string `json:"level" jsonschema:"required,enum=error,enum=warning,enum=note,enum=off"`
	// Why, for those who read the file.
	Reason string `json:"reason" jsonschema:"required,pattern=[^ ]"`
}

// KnownFailing is a requirement that is known to fail, always or, in knownFlaky, sometimes.
type KnownFailing struct {
	// ID of the requirement, such as webhook.response.uid.
	ID string `json:"id" jsonschema:"required"`
	// Why it fails, for the report.
	Reason string `json:"reason" jsonschema:"required,pattern=[^ ]"`
}

// APIServer is a kind of API server to run checks against.
type APIServer string

// The kinds that need no other settings.
const (
	Embedded APIServer = "embedded"
	None     APIServer = "none" // leave out the checks that need an API server
)

// Generate configures how objects are generated from the schemas.
type Generate struct {
	// Number of objects for each version; 0 to convert only samples.
	Objects int `json:"objects"`
	// Seed of all random choices, to repeat a run. The default is 0: a new seed for each run.
	Seed int64 `json:"seed"`
	// Time limit for the conversions of the objects of one definition. Anything not judged by then is NotApplicable. The default is 0:
	// no limit.
	TimeBudget Duration `json:"timeBudget,omitzero"`
	// Minimum share of the fields of each definition that must be exercised, such as 95%; with less, the run fails. The default is 0%:
	// no minimum.
	Coverage Share `json:"coverage,omitempty"`
}

// Load is the load test. The profile gives the values of keys that are left out.
type Load struct {
	// Name of a profile, which determines what is sent; "crdconform load --help" lists the profiles. Without profile, stages and
	// duration, only "crdconform load" sends any load.
	Profile string `json:"profile,omitempty"`
	// Custom profile, stage by stage, instead of a built-in one.
	Stages []Stage `json:"stages,omitempty"`
	// Requests per second. Several values make one stage for each combination with the values of batches and bytes.
	Rates []float64 `json:"rates,omitempty"`
	// Objects per request; several as with rates.
	Batches []int `json:"batches,omitempty"`
	// Minimum size of an object in bytes; smaller objects get an annotation. 0 leaves objects as they are. Several as with rates.
	Bytes []int `json:"bytes,omitempty"`
	// Number of clients in the profiles apiserver and relist. Each sends its next request as soon as it has a response. Several as with
	// rates.
	Clients []int `json:"clients,omitempty"`
	// Duration of each stage, or of each probe of the profile search.
	Duration Duration `json:"duration,omitzero"`
	// Total number of objects in the requests of the profile relist; with throughAPIServer, the number of objects to store in the API
	// server.
	Objects int `json:"objects,omitempty"`
	// Pairs of versions to convert between, in turn. The default is one pair for which there are objects.
	Pairs []Pair `json:"pairs,omitempty"`
	// Version of ConversionReview: v1 or v1beta1.
	ReviewVersion string `json:"reviewVersion,omitempty" jsonschema:"enum=v1,enum=v1beta1"`
	// Maximum number of concurrent requests, unless clients send them.
	InFlight int `json:"inFlight,omitempty"`
	// Whether to compare the objects in each response with those in the webhook's response to the same request before the load.
	// The default is false.
	JudgeContent bool `json:"judgeContent,omitempty"`
	// File written by "crdconform record", whose requests the profile replay sends.
	Recording string `json:"recording,omitempty"`
	// Whether to also measure clients of an API server that crdconform starts, whose requests need conversions. The default is false.
	// It requires crds.
	ThroughAPIServer bool `json:"throughAPIServer,omitempty"`
	// Number of times that all stages run, for a comparison.
	Repeat int `json:"repeat"`
	// How long the first stage is sent beforehand without being measured. The default is 0s.
	WarmUp Duration `json:"warmUp,omitzero"`

	MetricsAddress string `json:"metricsAddress,omitempty"`
	VegetaResults  string `json:"vegetaResults,omitempty"`
	WriteTargets   string `json:"writeTargets,omitempty"`
	Workers        int    `json:"workers,omitempty"`
	WorkerImage    string `json:"workerImage,omitempty"`
	Kubeconfig     string `json:"kubeconfig,omitempty"`
	Namespace      string `json:"namespace,omitempty"`
	Kubernetes     string `json:"kubernetes,omitempty"`
}

// Stage is one stage of a load test: either phases, or clients for a duration.
type Stage struct {
	// Name for the reports.
	Name string `json:"name" jsonschema:"required,pattern=[^ ]"`
	// Phases, one after another, that determine when requests are due.
	Phases []Phase `json:"phases,omitempty"`
	// Number of clients, instead of phases. Each sends its next request as soon as it has a response.
	Clients int `json:"clients,omitempty"`
	// How long the clients send requests.
	Duration Duration `json:"duration,omitzero"`
	// Maximum number of requests that the clients send. The default is 0: no limit.
	Requests int `json:"requests,omitempty"`
	// Objects per request.
	Batch int `json:"batch,omitempty"`
	// Minimum size of an object in bytes. The default is 0: objects stay as they are.
	Bytes int `json:"bytes,omitempty"`
}

// Phase is a period in which requests are due at a constant, rising or falling rate.
type Phase struct {
	// Requests per second at the beginning.
	Rate float64 `json:"rate"`
	// Requests per second at the end. The default is rate.
	To *float64 `json:"to,omitempty"`
	// Duration of the phase.
	Duration Duration `json:"duration"`
}

// Pair is the version to convert from and the version to convert to.
type Pair struct {
	// Version of the objects that are sent.
	From string `json:"from" jsonschema:"required,minLength=1"`
	// Version to convert to.
	To string `json:"to" jsonschema:"required,minLength=1"`
}

// Objectives are the limits that each stage of the load test must meet. Response times are measured from when a request was due. A
// limit of 0s or 0 sets no objective, except that 0 errors allows none.
type Objectives struct {
	// Predefined limits: kep for those of the enhancement proposal "CRDs to GA", by number and size of objects; trace for 50 ms plus 8
	// ms per object, beyond which API servers log a trace.
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
	// Longest response time of all requests.
	Max Duration `json:"max"`
	// Share of requests that may fail, from 0 to 1. If it is missing, a single failed request fails the load test.
	Errors *float64 `json:"errors,omitempty"`
	// Minimum number of requests answered per second.
	RequestsPerSecond float64 `json:"requestsPerSecond"`
	// Minimum number of objects per second that are converted in a way that API servers accept.
	ObjectsPerSecond float64 `json:"objectsPerSecond"`
}

// Default returns a configuration in which everything has its default.
func Default() Config {
	c := Config{APIVersion: APIVersion, Kind: Kind}
	options.SetDefaults(&c, "")
	return c
}

// defaultCommand returns the defaults of the section webhook.command.
func defaultCommand() Command {
	c := Config{Webhook: Webhook{Command: &Command{}}}
	options.SetDefaults(&c, "webhook.command")
	return *c.Webhook.Command
}

// Source returns the key that specifies the webhook: url, fromCRD, command, inCluster or reference. It returns "" if there is none.
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

// Path resolves a file name in the configuration, which is relative to the folder of the configuration file. It returns the name
// unchanged if the name is absolute, empty or in git, or if the configuration was not read from a file.
func (c Config) Path(name string) string {
	if name == "" || filepath.IsAbs(name) || strings.HasPrefix(name, "git://") || !c.inFile() {
		return name
	}
	return filepath.Join(filepath.Dir(c.source.name), name)
}

// inFile reports whether the configuration was read from a file.
func (c Config) inFile() bool { return c.source != nil && c.source.name != "" }

// Origin returns where the value of a key such as webhook.url or knownFailing[0].id was set: "crdconform.yaml:7", "--strict", or
// "default" if neither a file nor a flag sets it.
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

// byDefault is the origin of values that neither a file nor a flag sets.
const byDefault = "default"
