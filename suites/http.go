package suites

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

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

func (e *Env) do(ctx context.Context, method, path string, body []byte, header http.Header) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, e.Cluster.Config().Host+path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	for name, values := range header {
		request.Header[name] = values
	}
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
