package crdconform_test

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

// refusal is set in the processes of TestRunRefuses.
const refusal = "CRDCONFORM_TEST_REFUSAL"

// isOperator reports whether this is a process of TestRunRefuses, in which the package has Ginkgo specs of its own, as many operators do.
func isOperator() bool { return os.Getenv(refusal) != "" } //nolint:forbidigo // see TestRunRefuses

var _ = isOperator() && ginkgo.Describe("an operator", func() {
	ginkgo.It("has specs", func() {}) //nolint:forbidigo // it stands for an operator's
})

// TestOperatorSpecs runs the specs of the package. It is first in one process of TestRunRefuses, and is not in the other.
func TestOperatorSpecs(t *testing.T) {
	if !isOperator() {
		t.Skip("TestRunRefuses runs it")
	}
	gomega.RegisterFailHandler(ginkgo.Fail)
	ginkgo.RunSpecs(t, "operator")
}

// TestOperatorCheck is what Run refuses.
func TestOperatorCheck(t *testing.T) {
	if !isOperator() {
		t.Skip("TestRunRefuses runs it")
	}
	crdconform.Run(t, crdconform.Check{Config: config.Config{APIServer: config.None, Filter: []string{"webhook.response"}}, Handler: webhook.Handler()})
}

// TestRunRefuses has Run say in each order that it does not belong here, and the specs of the package run nevertheless.
func TestRunRefuses(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, pattern := range map[string]string{"alone": "^TestOperatorCheck$", "after the specs": "^(TestOperatorSpecs|TestOperatorCheck)$"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), self, "-test.v", "-test.shuffle=off", "-test.run="+pattern)
			command.Env = append(os.Environ(), refusal+"=1")
			out, err := command.CombinedOutput()
			text := string(out)
			if err == nil || !strings.Contains(text, "--- FAIL: TestOperatorCheck") || !strings.Contains(text, "move the test to a package without any") {
				t.Errorf("%v:\n%s", err, text)
			}
			if strings.Contains(pattern, "TestOperatorSpecs") && !strings.Contains(text, "--- PASS: TestOperatorSpecs") {
				t.Errorf("the specs of the package did not run:\n%s", text)
			}
		})
	}
}
