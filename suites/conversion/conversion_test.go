package conversion

import (
	"testing"

	"github.com/crdconform/crdconform/suites/suitetest"
)

func TestConversion(t *testing.T) { suitetest.Run(t, Area) }
