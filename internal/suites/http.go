package suites

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/crdconform/crdconform/internal/pause"
)

// retryPause is how long to wait before a request is sent again. API servers ask for whole seconds, which they need far
// less than.
const retryPause = 50 * time.Millisecond

// Do sends a request to the API server as it is, for what the clients hide. The path begins with a slash and may have a
// query. It ends the spec as Errored when there is no response.
func (e *Env) Do(ctx context.Context, method, path string, body []byte, header http.Header) Answer {
	answer, err := e.do(ctx, method, path, body, header)
	e.Require(err, "%s %s", method, path)
	return answer
}

// Get sends a GET request for JSON, see Do.
func (e *Env) Get(ctx context.Context, path string) Answer {
	return e.Do(ctx, http.MethodGet, path, nil, http.Header{"Accept": {"application/json"}})
}

// do sends a request until the API server does not ask to try it again any more. It does so while it fills a watch cache;
// the clients see to that by themselves.
func (e *Env) do(ctx context.Context, method, path string, body []byte, header http.Header) (Answer, error) {
	for {
		answer, err := e.once(ctx, method, path, body, header)
		if err != nil || answer.Status != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
			return answer, err
		}
		if err := pause.For(ctx, retryPause); err != nil {
			return answer, err
		}
	}
}

func (e *Env) once(ctx context.Context, method, path string, body []byte, header http.Header) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(e.Cluster.Config().Host, "/")+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	maps.Copy(request.Header, header)
	response, err := e.http.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the response: %w", err)
	}
	return Answer{response.StatusCode, response.Header, read}, nil
}
