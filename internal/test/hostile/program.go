package hostile

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// Program is the main function of a webhook program, which test executables are when their arguments are "webhook MODE PORT CERTS". The modes
// are serve, which is the reference webhook, and
//   - crashes: after 50 answers
//   - daemon: leaves the work to a process of its own, and ends
//   - ends: at once
//   - impure: an annotation is another one each time
//   - leaks: 64 KiB for each request
//   - never: does not begin to listen
func Program(mode, port, certs string) {
	fmt.Fprintln(os.Stderr, "mode", mode)
	handler := webhook.Handler()
	switch mode {
	case "crashes":
		handler = After(50, handler, func() {
			fmt.Fprintln(os.Stderr, "out of cheese")
			os.Exit(7) //nolint:forbidigo // it is a program
		})
	case "daemon":
		self := exec.CommandContext(context.Background(), os.Args[0], "webhook", "serve", port, certs)
		self.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := self.Start(); err != nil {
			panic(err)
		}
		return
	case "ends":
		os.Exit(3) //nolint:forbidigo // it is a program
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
	case "leaks":
		kept := make(chan []byte, 1<<20)
		handler = After(0, handler, func() { kept <- bytes.Repeat([]byte("x"), 64<<10) })
	case "never":
		<-time.After(time.Hour)
	}
	fmt.Fprintln(os.Stderr, http.ListenAndServeTLS("127.0.0.1:"+port, filepath.Join(certs, "tls.crt"), filepath.Join(certs, "tls.key"), handler))
}
