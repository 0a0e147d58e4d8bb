package neighbours

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Reach fails the test if other users can reach a socket at which a process listens, unless it was open before: an abstract Unix
// socket, one in a folder that is not private, or a port elsewhere than on loopback. It returns at how many Unix sockets and ports
// of loopback it listens beside those.
func Reach(tb testing.TB, process int, before map[string]bool) (sockets, ports int) {
	tb.Helper()
	for at := range Listening(tb, process) {
		switch {
		case before[at]:
		case strings.HasPrefix(at, "/"):
			sockets++
			if info, err := os.Stat(filepath.Dir(at)); err != nil || info.Mode().Perm() != 0o700 {
				tb.Errorf("process %d: %s is in a folder of %v, %v", process, at, info, err)
			}
		case strings.HasPrefix(at, "0100007F:") || strings.HasPrefix(at, "00000000000000000000000001000000:"): // 127.0.0.1 and ::1
			ports++
		default:
			tb.Errorf("process %d: it listens at %q", process, at)
		}
	}
	return sockets, ports
}

// Listening returns where a process listens: paths of sockets, of which abstract ones begin with @, and addresses as in
// /proc/net/tcp.
func Listening(tb testing.TB, process int) map[string]bool {
	tb.Helper()
	const tcpListening, unixListening = "0A", "00010000" // states and flags of the kernel
	own := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process))
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil { // the one of the glob itself is gone
			if inode, is := strings.CutPrefix(to, "socket:["); is {
				own[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	at := map[string]bool{}
	for _, line := range lines(tb, "/proc/net/unix") {
		// Num RefCount Protocol Flags Type St Inode Path
		if fields := strings.Fields(line); fields[3] == unixListening && own[fields[6]] {
			at[strings.Join(fields[7:], " ")] = true
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, line := range lines(tb, table) {
			// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
			if fields := strings.Fields(line); fields[3] == tcpListening && own[fields[9]] {
				at[fields[1]] = true
			}
		}
	}
	return at
}

// lines are those of a table of the kernel behind its heading.
func lines(tb testing.TB, path string) []string {
	tb.Helper()
	file, err := os.Open(path)
	if os.IsNotExist(err) { // as tcp6 where there is no IPv6
		return nil
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }() // what was read is there
	var all []string
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		all = append(all, scanner.Text())
	}
	if err := scanner.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%s: %d lines, %v", path, len(all), err)
	}
	return all[1:]
}
