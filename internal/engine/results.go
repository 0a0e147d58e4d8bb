package engine

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/crdconform/crdconform/internal/shell"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// Translation says how results of specs are written into a report.
type Translation struct {
	Subject string                         // the definition that they are about; may be empty
	Dir     string                         // of the evidence, in the report folder
	Revise  func(*suites.Result)           // changes verdicts by what is known to fail
	Rerun   func(id requirement.ID) string // the command that checks one requirement again
	Client  *wire.Client                   // of the webhook that was asked; nil when none was
}

// Results translates the results of specs for a report.
func Results(results []suites.Result, t Translation) []reports.Result {
	translated := make([]reports.Result, 0, len(results))
	for _, r := range results {
		t.Revise(&r)
		entry, _ := requirement.Lookup(r.Requirement)                             // specs of unknown requirements cannot be declared
		entry.Severity, entry.Because, entry.Parts = requirement.Unknown, "", nil // the catalogue's, which the verdict follows from
		result := reports.Result{
			Requirement: entry,
			Subject:     t.Subject,
			Spec:        r.Text,
			Location:    r.Location,
			Verdict:     r.Verdict,
			Reason:      r.Reason,
			Seconds:     r.Duration.Seconds(),
			Rerun:       t.Rerun(r.Requirement),
			Output:      r.Output,
			Immaterial:  r.Immaterial,
		}
		dir := path.Join(t.Dir, string(r.Requirement))
		asked := false
		for _, attachment := range r.Attachments {
			result.Files = append(result.Files, reports.File{Path: path.Join(dir, attachment.Name), Data: attachment.Data})
			asked = asked || attachment.Name == "request.json"
		}
		if asked && t.Client != nil {
			result.Curl = curl(t.Client, dir)
		}
		translated = append(translated, result)
	}
	return translated
}

// curl returns a command that resends a request stored in the report folder.
func curl(client *wire.Client, dir string) string {
	e := client.Endpoint()
	var b strings.Builder
	b.WriteString("curl -i")
	if len(e.CA) > 0 {
		fmt.Fprintf(&b, " --cacert %s/ca.crt", dir)
	}
	if e.ClientCertificate != nil {
		b.WriteString(" --cert CLIENT.crt --key CLIENT.key")
	}
	if !e.HTTP2 {
		b.WriteString(" --http1.1")
	}
	if u, err := url.Parse(e.URL); err == nil && e.ServerName != "" && e.ServerName != u.Hostname() {
		port := cmp.Or(u.Port(), "443")
		fmt.Fprintf(&b, " --connect-to %s", shell.Quote(net.JoinHostPort(e.ServerName, port)+":"+net.JoinHostPort(u.Hostname(), port)))
	}
	fmt.Fprintf(&b, " -H 'Content-Type: application/json' --data-binary @%s/request.json %s", dir, shell.Quote(client.URL()))
	return b.String()
}

// translation returns how the results for a definition are written into the report.
func (p *Plan) translation(definition string, client *wire.Client) Translation {
	shown := definition
	if len(p.kinds) < 2 {
		shown = ""
	}
	return Translation{
		Subject: definition,
		Dir:     path.Join("exchanges", definition),
		Revise:  p.Revise,
		Rerun: func(id requirement.ID) string {
			if p.want.RerunCommand == nil {
				return ""
			}
			return p.want.RerunCommand(shown, id)
		},
		Client: client,
	}
}
