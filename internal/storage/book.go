package storage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
)

// book is where blockers and counts are entered. What was entered since a mark can be taken back: a list that has to begin again is
// counted anew.
type book struct {
	counts
	pending *counts // since the mark
	spool   *Spool  // nil unless blockers of a version are kept
}

// place is a version of one of the definitions.
type place struct {
	definition *Definition
	version    string
}

// counts are what was entered.
type counts struct {
	blockers map[place]map[Kind]int64
	first    map[place]map[Kind][]Blocker
	stored   map[place]int64
	objects  map[*Definition]int64
	unknown  map[*Definition]int64
	older    map[*Definition]int64 // of the unknown, those that are older than the definition
	bases    map[*Definition]map[Basis]int64
}

func newCounts() *counts {
	return &counts{
		map[place]map[Kind]int64{},
		map[place]map[Kind][]Blocker{},
		map[place]int64{},
		map[*Definition]int64{},
		map[*Definition]int64{},
		map[*Definition]int64{},
		map[*Definition]map[Basis]int64{},
	}
}

// mark begins to enter something that may be taken back.
func (b *book) mark() error {
	b.pending = newCounts()
	return b.spool.mark()
}

// back takes back what was entered since the mark.
func (b *book) back() error {
	b.pending = newCounts()
	return b.spool.back()
}

// keep keeps what was entered since the mark.
func (b *book) keep() {
	for at, kinds := range b.pending.blockers {
		for kind, n := range kinds {
			b.count(at, kind, n)
		}
	}
	for at, kinds := range b.pending.first {
		for kind, blockers := range kinds {
			for _, blocker := range blockers {
				b.example(at, kind, blocker)
			}
		}
	}
	for at, n := range b.pending.stored {
		b.stored[at] += n
	}
	for d, n := range b.pending.objects {
		b.objects[d] += n
	}
	for d, n := range b.pending.unknown {
		b.unknown[d] += n
	}
	for d, n := range b.pending.older {
		b.older[d] += n
	}
	for d, bases := range b.pending.bases {
		for basis, n := range bases {
			b.based(d, basis, n)
		}
	}
	b.pending = newCounts()
}

func (c *counts) count(at place, kind Kind, n int64) {
	if c.blockers[at] == nil {
		c.blockers[at] = map[Kind]int64{}
	}
	c.blockers[at][kind] += n
}

func (c *counts) example(at place, kind Kind, blocker Blocker) {
	if c.first[at] == nil {
		c.first[at] = map[Kind][]Blocker{}
	}
	if len(c.first[at][kind]) < Shown {
		c.first[at][kind] = append(c.first[at][kind], blocker)
	}
}

func (c *counts) based(d *Definition, basis Basis, n int64) {
	if c.bases[d] == nil {
		c.bases[d] = map[Basis]int64{}
	}
	c.bases[d][basis] += n
}

// enter enters a blocker, which is made only if somebody will see it.
func (b *book) enter(at place, kind Kind, blocker func() Blocker) error {
	b.pending.count(at, kind, 1)
	kept := b.spool != nil && b.spool.at == at
	if !kept && len(b.pending.first[at][kind]) >= Shown {
		return nil
	}
	made := blocker()
	b.pending.example(at, kind, made)
	if !kept {
		return nil
	}
	return b.spool.add(made)
}

// Spool is all blockers of a version. They are kept in a file, since there may be as many as there are objects.
type Spool struct {
	at     place
	file   *os.File
	writer *bufio.Writer
	marked int64
}

func newSpool(at place) (*Spool, error) {
	file, err := os.CreateTemp("", "crdconform-blockers-")
	if err != nil {
		return nil, fmt.Errorf("a file for the blockers: %w", err)
	}
	return &Spool{at: at, file: file, writer: bufio.NewWriter(file)}, nil
}

func (s *Spool) add(blocker Blocker) error {
	line, err := json.Marshal(blocker)
	if err != nil {
		return err
	}
	_, err = s.writer.Write(append(line, '\n'))
	return err
}

// mark remembers where the file ends.
func (s *Spool) mark() error {
	if s == nil {
		return nil
	}
	err := s.writer.Flush()
	if err == nil {
		s.marked, err = s.file.Seek(0, io.SeekCurrent)
	}
	return err
}

// back takes back what was added since the mark.
func (s *Spool) back() error {
	if s == nil {
		return nil
	}
	s.writer.Reset(s.file)
	_, err := s.file.Seek(s.marked, io.SeekStart)
	return errors.Join(err, s.file.Truncate(s.marked))
}

// All returns the blockers as JSON, in the order in which they were found.
func (s *Spool) All() iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		if s == nil {
			return
		}
		err := s.writer.Flush()
		if err == nil {
			_, err = s.file.Seek(0, io.SeekStart)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		lines := bufio.NewScanner(s.file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}

// Close removes the file.
func (s *Spool) Close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
