package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/hostile"
)

// definitionFile is the definition of what the reference webhook converts.
const definitionFile = "../../fixtures/definitions/reference.yaml"

// few objects show what tests that are not about generated ones look for.
const few = "4"

// gadgets is a definition that the reference webhook can convert: it takes host and port apart at v1 for any kind.
//
//go:embed testdata/gadgets.yaml
var gadgets string

//go:embed testdata/gadget-samples.yaml
var gadgetSamples string

// Reports that tests and scripts store.
var (
	//go:embed testdata/report.yaml
	verdicts string
	//go:embed testdata/repeats.yaml
	repeats string
)

// there returns the whole name of a file, for processes that run elsewhere.
func there(t *testing.T, name string) string {
	t.Helper()
	whole, err := filepath.Abs(name)
	check(t, err)
	return whole
}

// folder returns a directory with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

// ran runs a command line in this process, which writes its report to a folder of its own.
func ran(t *testing.T, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	if command := args[0]; command == "check" || command == "load" {
		args = slices.Insert(slices.Clone(args), 1, "--report-dir", filepath.Join(dir, "crdconform-report"))
	}
	var out, errs strings.Builder
	code := execute(t.Context(), args, streams{out: &out, err: &errs})
	return result{Dir: dir, Code: code, Out: out.String(), Err: errs.String()}
}

// isWebhook reports whether this executable is to be a webhook program: "webhook MODE PORT CERTS".
func isWebhook(args []string) bool { return len(args) == 5 && args[1] == "webhook" }

// runWebhook is the webhook program in one of its modes.
func runWebhook(mode, port, certs string) {
	fmt.Fprintln(os.Stderr, "mode", mode)
	handler := webhook.Handler()
	switch mode {
	case "ends":
		os.Exit(3) //nolint:forbidigo // it is a program of its own
	case "never":
		<-time.After(time.Hour)
	case "daemon":
		self := exec.CommandContext(context.Background(), os.Args[0], "webhook", "serve", port, certs)
		self.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := self.Start(); err != nil {
			panic(err)
		}
		return
	case "crashes":
		handler = hostile.After(50, handler, func() {
			fmt.Fprintln(os.Stderr, "out of cheese")
			os.Exit(7) //nolint:forbidigo // it is a program of its own
		})
	case "leaks": // 64 KiB for each request
		kept := make(chan []byte, 1<<20)
		handler = hostile.After(0, handler, func() { kept <- bytes.Repeat([]byte("x"), 64<<10) })
	case "impure":
		handler = webhook.Changing(func(object map[string]any) {
			meta, _ := object["metadata"].(map[string]any)
			annotations, _ := meta["annotations"].(map[string]any)
			if annotations == nil {
				annotations = map[string]any{}
			}
			annotations["example.com/converted"] = fmt.Sprintf("%020d", rand.Uint64()) // of one length, or else it grows
			meta["annotations"] = annotations
		})
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServeTLS("127.0.0.1:"+port, filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"), handler))
}

// webhookProgram returns the arguments that have check start this executable in a mode.
func webhookProgram(t *testing.T, mode string) []string {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	return []string{"--", self, "webhook", mode, "{port}", "{certs}"}
}

// eventually waits until something is so.
func eventually(t *testing.T, so func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(5 * time.Minute); !so(); {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal("it did not come about")
		}
	}
}
