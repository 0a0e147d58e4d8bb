//go:build unix

package minors

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps a command from being interrupted by the terminal.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
