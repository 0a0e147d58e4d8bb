package suites

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/onsi/ginkgo/v2"
)

// reach notices when requests do not get through to the API server. What a spec finds then is not the API server's doing.
type reach struct {
	mu    sync.Mutex
	first error // since watch was called
}

// through makes a transport record requests without a response, unless their caller gave them up.
func (u *reach) through(next http.RoundTripper) http.RoundTripper { return reaching{u, next} }

type reaching struct {
	*reach

	next http.RoundTripper
}

// RoundTrip sends a request on.
func (u reaching) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := u.next.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.first == nil {
			u.first = fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
		}
	}
	return response, err
}

// watch begins to notice for a spec. The function that it returns ends that, and puts into the report of the spec what was
// noticed.
func (u *reach) watch() func() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.first = nil
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.first != nil {
			ginkgo.AddReportEntry(entryUnreachable, fmt.Sprintf("the API server could not be reached: %v", u.first), ginkgo.ReportEntryVisibilityNever)
		}
	}
}
