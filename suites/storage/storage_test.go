package storage

import (
	"testing"

	"github.com/crdconform/crdconform/suites/suitetest"
)

func TestStorage(t *testing.T) { suitetest.Run(t, Area) }
