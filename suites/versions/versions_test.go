package versions

import (
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/crdconform/crdconform/internal/suites/suitetest"
)

func TestVersions(t *testing.T) {
	suite, reporter := ginkgo.GinkgoConfiguration()
	suitetest.Run(t, Area, suite, reporter)
}
