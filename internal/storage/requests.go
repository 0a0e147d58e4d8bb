package storage

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/files"
)

// requestTimeout is how long a request may take. API servers end requests after a minute.
const requestTimeout = 90 * time.Second

// UserAgent is what crdconform calls itself. Its own requests are not counted.
const UserAgent = "crdconform"

// requests finds out who still asks for the versions of a definition.
func (i *inspector) requests(ctx context.Context, d *Definition) {
	if log := i.options.AuditLog; log != nil {
		for _, v := range d.Versions {
			v.Requests = log.of(d, v.Name)
		}
		return
	}
	var metrics *metrics
	for _, v := range d.Versions {
		switch {
		case !v.Served:
			v.Requests = Requests{Known: true, Basis: "not served"}
		case !v.Deprecated:
			v.Requests.Gaps = []Gap{{What: "requests", Why: fmt.Sprintf("API servers count requests for deprecated versions only, and %s is not deprecated; give an audit log", v.Name)}}
		default:
			if metrics == nil {
				metrics = i.metrics(ctx)
			}
			v.Requests = metrics.of(d, v.Name, i.upstream[d], time.Now())
		}
	}
}

// deprecatedMetric is the metric of requests for deprecated versions, and startMetric that of the start of a process.
const (
	deprecatedMetric = "apiserver_requested_deprecated_apis"
	startMetric      = "process_start_time_seconds"
)

// metrics is what an API server says of requests for deprecated versions.
type metrics struct {
	host    string
	started time.Time           // the API server; zero if it does not say
	asked   []map[string]string // the labels
	gaps    []Gap
}

// longEnough is how long API servers have to have counted requests before it means something that there were none: most clients that
// still use a version ask for it more often.
const longEnough = time.Hour

// metrics asks the API server for its metrics.
func (i *inspector) metrics(ctx context.Context) *metrics {
	m := &metrics{host: i.host}
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	body, err := i.raw.Get().AbsPath("/metrics").Stream(within)
	if err != nil {
		gap := Gap{What: "/metrics", Why: "the metrics of the API server cannot be read: " + line(err.Error())}
		if apierrors.IsForbidden(err) {
			gap.Why = "the user may not read the metrics of the API server"
			gap.Mend = strings.Replace(i.right("get", "/metrics", err), "--resource=", "--non-resource-url=", 1)
			gap.Mend = strings.ReplaceAll(gap.Mend, "crdconform-get-/metrics", "crdconform-get-metrics")
		}
		m.gaps = append(m.gaps, gap)
		return m
	}
	defer body.Close()
	if err = m.read(body); err != nil {
		m.gaps = append(m.gaps, Gap{What: "/metrics", Why: "the metrics of the API server cannot be read: " + line(err.Error())})
		return m
	}
	n, err := i.servers(within)
	if err != nil {
		gap := Gap{What: "/metrics", Why: "it is not known how many API servers there are, each of which counts for itself: " + line(err.Error())}
		if apierrors.IsForbidden(err) {
			gap.Mend = i.right("list", "endpointslices.discovery.k8s.io", err)
		}
		m.gaps = append(m.gaps, gap)
	}
	if n > 1 {
		m.gaps = append(m.gaps, Gap{What: "/metrics", Why: fmt.Sprintf("there are %d API servers, each of which counts for itself, and only one was asked; give an audit log", n)})
	}
	return m
}

// read reads what is of interest in metrics.
func (m *metrics) read(r io.Reader) error {
	label := regexp.MustCompile(`(\w+)="([^"]*)"`)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		if seconds, is := strings.CutPrefix(text, startMetric+" "); is {
			if n, err := strconv.ParseFloat(seconds, 64); err == nil {
				m.started = time.Unix(int64(n), 0)
			}
		}
		if !strings.HasPrefix(text, deprecatedMetric+"{") {
			continue
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(text, -1) {
			labels[pair[1]] = pair[2]
		}
		m.asked = append(m.asked, labels)
	}
	return lines.Err()
}

// counted returns since when requests for the deprecated versions of a definition were counted, why not earlier, and whether the
// definition is no older. API servers count from their start, and a version only while it is deprecated: it may have become that when
// the versions last changed.
func (m *metrics) counted(crd *apiextensionsv1.CustomResourceDefinition) (since time.Time, why string, always bool) {
	if m.started.IsZero() {
		return time.Time{}, "the API server does not say when it started", false
	}
	since, why = m.started, "the API server started then"
	deprecated := crd.CreationTimestamp.Time
	if crd.Generation > 1 {
		if deprecated, _ = owners(crd); deprecated.IsZero() {
			return time.Time{}, "requests count only while a version is deprecated, and nothing says when the versions of the definition last changed", false
		}
	}
	if !deprecated.Before(since) { // times have whole seconds, and an API server may start within one
		since, why = deprecated, "the versions of the definition changed then, and requests count only while a version is deprecated"
	}
	return since, why, crd.Generation == 1 && !crd.CreationTimestamp.Time.Before(m.started)
}

// servers returns how many API servers there are, or 0 if the cluster does not say.
func (i *inspector) servers(ctx context.Context) (int, error) {
	body, err := i.raw.Get().AbsPath("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices").Param("labelSelector", "kubernetes.io/service-name=kubernetes").DoRaw(ctx)
	if apierrors.IsNotFound(err) { // an API server without endpoints
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var list struct {
		Items []struct {
			Endpoints []struct {
				Addresses []string `json:"addresses"`
			} `json:"endpoints"`
		} `json:"items"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return 0, err
	}
	n := 0
	for _, slice := range list.Items {
		n += len(slice.Endpoints)
	}
	return n, nil
}

// of returns who asked for a version.
func (m *metrics) of(d *Definition, version string, crd *apiextensionsv1.CustomResourceDefinition, now time.Time) Requests {
	r := Requests{Basis: "metrics of the API server " + m.host, Gaps: m.gaps}
	since, why, always := m.counted(crd)
	if !since.IsZero() {
		r.Basis += ", since " + since.UTC().Format(time.RFC3339)
	}
	switch {
	case len(m.gaps) > 0:
	case since.IsZero():
		r.Gaps = []Gap{{What: "/metrics", Why: why + "; give an audit log"}}
	case !always && now.Sub(since) < longEnough:
		r.Gaps = []Gap{{What: "/metrics", Why: fmt.Sprintf("requests were counted since %s only: %s; ask again after %s, or give an audit log",
			since.UTC().Format(time.RFC3339), why, since.Add(longEnough).UTC().Format(time.RFC3339))}}
	}
	r.Known = len(r.Gaps) == 0
	for _, labels := range m.asked {
		if labels["group"] != d.Group || labels["version"] != version || labels["resource"] != d.Plural {
			continue
		}
		resource := d.Plural
		if labels["subresource"] != "" {
			resource += "/" + labels["subresource"]
		}
		r.Asked = append(r.Asked, Request{Resource: resource})
	}
	return r
}

// AuditLog is what an audit log says of requests.
type AuditLog struct {
	name        string
	first, last time.Time
	events      int64
	requests    map[asked]*Request
	running     map[string]asked // watches by their audit ID, until they end
	readers     map[string]bool  // definitions whose objects somebody read at any version
}

// asked is what a request has in common with others.
type asked struct {
	at                         schema.GroupVersionResource
	subresource, user, program string
}

// mostAsked is how many different clients are distinguished.
const mostAsked = 10000

// event is what is of interest in an event.
type event struct {
	AuditID   string `json:"auditID"`
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		APIGroup    string `json:"apiGroup"`
		APIVersion  string `json:"apiVersion"`
	} `json:"objectRef"`
	Time metav1.MicroTime `json:"requestReceivedTimestamp"`
}

// ReadAuditLog reads an audit log: events as JSON, one a line, which may be compressed with gzip. Of the requests, it keeps those for
// the definitions.
func ReadAuditLog(ctx context.Context, name string, definitions []string) (*AuditLog, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	log := &AuditLog{name: name, requests: map[asked]*Request{}, running: map[string]asked{}, readers: map[string]bool{}}
	if err := log.read(ctx, file, definitions); err != nil {
		return nil, fmt.Errorf("the audit log %s: %w", name, err)
	}
	if log.events == 0 {
		return nil, fmt.Errorf("the audit log %s has no events", name)
	}
	return log, nil
}

func (l *AuditLog) read(ctx context.Context, file io.Reader, definitions []string) error {
	r := bufio.NewReaderSize(file, 1<<20)
	if magic, err := r.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("it begins like gzip, but is not: %w", err)
		}
		r = bufio.NewReaderSize(unzipped, 1<<20)
	}
	events := json.NewDecoder(r)
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		var e event
		err := events.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("it ends within event %d; it is truncated", l.events+1)
		}
		if err != nil {
			return fmt.Errorf("event %d is not JSON as \"--audit-log-format=json\" of API servers has it: %w", l.events+1, err)
		}
		if e.AuditID == "" || e.Stage == "" {
			return fmt.Errorf("event %d is not an audit event: it has no auditID or no stage", l.events+1)
		}
		l.events++
		l.add(e, definitions)
	}
}

// add counts an event. Each request has several, one for each stage; watches end late or never.
func (l *AuditLog) add(e event, definitions []string) {
	if l.first.IsZero() || e.Time.Time.Before(l.first) {
		l.first = e.Time.Time
	}
	if e.Time.After(l.last) {
		l.last = e.Time.Time
	}
	if e.ObjectRef == nil || !slices.Contains(definitions, e.ObjectRef.Resource+"."+e.ObjectRef.APIGroup) {
		return
	}
	ref := e.ObjectRef
	if slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
		l.readers[ref.Resource+"."+ref.APIGroup] = true
	}
	if strings.HasPrefix(e.UserAgent, UserAgent) {
		return
	}
	key := asked{schema.GroupVersionResource{Group: ref.APIGroup, Version: ref.APIVersion, Resource: ref.Resource}, ref.Subresource, e.User.Username, e.UserAgent}
	switch _, running := l.running[e.AuditID]; {
	case e.Stage == "RequestReceived":
		return
	case running:
		delete(l.running, e.AuditID)
		return
	case e.Stage == "ResponseStarted":
		l.running[e.AuditID] = key
	}
	if l.requests[key] == nil {
		if len(l.requests) >= mostAsked {
			key.user, key.program = "(others)", ""
		}
		if l.requests[key] == nil {
			resource := ref.Resource
			if ref.Subresource != "" {
				resource += "/" + ref.Subresource
			}
			l.requests[key] = &Request{User: key.user, UserAgent: key.program, Resource: resource}
		}
	}
	request := l.requests[key]
	request.Count++
	if e.Time.After(request.Last) {
		request.Last = e.Time.UTC()
	}
}

// of returns who asked for a version, the most eager first. A log without requests that read the objects is one whose policy leaves
// them out: the garbage collector alone reads all resources.
func (l *AuditLog) of(d *Definition, version string) Requests {
	r := Requests{Known: l.readers[d.Resource()], Basis: fmt.Sprintf("audit log %s, from %s to %s", l.name, l.first.UTC().Format(time.RFC3339), l.last.UTC().Format(time.RFC3339))}
	for key, request := range l.requests {
		if key.at == (schema.GroupVersionResource{Group: d.Group, Version: version, Resource: d.Plural}) {
			r.Asked = append(r.Asked, *request)
			r.Total += request.Count
		}
	}
	if !r.Known {
		r.Gaps = []Gap{{What: l.name, Why: fmt.Sprintf("it has no request that reads %s, at any version, so the audit policy leaves them out, or the log is too short", d.Resource())}}
	}
	slices.SortFunc(r.Asked, func(a, b Request) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.User+a.UserAgent+a.Resource, b.User+b.UserAgent+b.Resource)
	})
	return r
}
