package hostile

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// Odd returns a webhook that behaves in a way of its own, as the command behaving of scripts has it; nil if there is no such behavior:
//   - adding FIELD VALUE: to the spec; random is another value each time
//   - delayed DURATION: answers after a pause
//   - forgetful: drops the field legacy of the spec at v1beta1
//   - garbage
//   - impure: after 320 answers, it loses a field now and then, and one differs each time
//   - not-found
func Odd(args []string) http.Handler {
	switch args[0] {
	case "adding":
		return altering(args[1], func() any {
			if number, err := strconv.ParseInt(args[2], 10, 64); err == nil {
				return number
			} else if args[2] == "random" {
				return strconv.FormatInt(rand.Int64(), 10)
			}
			return args[2]
		})
	case "delayed":
		pause, err := time.ParseDuration(args[1])
		if err != nil {
			return nil
		}
		return delayed(pause)
	case "forgetful":
		return webhook.Changing(func(object map[string]any) {
			if spec, is := object["spec"].(map[string]any); is && object["apiVersion"] == "example.com/v1beta1" {
				delete(spec, "legacy")
			}
		})
	case "garbage":
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "\x1b[2J\xff\x00garbage\r\n")
		})
	case "impure":
		return impure()
	case "not-found":
		return http.NotFoundHandler()
	}
	return nil
}

// altering is the reference webhook with a field of the spec of its own.
func altering(field string, value func() any) http.Handler {
	return webhook.Changing(func(object map[string]any) {
		spec, _ := object["spec"].(map[string]any)
		if spec == nil {
			spec = map[string]any{}
			object["spec"] = spec
		}
		spec[field] = value()
	})
}

// impure is the reference webhook with an annotation that differs each time. Once it was asked 320 times, it loses each tenth port: a load
// test asks 256 times before the load, and 64 times for the way back.
func impure() http.Handler {
	var answers atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		webhook.Handler().ServeHTTP(recorder, r)
		n := answers.Add(1)
		answer := strings.ReplaceAll(recorder.Body.String(), `"example.com/owner":"somebody"`, fmt.Sprintf(`"example.com/owner":"%d"`, n))
		if n > 320 && n%10 == 0 {
			answer = strings.ReplaceAll(answer, `"port":`, `"lost":`)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})
}

// After does something before each answer, once a number of requests were answered.
func After(good int64, handler http.Handler, do func()) http.Handler {
	var seen atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen.Add(1) > good {
			do()
		}
		handler.ServeHTTP(w, r)
	})
}

// delayed answers each request after a pause.
func delayed(pause time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(pause):
			webhook.Handler().ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// Hanging returns a webhook that is good for a number of requests, and then does not answer any more. The channel is closed
// with the first that goes unanswered.
func Hanging(requests int64) (http.Handler, <-chan struct{}) {
	var seen atomic.Int64
	hangs := make(chan struct{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := seen.Add(1)
		if n == requests+1 {
			close(hangs)
		}
		if n > requests {
			// The server sees its client go only when the body was read.
			_, _ = http.MaxBytesReader(w, r.Body, 1<<20).Read(make([]byte, 1<<20))
			<-r.Context().Done()
			return
		}
		webhook.Handler().ServeHTTP(w, r)
	}), hangs
}
