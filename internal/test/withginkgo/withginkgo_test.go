// Package withginkgo is a package that has Ginkgo specs of its own, as many operators do.
package withginkgo

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

var _ = ginkgo.Describe("an operator", func() {
	ginkgo.It("has specs", func() {}) //nolint:forbidigo // it stands for an operator's
})

// TestSpecs runs the specs of the package. It is first in one process of TestRunRefuses, and second in another.
func TestSpecs(t *testing.T) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "operator")
}

// TestCheck is what Run refuses. It is skipped but in the processes of TestRunRefuses.
func TestCheck(t *testing.T) {
	if os.Getenv("CRDCONFORM_TEST_REFUSAL") == "" { //nolint:forbidigo // see TestRunRefuses
		t.Skip("TestRunRefuses runs it")
	}
	crdconform.Run(t, crdconform.Check{Config: config.Config{Cluster: config.None, Filter: []string{"webhook.response"}}, Handler: webhook.Handler()})
}

// TestRunRefuses has Run say in each order that it does not belong here, and the specs of the package run nevertheless.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, pattern := range map[string]string{"alone": "^TestCheck$", "after the specs": "^(TestSpecs|TestCheck)$"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), self, "-test.v", "-test.shuffle=off", "-test.run="+pattern)
			command.Env = append(os.Environ(), "CRDCONFORM_TEST_REFUSAL=1")
			out, err := command.CombinedOutput()
			text := string(out)
			if err == nil || !strings.Contains(text, "--- FAIL: TestCheck") || !strings.Contains(text, "move the test to a package without any") {
				t.Errorf("%v:\n%s", err, text)
			}
			if strings.Contains(pattern, "TestSpecs") && !strings.Contains(text, "--- PASS: TestSpecs") {
				t.Errorf("the specs of the package did not run:\n%s", text)
			}
		})
	}
}
