package storage

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// auditEvent is an event as API servers write them.
func auditEvent(id, stage, verb, user, agent, version, at string) string {
	return fmt.Sprintf(`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":%q,"stage":%q,"requestURI":"/apis/example.com/%s/crontabs","verb":%q,`+
		`"user":{"username":%q,"groups":["a"]},"userAgent":%q,"objectRef":{"resource":"crontabs","apiGroup":"example.com","apiVersion":%q},"requestReceivedTimestamp":"2026-01-01T%s.000000Z"}`+"\n",
		id, stage, version, verb, user, agent, version, at)
}

func auditLog(t *testing.T, content []byte) (*AuditLog, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadAuditLog(t.Context(), path, []string{"crontabs.example.com"})
}

// TestAuditLog counts requests once each, and not those of crdconform.
func TestAuditLog(t *testing.T) {
	text := auditEvent("1", "RequestReceived", "get", "jane", "kubectl", "v1beta1", "10:00:00") +
		auditEvent("1", "ResponseComplete", "get", "jane", "kubectl", "v1beta1", "10:00:00") +
		auditEvent("2", "ResponseComplete", "get", "jane", "kubectl", "v1beta1", "10:00:02") +
		auditEvent("3", "ResponseStarted", "watch", "operator", "manager", "v1beta1", "10:00:01") +
		auditEvent("4", "ResponseStarted", "watch", "operator", "manager", "v1beta1", "10:00:03") +
		auditEvent("3", "ResponseComplete", "watch", "operator", "manager", "v1beta1", "10:00:01") +
		auditEvent("5", "Panic", "get", "jane", "kubectl", "v1beta1", "10:00:01") +
		auditEvent("6", "ResponseComplete", "list", "jane", "crdconform/1", "v1beta1", "10:00:05") +
		auditEvent("7", "ResponseComplete", "list", "jane", "kubectl", "v1", "10:00:06") +
		`{"auditID":"8","stage":"ResponseComplete","requestURI":"/version","requestReceivedTimestamp":"2026-01-01T10:00:09.000000Z"}` + "\n"
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write([]byte(text))
	w.Close()
	for name, content := range map[string][]byte{"text": []byte(text), "gzip": zipped.Bytes()} {
		t.Run(name, func(t *testing.T) {
			log, err := auditLog(t, content)
			if err != nil {
				t.Fatal(err)
			}
			r := log.of(&Definition{Group: "example.com", Plural: "crontabs"}, "v1beta1")
			if !r.Known || r.Total != 5 || len(r.Asked) != 2 || !strings.HasSuffix(r.Basis, "from 2026-01-01T10:00:00Z to 2026-01-01T10:00:09Z") {
				t.Fatalf("got %+v", r)
			}
			if a := r.Asked[0]; a.User != "jane" || a.UserAgent != "kubectl" || a.Count != 3 || a.Last.Second() != 2 {
				t.Errorf("got %+v", a)
			}
			if a := r.Asked[1]; a.User != "operator" || a.Count != 2 || a.Last.Second() != 3 {
				t.Errorf("got %+v", a)
			}
			if r := log.of(&Definition{Group: "example.com", Plural: "crontabs"}, "v2"); !r.Known || r.Total != 0 || len(r.Gaps) > 0 {
				t.Errorf("got %+v", r)
			}
			if r := log.of(&Definition{Group: "example.com", Plural: "others"}, "v1beta1"); r.Known || len(r.Gaps) != 1 {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// TestAuditPolicy has a log that does not show who reads.
func TestAuditPolicy(t *testing.T) {
	d := &Definition{Group: "example.com", Plural: "crontabs"}
	written := auditEvent("1", "ResponseComplete", "update", "jane", "kubectl", "v1", "10:00:00")
	for name, test := range map[string]struct {
		content string
		known   bool
	}{
		"writes":             {written, false},
		"reads":              {written + auditEvent("2", "ResponseComplete", "watch", "jane", "kubectl", "v1", "10:00:00"), true},
		"reads of our own":   {written + auditEvent("2", "ResponseComplete", "list", "jane", "crdconform/1", "v1", "10:00:00"), true},
		"deletes and writes": {written + auditEvent("2", "ResponseComplete", "delete", "jane", "kubectl", "v1", "10:00:00"), false},
	} {
		log, err := auditLog(t, []byte(test.content))
		if err != nil {
			t.Fatal(err)
		}
		r := log.of(d, "v1beta1")
		if r.Known != test.known || test.known == (len(r.Gaps) > 0) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

// TestBadAuditLogs gives files that are no audit log.
func TestBadAuditLogs(t *testing.T) {
	whole := auditEvent("1", "ResponseComplete", "get", "jane", "kubectl", "v1", "10:00:00")
	for name, test := range map[string]struct{ content, want string }{
		"empty":     {"", "has no events"},
		"text":      {"2026-01-01 AUDIT: id=1", `event 1 is not JSON as "--audit-log-format=json" of API servers has it`},
		"other":     {"{}", "event 1 is not an audit event: it has no auditID or no stage"},
		"truncated": {whole + whole[:50], "it ends within event 2; it is truncated"},
		"gzip":      {"\x1f\x8b\x08garbage", "it begins like gzip, but is not"},
	} {
		if _, err := auditLog(t, []byte(test.content)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if _, err := ReadAuditLog(t.Context(), "none.log", nil); err == nil {
		t.Error("there is no such file, and no error")
	}
}
