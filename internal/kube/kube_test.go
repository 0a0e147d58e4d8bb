package kube

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	if err := Answers(t.Context(), server.Client(), server.URL+"/readyz"); err != nil {
		t.Error(err)
	}
	if err := Answers(t.Context(), server.Client(), server.URL+"/livez"); err == nil || err.Error() != "500 Internal Server Error" {
		t.Errorf("got %v, want the status", err)
	}
	server.Close()
	if err := Answers(t.Context(), server.Client(), server.URL+"/readyz"); err == nil {
		t.Error("got no error of a server that is gone")
	}
}
