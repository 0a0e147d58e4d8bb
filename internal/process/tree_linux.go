package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree is a program with all that it started: its process group, whatever has the marker in its environment, wherever it
// went, and the children of those.
type tree struct {
	leader int    // ID of the first process and of its group
	marker string // NAME=value
}

// stat is what /proc/PID/stat says about a process.
type stat struct {
	id, parent, group, session int
	zombie                     bool
	started                    string // together with the ID, identifies a process uniquely
}

// ownGroup puts a command into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killWithParent has the system kill a command when the thread ends that starts it.
func killWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// alive reports whether anything of the tree runs.
func (t tree) alive() bool { return len(t.members()) > 0 }

// signal sends a signal to all of the tree.
func (t tree) signal(signal syscall.Signal) {
	for _, member := range t.members() {
		handle, err := os.FindProcess(member.id)
		if err != nil {
			continue
		}
		// The handle is that of the process that has the ID now, which may be another one.
		if now, found := look(member.id); found && now.started == member.started {
			handle.Signal(signal) //nolint:errcheck // it fails for those that are gone
		}
		handle.Release() //nolint:errcheck // nothing is lost
	}
}

// members returns the processes of the tree.
func (t tree) members() []stat {
	all := processes()
	session, err := unix.Getsid(0)
	if err != nil {
		session = -1
	}
	known := map[int]bool{}
	var members []stat
	add := func(p stat) { known[p.id], members = true, append(members, p) }
	for _, p := range all {
		// An ID can be used again by a stranger's group, but hardly in our session.
		if p.group == t.leader && p.session == session || t.marked(p.id) {
			add(p)
		}
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !known[p.id] && known[p.parent] {
				add(p)
				grown = true
			}
		}
	}
	return members
}

// marked reports whether a process has the marker. What of other users cannot be read has none.
func (t tree) marked(id int) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", id))
	return err == nil && bytes.Contains(environment, []byte(t.marker))
}

// processes returns all processes that run, but for this one.
func processes() []stat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []stat
	for _, entry := range entries {
		id, err := strconv.Atoi(entry.Name())
		if err != nil || id == os.Getpid() {
			continue
		}
		if p, found := look(id); found && !p.zombie {
			all = append(all, p)
		}
	}
	return all
}

// look reads what is known of a process, and reports whether there is one.
func look(id int) (stat, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return stat{}, false
	}
	// The name, in parentheses, can hold anything. After it come state, parent, group, session, and as the 20th the start.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return stat{}, false
	}
	p := stat{id: id, zombie: fields[0] == "Z" || fields[0] == "X", started: fields[19]}
	for i, number := range []*int{&p.parent, &p.group, &p.session} {
		if *number, err = strconv.Atoi(fields[i+1]); err != nil {
			return stat{}, false
		}
	}
	return p, true
}

// Started says when a process was started, in the words of the system where it has any, and whether the process runs. One of which
// nothing can be read runs.
func Started(id int) (when string, running bool) {
	p, found := look(id)
	if !found {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", id))
		return "", !errors.Is(err, fs.ErrNotExist)
	}
	return p.started, !p.zombie
}
