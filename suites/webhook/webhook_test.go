package webhook

import (
	"testing"

	"github.com/crdconform/crdconform/suites/suitetest"
)

func TestWebhook(t *testing.T) { suitetest.Run(t, Area) }
