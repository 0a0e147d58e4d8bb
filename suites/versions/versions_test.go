package versions

import (
	"testing"

	"github.com/crdconform/crdconform/suites/suitetest"
)

func TestVersions(t *testing.T) { suitetest.Run(t, Area) }
