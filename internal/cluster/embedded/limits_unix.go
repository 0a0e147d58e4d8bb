//go:build linux || darwin

package embedded

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// neededFiles is how many files a process may have to have open. All chapters together need 488.
	neededFiles = 512

	// neededSpace is what etcd maps of its data, 10 GiB, and what else a process with an API server takes of its address space, in bytes.
	neededSpace = 14 << 30

	// neededDisk is what etcd writes before it does anything else, and what chapters add, in bytes.
	neededDisk = 160 << 20
)

// checkLimits returns why an API server and etcd could not run in this process with their data in a directory, which must be there.
// Etcd would end the process when it meets such a limit.
func checkLimits(dir string) error {
	var files, space unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < neededFiles {
		return fmt.Errorf("the limit of open files is %d, and %d are needed; raise it with ulimit -n %[2]d", files.Cur, neededFiles)
	}
	if err := unix.Getrlimit(unix.RLIMIT_AS, &space); err == nil && space.Cur < neededSpace {
		return fmt.Errorf("the address space is limited to %d MiB, and %d MiB are needed; raise it with ulimit -v", space.Cur>>20, neededSpace>>20)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err == nil {
		if free := disk.Bavail * uint64(disk.Bsize); free < neededDisk {
			return fmt.Errorf("%d MiB are free for temporary files in %s, and %d MiB are needed; set TMPDIR to a folder with more", free>>20, dir, neededDisk>>20)
		}
	}
	return nil
}
