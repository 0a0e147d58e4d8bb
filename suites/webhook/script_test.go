package webhook

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/wire"
	"github.com/crdconform/crdconform/requirement"
)

func TestCurl(t *testing.T) {
	t.Parallel()
	const sent = " -H 'Accept: application/json, */*' -H 'Content-Type: application/json' -H Expect: -H 'User-Agent: kube-apiserver-admission' -X POST --data-binary @request.json "
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		endpoint wire.Endpoint
		want     string
	}{
		"as it is": {
			wire.Endpoint{URL: "https://localhost:9443/convert"},
			"curl -sS -i --compressed --max-time 30 --http1.1" + sent + "'https://localhost:9443/convert?timeout=30s'",
		},
		"certificates and HTTP/2": {
			wire.Endpoint{URL: "https://localhost:9443/convert", CA: authority.PEM(), HTTP2: true},
			"curl -sS -i --compressed --max-time 30 --cacert ca.crt" + sent + "'https://localhost:9443/convert?timeout=30s'",
		},
		"another name": {
			wire.Endpoint{URL: "https://127.0.0.1:9443/convert", ServerName: "a.b.svc"},
			"curl -sS -i --compressed --max-time 30 --http1.1 --connect-to a.b.svc:9443:127.0.0.1:9443" + sent + "'https://a.b.svc:9443/convert?timeout=30s'",
		},
		"another name at the default port": {
			wire.Endpoint{URL: "https://[::1]/", ServerName: "a.b.svc"},
			"curl -sS -i --compressed --max-time 30 --http1.1 --connect-to 'a.b.svc:443:[::1]:443'" + sent + "'https://a.b.svc:443/?timeout=30s'",
		},
		"a slash at the end": {
			wire.Endpoint{URL: "https://localhost:9443/convert/"},
			"curl -sS -i --compressed --max-time 30 --http1.1" + sent + "'https://localhost:9443/convert?timeout=30s'",
		},
		"the name that it has": {
			wire.Endpoint{URL: "https://localhost/it's", ServerName: "localhost"},
			"curl -sS -i --compressed --max-time 30 --http1.1" + sent + `'https://localhost:443/it%27s?timeout=30s'`,
		},
	} {
		client, err := wire.Connect(test.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if got := curl(client, exchange{}, "request.json"); got != test.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
	}
}

// digits differ from answer to answer of a webhook that counts.
var digits = regexp.MustCompile("[0-9]+")

// shownAgain runs the script of a result while the webhook is there: what comes back must show what was found.
func shownAgain(t *testing.T, result suites.Result, counts bool) {
	t.Helper()
	files := map[string][]byte{}
	dir := t.TempDir()
	for _, a := range result.Attachments {
		files[a.Name] = a.Data
		if err := os.WriteFile(filepath.Join(dir, a.Name), a.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, asked := files["request.json"]; !asked {
		t.Skip("there is no exchange")
	}
	if _, err := exec.LookPath("curl"); err != nil && os.Getenv("CRDCONFORM_REQUIRE_TOOLS") == "" { //nolint:forbidigo // CI sets it for the tests of all packages
		t.Skip("there is no curl on PATH")
	}
	out, err := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "reproduce.sh")).Output()
	answers := strings.Split(string(out), "HTTP/1.1 ")[1:]
	last := contract.Response{Err: err}
	if len(answers) > 0 && len(answers) == bytes.Count(files["reproduce.sh"], []byte("\ncurl ")) { // or the last request has none
		last = shownBy(answers[len(answers)-1])
	}
	same := bytes.Equal(last.Body, files["response.txt"]) || counts && bytes.Equal(digits.ReplaceAll(last.Body, nil), digits.ReplaceAll(files["response.txt"], nil))
	var judgement contract.Judgement
	if request, err := contract.ParseRequest(files["request.json"]); err == nil {
		judgement = request.Judge(last)
	}
	switch {
	case same && (err != nil || len(last.Body) > 0):
	case len(judgement.Of(result.Requirement)) > 0:
	case len(answers) == 2 && result.Requirement == requirement.WebhookConversionPure && answers[0] != answers[1]:
	default:
		t.Errorf("the script shows something else (%v):\n%.2000s\nand at first it was:\n%.1000s", err, out, files["response.txt"])
	}
}

// shownBy is a response as curl shows it, without HTTP/1.1 at its beginning.
func shownBy(text string) contract.Response {
	head, body, _ := strings.Cut(text, "\r\n\r\n")
	status, _ := strconv.Atoi(head[:3])
	r := contract.Response{Status: status, Body: []byte(body)}
	for line := range strings.SplitSeq(head, "\r\n") {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Content-Type":
			r.ContentType = value
		case "Location":
			r.RedirectedTo = value
		}
	}
	return r
}
