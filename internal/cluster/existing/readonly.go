package existing

import (
	"fmt"
	"net/http"
)

// readOnly lets requests through that change nothing, and no others.
type readOnly struct {
	next http.RoundTripper
	base string // path that the API server's own paths are below; empty for most
}

// askPath is where the API server says what its user may do. To ask, one creates an object that is stored nowhere.
const askPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// RefusedError says that a request was not sent, since the run only reads.
type RefusedError struct{ Method, Path string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s is not sent in a read-only run", e.Method, e.Path)
}

// RoundTrip sends a request on if it only reads.
func (r readOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.Method == http.MethodGet, request.Method == http.MethodHead:
	case request.Method == http.MethodPost && request.URL.Path == r.base+askPath:
	default:
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, &RefusedError{request.Method, request.URL.Path}
	}
	return r.next.RoundTrip(request)
}
