package suites_test

import (
	"slices"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/defaulting"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/migration"
	"github.com/crdconform/crdconform/suites/objects"
	"github.com/crdconform/crdconform/suites/publishing"
	"github.com/crdconform/crdconform/suites/resource"
	"github.com/crdconform/crdconform/suites/schema"
	"github.com/crdconform/crdconform/suites/storage"
	"github.com/crdconform/crdconform/suites/subresources"
	"github.com/crdconform/crdconform/suites/validation"
	"github.com/crdconform/crdconform/suites/versions"
	"github.com/crdconform/crdconform/suites/webhook"
)

// apiServer is for all tests that leave nothing behind.
var apiServer suitetest.Shared

func TestMain(m *testing.M) { apiServer.Main(m) }

// chapters are all that have specs. TestCatalogueAndSpecsAgree misses those that are not listed.
var chapters = []suites.Area{
	versions.Area, conversion.Area, webhook.Area, storage.Area, schema.Area, validation.Area, defaulting.Area, lifecycle.Area,
	migration.Area, publishing.Area, subresources.Area, objects.Area, control.Area, resource.Area,
}

// TestChapters runs the specs of one chapter after the other on one API server, with the reference webhook: none may fail. To run some
// of a chapter: go test ./internal/suites -run TestChapters/storage -ginkgo.focus 'stored versions'.
func TestChapters(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it runs all chapters, as make run does")
	}
	c := apiServer.Cluster(t)
	suite, reporter := ginkgo.GinkgoConfiguration()
	elsewhere := []string{control.Area.Name, resource.Area.Name} // what they want of a cluster or of a definition is in tests of theirs
	for _, area := range chapters {
		if slices.Contains(elsewhere, area.Name) {
			continue
		}
		t.Run(area.Name, func(t *testing.T) { suitetest.Run(t, c, area, suite, reporter) })
	}
}
