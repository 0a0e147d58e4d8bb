package suitetest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// WebhookProgram builds the webhook that tests deploy into clusters, which an image can be made of. It returns the path.
func WebhookProgram(t *testing.T) (string, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "webhook")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/crdconform/crdconform/internal/subject/deployed/testdata/webhook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the webhook: %w\n%s", err, out)
	}
	return program, nil
}
