package lifecycle

import (
	"testing"

	"github.com/crdconform/crdconform/suites/suitetest"
)

func TestLifecycle(t *testing.T) { suitetest.Run(t, Area) }
