//go:build kind

package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestInterruptedCreation breaks a real creation off.
func TestInterruptedCreation(t *testing.T) {
	options := settings(t)
	options.Name = "test-interrupted"
	leavesNothing(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second)
	defer cancel()
	begun := time.Now()
	c, err := Start(ctx, options)
	if err == nil {
		_ = c.Stop(context.WithoutCancel(ctx))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	t.Logf("over after %s", time.Since(begun).Round(time.Millisecond))
	if took := time.Since(begun); took > 3*time.Minute {
		t.Errorf("it took %s", took)
	}
	left, err := clusters(context.WithoutCancel(ctx))
	if err != nil || slices.Contains(left, Prefix+"test-interrupted") {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestPortInUse has a real creation fail on a port.
func TestPortInUse(t *testing.T) {
	options := settings(t)
	leavesNothing(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	options.ConfigFile = filepath.Join(t.TempDir(), "kind.yaml")
	text := fmt.Sprintf("kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nnetworking: {apiServerPort: %d}\n", listener.Addr().(*net.TCPAddr).Port)
	if err := os.WriteFile(options.ConfigFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	options.Name = "test-port"
	_, err = Start(t.Context(), options)
	want := fmt.Sprintf("kind: %s is in use", listener.Addr())
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	left, err := clusters(t.Context())
	if err != nil || slices.Contains(left, Prefix+"test-port") {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestImageThatIsNotThere(t *testing.T) {
	options := settings(t)
	leavesNothing(t)
	options.Image = "localhost:1/no-such-node:v1.36.0"
	_, err := Start(t.Context(), options)
	if err == nil || !strings.HasPrefix(err.Error(), "kind: the node image localhost:1/no-such-node:v1.36.0 is not available locally and cannot be pulled: ") {
		t.Errorf("got %v", err)
	}
}

// clusters returns all clusters on this machine, including those of others.
func clusters(ctx context.Context) ([]string, error) {
	_, all, err := asked(ctx, "")
	if err != nil {
		return nil, err
	}
	return all.List()
}
