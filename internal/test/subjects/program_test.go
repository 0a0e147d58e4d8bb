package subjects_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

func sample() program.Webhook {
	return program.Webhook{
		Name: "sample",
		Bugs: []program.Bug{{Name: "first", Summary: "does one thing wrong"}, {Name: "second", Summary: "does another"}},
		Handler: func(bug string) (http.Handler, error) {
			if bug == "second" {
				return nil, errors.New("second cannot be planted")
			}
			return http.NotFoundHandler(), nil
		},
	}
}

func TestArgumentsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	listener, port, err := program.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no certificate":  {nil, "--certs"},
		"certs not there": {[]string{"--certs", "/nowhere"}, "certificate"},
		"unknown bug":     {[]string{"--certs", ".", "--bug", "third"}, `no bug "third"`},
		"cannot plant":    {[]string{"--certs", ".", "--bug", "second"}, "second cannot be planted"},
		"unknown flag":    {[]string{"--volume", "11"}, "volume"},
		"argument":        {[]string{"now"}, `unexpected argument "now"`},
		"port":            {[]string{"--certs", ".", "--port", "65536"}, "port 65536 must be between 0 and 65535"},
		"negative port":   {[]string{"--certs", ".", "--port", "-1"}, "port -1 must be between 0 and 65535"},
		"port as text":    {[]string{"--certs", ".", "--port", "https"}, "https"},
	} {
		var out bytes.Buffer
		if err := sample().Run(t.Context(), test.args, &out); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
		if strings.Contains(out.String(), "listening") {
			t.Errorf("%s: it says that it listens", name)
		}
	}
	if _, _, err := program.Listen(t.Context(), port); err == nil {
		t.Errorf("it listens on port %s, which somebody else does", strconv.Itoa(port))
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--bugs": "first                does one thing wrong\nsecond               does another\n", "--help": "--port"} {
		var out bytes.Buffer
		if err := sample().Run(t.Context(), []string{flag}, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %q, %v, want %q", flag, out.String(), err, want)
		}
	}
}

func post(t *testing.T, handler http.Handler, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, program.Path, strings.NewReader(body)))
	return w
}

func TestHandler(t *testing.T) {
	t.Parallel()
	handler := program.Handler(func(request program.Review) ([]json.RawMessage, error) {
		if request.Desired != "example.org/v1" {
			return nil, errors.New(`no "version" like that`)
		}
		return request.Objects, nil
	})
	for name, test := range map[string]struct {
		body, want string
		status     int
	}{
		"objects": {
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"a\"b","desiredAPIVersion":"example.org/v1","objects":[{"a": 1},{"b":"<"}]}}`,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"result":{"status":"Success"},"uid":"a\"b","convertedObjects":[{"a": 1},{"b":"<"}]}}`, 200,
		},
		"none": {
			`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","request":{"uid":"a","desiredAPIVersion":"example.org/v1","objects":[]}}`,
			`{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview","response":{"result":{"status":"Success"},"uid":"a","convertedObjects":[]}}`, 200,
		},
		"failure": {
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"a","desiredAPIVersion":"example.org/v2","objects":[{}]}}`,
			`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"result":{"message":"no \"version\" like that","status":"Failed"},"uid":"a"}}`, 200,
		},
		"no JSON":    {`{"apiVersion"`, "the body is no ConversionReview", 400},
		"nothing":    {``, "the body is no ConversionReview", 400},
		"list":       {`[]`, "the body is no ConversionReview", 400},
		"null":       {`null`, "with a request", 400},
		"no request": {`{"kind":"ConversionReview"}`, "with a request", 400},
		"version":    {`{"apiVersion":"apiextensions.k8s.io/v2","kind":"ConversionReview","request":{}}`, `cannot answer in "apiextensions.k8s.io/v2"`, 400},
		"other kind": {`{"kind":"AdmissionReview","request":{}}`, `its kind is "AdmissionReview"`, 400},
	} {
		w := post(t, handler, test.body)
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.want) {
			t.Errorf("%s: got %d %s, want %d %s", name, w.Code, w.Body, test.status, test.want)
		}
		if w.Code == 200 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %s is no JSON", name, w.Body)
		}
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	err := program.Plain(ctx, program.Settings{Handler: http.NotFoundHandler(), Certs: t.TempDir(), Ready: func(int) {}})
	if err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("got %v", err)
	}
}
