package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/explanation"
	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/requirement"
)

// Validate returns an error that lists the problems of the configuration itself, at most 20. It reads no files, and does not check
// that the faults of the reference webhook exist. Read does the same; call Validate for a configuration that was changed since.
func (c Config) Validate() error { return joined(c.problems()) }

// checker collects problems.
type checker struct {
	config   Config
	problems []*ProblemError
}

// unless adds a problem unless well is true.
func (k *checker) unless(well bool, key, format string, args ...any) {
	if !well {
		k.problem(key, format, args...)
	}
}

func (k *checker) problem(key, format string, args ...any) {
	k.problems = append(k.problems, k.config.at(key, format, args...))
}

func (c Config) problems() []*ProblemError {
	k := &checker{config: c}
	k.unless(c.APIVersion == APIVersion, "apiVersion", "want %s", APIVersion)
	k.unless(c.Kind == Kind, "kind", "want %s", Kind)
	k.names("crds", c.CRDs)
	k.names("old", c.Old)
	k.names("samples", c.Samples)
	k.names("expected", c.Expected)
	for i, path := range c.Redact {
		_, err := fieldpath.ParsePattern(path)
		k.unless(err == nil, options.Item("redact", i), "%v", err)
	}
	k.webhook()
	k.unless(c.Generate.TimeBudget.Duration >= 0, "generate.timeBudget", "%s is negative; leave it out to judge everything, however long it takes", c.Generate.TimeBudget)
	k.unless(c.RunTimeout.Duration >= 0, "runTimeout", "%s is negative; leave it out for no limit", c.RunTimeout)
	k.lossy()
	k.meant()
	k.known()
	k.lint()
	k.patterns("filter", c.Filter)
	k.patterns("skip", c.Skip)
	clusters, _ := options.Of("apiServer")
	k.unless(slices.Contains(clusters.Values, string(c.APIServer)), "apiServer", "unknown kind of API server %q (want %s)", c.APIServer, strings.Join(clusters.Values, ", "))
	k.unless(c.ReportDir != "", "reportDir", "the name of the folder is empty; add one, or leave the key out")
	k.load()
	k.objectives()
	k.rehearse()
	k.disrupt()
	k.settings()
	k.bounds()
	return k.problems
}

// bounds checks that every number is within the bounds in the table of options, unless there is another problem with it.
func (k *checker) bounds() {
	for _, o := range options.All() {
		if o.Bounds == nil {
			continue
		}
		for key, n := range o.Numbers(k.config) {
			origin := k.config.Origin(key)
			unsaid := n == 0 && o.Implied && origin == byDefault
			empty := n == 0 && o.Bounds.HasDefault() && strings.HasPrefix(origin, "--") // a flag is left out instead
			blamed := slices.ContainsFunc(k.problems, func(p *ProblemError) bool { return options.Within(key, p.Key) })
			k.unless(unsaid || blamed || o.Bounds.Hold(n) && !empty, key, "%s", o.Bounds.Wrong(n))
		}
	}
}

func (k *checker) names(key string, names []string) {
	for i, name := range names {
		at := options.Item(key, i)
		k.unless(name != "", at, "the name is empty; give the name of a file, or remove the entry")
		_, err := path.Match(name, "")
		k.unless(err == nil, at, "%q is not a pattern; a [ needs a ]", name)
	}
}

func (k *checker) webhook() {
	w := k.config.Webhook
	if sources := w.sources(); len(sources) > 1 {
		k.problem("webhook."+sources[1], "webhook.%s is also set; give only one of url, fromCRD, command, inCluster and reference", sources[0])
	}
	if w.URL != "" || k.config.given("webhook.url") {
		err := checkURL(w.URL)
		k.unless(err == nil, "webhook.url", "%v", err)
		if err != nil && strings.Contains(w.URL, "@") { // there may be a password before it
			k.problems[len(k.problems)-1].Excerpt = ""
		}
	}
	if w.FromCRD != nil && w.FromCRD.Address != "" {
		k.unless(isAddress(w.FromCRD.Address), "webhook.fromCRD.address", "%q is not an address; write host:port, such as localhost:9443, with a port from 1 to 65535", w.FromCRD.Address)
	}
	if w.Command != nil {
		k.command(*w.Command)
	}
	if w.InCluster != nil {
		k.inCluster(*w.InCluster)
	}
	elsewhere := w.Command == nil && w.InCluster == nil && w.Reference == nil
	k.unless(elsewhere || w.CAFile == "" && !k.config.given("webhook.caFile"), "webhook.caFile", "it is only valid with url and fromCRD; for a webhook that is started here, certificates are created")
	k.unless(elsewhere || w.ServerName == "" && !k.config.given("webhook.serverName"), "webhook.serverName", "it is only valid with url and fromCRD; command has its own serverName")
	certificate := w.ClientCertificate
	complete := certificate.CertFile != "" && certificate.KeyFile != ""
	absent := certificate == ClientCertificate{} && !k.config.given("webhook.clientCertificate")
	k.unless(complete || absent, "webhook.clientCertificate", "it needs both certFile and keyFile")
	k.unless(certificate.CertFile == "" || w.Reference == nil, "webhook.clientCertificate", "the reference webhook does not request one; remove it")
	k.unless(certificate.CertFile == "" || w.InCluster == nil, "webhook.clientCertificate", "API servers of kind have none, so a deployed webhook must not require one; remove it")
	k.unless(w.Timeout.Duration > 0, "webhook.timeout", "%s must be greater than 0; API servers wait for 30s", w.Timeout)
}

func (k *checker) inCluster(c InCluster) {
	const key = "webhook.inCluster"
	k.unless(c.Image != "" || c.Archive != "" || len(c.Manifests) > 0, key, "nothing to deploy; give image, archive or manifests")
	for i, path := range c.Manifests {
		k.unless(path != "", options.Item(key+".manifests", i), "the name is empty; give the name of a file or a folder, or remove the entry")
	}
	k.unless(c.Service == "" || isService(c.Service), key+".service", "%q is not the name of a service; write name or namespace/name", c.Service)
	k.unless(c.Path == "" || strings.HasPrefix(c.Path, "/"), key+".path", "%q does not begin with /; write /convert", c.Path)
	k.unless(c.Secret == "" || c.CASecret == "", key+".caSecret", "there is %s too, into which a certificate is put with an authority of its own; give one of the two", options.Key(key+".secret"))
	k.unless(c.Certs == "" || strings.HasPrefix(c.Certs, "/"), key+".certs", "%q is not a folder in a container; give one that begins with /", c.Certs)
	k.unless(c.ReadyTimeout.Duration >= 0, key+".readyTimeout", "%s must be greater than 0; write 2m", c.ReadyTimeout)
	k.belongs(len(c.Manifests) > 0, key, "it is only valid with manifests; for an image alone a certificate is created", map[string]bool{
		"secret": c.Secret != "", "caSecret": c.CASecret != "",
	})
	k.belongs(len(c.Manifests) == 0, key, "it is only valid for an image alone; manifests specify it themselves", map[string]bool{
		"targetPort": c.TargetPort != 0, "replicas": c.Replicas != 0, "args": len(c.Args) > 0, "env": len(c.Env) > 0, "certs": c.Certs != "",
	})
}

// belongs adds a problem for each given key of a section, unless well is true.
func (k *checker) belongs(well bool, section, problem string, given map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		k.unless(well || !given[name], section+"."+name, "%s", problem)
	}
}

// isService reports whether a text is name or namespace/name.
func isService(text string) bool {
	return regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?/)?[a-z]([-a-z0-9]*[a-z0-9])?$`).MatchString(text)
}

func (k *checker) command(c Command) {
	k.unless(len(c.Args) > 0 && c.Args[0] != "", "webhook.command.args", "no program; write [./bin/manager, ...]")
	for name := range c.Env {
		k.unless(name != "" && !strings.ContainsAny(name, "=\x00"), "webhook.command.env", "%q is not a valid variable name", name)
	}
	k.unless(strings.HasPrefix(c.Path, "/"), "webhook.command.path", "%q does not begin with /; write /convert", c.Path)
	k.unless(c.ReadyTimeout.Duration > 0, "webhook.command.readyTimeout", "%s must be greater than 0; write 60s", c.ReadyTimeout)
}

// likelyURL is the URL that a text with a host, and a port or a path, is meant to be; an example if it has none.
func likelyURL(text string) string {
	if _, rest, found := strings.Cut(text, "://"); found {
		text = rest
	}
	if u, err := url.Parse("https://" + text); err == nil && u.Hostname() != "" && (u.Port() != "" || u.Path != "") {
		u.Path = cmp.Or(u.Path, "/convert")
		return u.String()
	}
	return "https://localhost:9443/convert"
}

// checkURL returns an error that says what is wrong with the URL of a webhook. The error does not quote anything that may contain a
// password.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("it is not a URL; write it as https://localhost:9443/convert")
	case u.User != nil || u.Scheme != "https" && strings.Contains(text, "@"):
		return errors.New("a user or a password is not allowed in it; leave them out")
	case u.Scheme == "http":
		u.Scheme = "https"
		return fmt.Errorf("%q is http, but API servers call webhooks only over https; write it as %s", text, u)
	case u.Port() != "" && u.Hostname() != "" && !isAddress(u.Host):
		return fmt.Errorf("%q: the port %s is not one from 1 to 65535", text, u.Port())
	case u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q is not the URL of a webhook; write it as %s", text, likelyURL(text))
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("a ? or a # is not allowed in it; API servers reject that")
	}
	return nil
}

func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	n, notNumber := strconv.Atoi(port)
	return err == nil && notNumber == nil && host != "" && n >= 1 && n <= 65535
}

func (k *checker) lossy() {
	for i, l := range k.config.Lossy {
		at := options.Item("lossy", i)
		k.unless(l.Path.String() != "", at, "it has no path; write path: spec.list[*].name")
		k.unless(strings.TrimSpace(l.Reason) != "", at, "it has no reason; write reason: why the loss is right")
		k.unless(l.From == "" || l.From != l.Through, at, "from and through are both %s; a conversion has two versions", l.From)
	}
}

func (k *checker) meant() {
	for i, m := range k.config.Moved {
		at := options.Item("moved", i)
		k.unless(m.Path.String() != "", at, "it has no path; write path: spec.list[*].name")
		k.unless(m.Into.String() != "", at, "it does not say where the value is at the other version; write into: spec.other")
		k.unless(strings.TrimSpace(m.Reason) != "", at, "it has no reason; write reason: why this is right")
	}
	for i, r := range k.config.RenamedValues {
		at := options.Item("renamedValues", i)
		k.unless(r.Into.String() == "", at+".into", "a value that is in another field is for moved; leave it out, or write the entry there")
		k.unless(r.Path.String() != "", at, "it has no path; write path: spec.list[*].name")
		k.unless(strings.TrimSpace(r.Reason) != "", at, "it has no reason; write reason: why this is right")
	}
}

// known checks the lists of what is known to fail, always or sometimes. A requirement is in one of them, once.
func (k *checker) known() {
	seen := map[string]bool{}
	for _, list := range []struct {
		key     string
		entries []KnownFailing
	}{{"knownFailing", k.config.KnownFailing}, {"knownFlaky", k.config.KnownFlaky}} {
		for i, known := range list.entries {
			at := options.Item(list.key, i)
			_, found := requirement.Lookup(requirement.ID(known.ID))
			k.unless(known.ID != "", at, "it has no id; \"crdconform list\" shows all")
			k.unless(found || known.ID == "", at+".id", "%q: %s", known.ID, explanation.Unknown(known.ID))
			k.unless(strings.TrimSpace(known.Reason) != "", at, "it has no reason; write reason: why it fails")
			k.unless(!seen[known.ID] || !found, at+".id", "%s is listed twice; remove one", known.ID)
			seen[known.ID] = true
		}
	}
}

// lint checks the levels of what lint finds. Which rules there are only the command knows.
func (k *checker) lint() {
	for i, l := range k.config.Lint {
		at := options.Item("lint", i)
		k.unless(l.Rule != "", at, "it has no rule; \"crdconform lint --rules\" lists all")
		k.unless(slices.Contains([]string{"error", "warning", "note", "off"}, l.Level), at+".level", "write error, warning, note or off")
		k.unless(strings.TrimSpace(l.Reason) != "", at, "it has no reason; write reason: why this is right here")
	}
}

// patterns checks that every pattern matches a requirement. Whether that requirement can be checked is not known here.
func (k *checker) patterns(key string, patterns []string) {
	for i, pattern := range patterns {
		_, err := requirement.ID("").Matches(pattern)
		k.unless(err == nil, options.Item(key, i), "%q is not a pattern; use * for any characters", pattern)
		k.unless(err != nil || selectsAny(pattern), options.Item(key, i), "%q: %s", pattern, explanation.Unknown(pattern))
	}
}

// selectsAny reports whether a pattern matches any requirement.
func selectsAny(pattern string) bool {
	return slices.ContainsFunc(requirement.All(), func(r requirement.Requirement) bool {
		like, err := r.ID.Matches(pattern)
		return like && err == nil
	})
}
