package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/crdconform/crdconform/internal/reporter"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
)

// matrixProgress shows how the columns of a matrix go on: on a terminal one line that changes has all that are under way, elsewhere each line
// begins with the name of its column. It may be used by several goroutines.
type matrixProgress struct {
	mu       sync.Mutex
	progress progress
	several  bool // columns at a time
	total    int  // columns
	begun    int
	columns  []*columnProgress // under way, in the order in which they began
}

// columnProgress shows one column.
type columnProgress struct {
	of        *matrixProgress
	number    int // from 1
	name      string
	at        string // how far it is
	complaint string // the first
}

// begin says that a column begins.
func (b *matrixProgress) begin(c column) *columnProgress {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun++
	l := &columnProgress{of: b, number: b.begun, name: c.folder, at: "starting"}
	b.columns = append(b.columns, l)
	b.progress.say("%s== %d of %d: %s", strings.Repeat("\n", min(b.begun-1, 1)), l.number, b.total, strings.Join(append([]string{c.folder}, c.flags...), " "))
	b.show()
	return l
}

// show shows how far the columns are. The caller holds the lock.
func (b *matrixProgress) show() {
	if len(b.columns) == 0 {
		return
	}
	var all []string
	for _, l := range b.columns {
		all = append(all, l.name+" "+l.at)
	}
	if n := b.total - b.begun; n > 0 {
		all = append(all, fmt.Sprintf("%d to come", n))
	}
	b.progress.show(strings.Join(all, ", "))
}

// say shows a line of a column's progress. On a terminal, one that says only how far it is goes into the line that changes.
func (l *columnProgress) say(line string) {
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.show()
	var done, total int
	if n, _ := fmt.Sscanf(line, "[%d/%d]", &done, &total); n == 2 {
		l.at = fmt.Sprintf("[%d/%d]", done, total)
		if b.progress.terminal {
			return
		}
	}
	if b.progress.terminal && strings.HasPrefix(line, goesOn) {
		return
	}
	prefix := ""
	if b.several {
		prefix = l.name + ": "
	}
	b.progress.say("%s", prefix+visible.Text(line))
}

// complain shows what a column writes about something that is wrong.
func (l *columnProgress) complain(text string) {
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.show()
	text = strings.TrimPrefix(visible.Text(text), "crdconform: ")
	if l.complaint == "" {
		l.complaint = text
	}
	b.progress.wipe()
	fmt.Fprintf(b.progress.err, "crdconform: %s: %s\n", l.name, text)
}

// end shows what a column came to.
func (l *columnProgress) end(folder reporter.Folder, report *reports.Report) {
	b := l.of
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.show()
	b.columns = slices.DeleteFunc(b.columns, func(one *columnProgress) bool { return one == l })
	b.progress.wipe()
	if b.several {
		b.progress.say("\n== %d of %d is done: %s", l.number, b.total, l.name)
	}
	b.progress.streams.screen().Summarize(report)
	b.progress.say("Report: %s", path.Join(filepath.ToSlash(string(folder)), "report.html"))
}
