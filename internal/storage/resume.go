package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/internal/files"
)

// MaxResumeAge is how old an interrupted look may be that is continued: what it saw may no longer be so.
const MaxResumeAge = time.Hour

// ResumeError says that a file is not about what is asked, or cannot be written.
type ResumeError struct{ File, Why string }

func (e *ResumeError) Error() string {
	return e.File + ": " + e.Why + "; name another file, or remove it"
}

// question is what a look is about. Another one begins anew.
type question struct {
	Definition     string   `json:"definition"`
	Version        string   `json:"version"`
	UID            string   `json:"uid"`
	Generation     int64    `json:"generation"`
	StoredVersions []string `json:"storedVersions"`
	Skip           []string `json:"skip,omitempty"`
	KeepAll        bool     `json:"keepAll"` // blockers are in a file of their own
}

func (q question) same(other question) bool {
	return q.UID == other.UID && q.Generation == other.Generation && slices.Equal(q.StoredVersions, other.StoredVersions) &&
		slices.Equal(q.Skip, other.Skip) && q.KeepAll == other.KeepAll
}

// journal is how far a look is.
type journal struct {
	question

	Began time.Time   `json:"began"`
	Done  []string    `json:"done"` // resources that were listed
	Kept  savedCounts `json:"kept"` // of these
	Ends  int64       `json:"ends"` // where their blockers end in the file of blockers

	List *unfinished `json:"list,omitempty"`
}

// unfinished is how far the list of a resource is.
type unfinished struct {
	Resource string      `json:"resource"`
	Continue string      `json:"continue"`
	Objects  int64       `json:"objects"` // that were seen
	Counts   savedCounts `json:"counts"`
	Ends     int64       `json:"ends"`
}

// savedCounts are the counts of one definition.
type savedCounts struct {
	Blockers map[string]map[Kind]int64     `json:"blockers,omitempty"` // by version
	First    map[string]map[Kind][]Blocker `json:"first,omitempty"`
	Stored   map[string]int64              `json:"stored,omitempty"`
	Objects  int64                         `json:"objects"`
	Unknown  int64                         `json:"unknown"`
	Older    int64                         `json:"older,omitempty"`
	Bases    map[Basis]int64               `json:"bases,omitempty"`
}

func (c *counts) saved(d *Definition) savedCounts {
	s := savedCounts{map[string]map[Kind]int64{}, map[string]map[Kind][]Blocker{}, map[string]int64{}, c.objects[d], c.unknown[d], c.older[d], c.bases[d]}
	for at, kinds := range c.blockers {
		s.Blockers[at.version] = kinds
	}
	for at, kinds := range c.first {
		s.First[at.version] = kinds
	}
	for at, n := range c.stored {
		s.Stored[at.version] = n
	}
	return s
}

func (s savedCounts) restored(d *Definition) *counts {
	c := newCounts()
	for version, kinds := range s.Blockers {
		c.blockers[place{d, version}] = kinds
	}
	for version, kinds := range s.First {
		c.first[place{d, version}] = kinds
	}
	for version, n := range s.Stored {
		c.stored[place{d, version}] = n
	}
	c.objects[d], c.unknown[d], c.older[d] = s.Objects, s.Unknown, s.Older
	for basis, n := range s.Bases {
		c.based(d, basis, n)
	}
	return c
}

// open opens the book, at where an earlier run was if that asked the same of a definition that is as it was.
func (i *inspector) open() error {
	if !i.options.KeepAll && i.options.Resume == "" {
		return nil
	}
	earlier, err := i.earlier()
	if err != nil {
		return err
	}
	d := i.inventory.Definitions[0]
	asked := question{d.Name, i.options.Drop, d.UID, d.Generation, d.StoredVersions, i.options.Skip, i.options.KeepAll}
	begun := &journal{question: asked, Began: time.Now().UTC().Truncate(time.Second)}
	if i.options.Resume != "" && earlier == nil {
		if _, missing := os.Lstat(BlockersFile(i.options.Resume)); missing == nil {
			return &ResumeError{i.options.Resume, "it does not exist, but its file of blockers does: " + BlockersFile(i.options.Resume)}
		}
		if err = files.SaveState(i.options.Resume, begun); err != nil { // so that whose the file of blockers is can be told
			return &ResumeError{i.options.Resume, "it cannot be written: " + cause(err).Error()}
		}
	}
	if i.options.KeepAll {
		if i.book.spool, err = openSpool(place{d, i.options.Drop}, i.options.Resume); err != nil {
			return err
		}
	}
	if i.options.Resume == "" {
		return nil
	}
	if i.journal = begun; earlier == nil {
		return nil
	}
	return i.resume(earlier, asked)
}

// resume goes on where an earlier run was, unless that was about something else or is too old.
func (i *inspector) resume(earlier *journal, asked question) error {
	d := i.inventory.Definitions[0]
	if earlier.KeepAll && !asked.KeepAll {
		if err := files.RemoveState(BlockersFile(i.options.Resume)); err != nil {
			return err
		}
	}
	if time.Since(earlier.Began) > MaxResumeAge {
		d.Notes = append(d.Notes, fmt.Sprintf("The run recorded in %s began at %s, which is too long ago, so everything was read again.", i.options.Resume, earlier.Began.Format(time.RFC3339)))
		_, err := i.book.spool.cut(0)
		return err
	}
	ends := earlier.Ends
	if earlier.List != nil {
		ends = earlier.List.Ends
	}
	fits := earlier.same(asked)
	if fits {
		var err error
		if fits, err = i.book.spool.cut(ends); err != nil {
			return err
		}
	}
	if !fits {
		d.Notes = append(d.Notes, i.options.Resume+" is from a different command, or its blockers are gone, so everything was read again.")
		_, err := i.book.spool.cut(0)
		return err
	}
	d.Notes = append(d.Notes, fmt.Sprintf("What an earlier run saw, which began at %s, was not looked at again.", earlier.Began.Format(time.RFC3339)))
	i.journal, i.book.counts = earlier, *earlier.Kept.restored(d)
	return nil
}

// cause is what the system says of a file, without the name of a temporary one.
func cause(err error) error {
	if of, is := errors.AsType[*fs.PathError](err); is {
		return of.Err
	}
	return err
}

// earlier returns how far an earlier run was, or nil. A file that is about something else is left alone.
func (i *inspector) earlier() (*journal, error) {
	if i.options.Resume == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	var j journal
	found, err := files.LoadState(i.options.Resume, &j)
	switch {
	case errors.Is(err, files.ErrNoState), err == nil && found && j.Definition == "":
		return nil, &ResumeError{i.options.Resume, "it does not hold the progress of a run that looked for stored objects"}
	case err != nil:
		return nil, err
	case !found:
		return nil, nil //nolint:nilnil // there is none
	case j.Definition != i.inventory.Definitions[0].Name || j.Version != i.options.Drop:
		return nil, &ResumeError{i.options.Resume, fmt.Sprintf("it is about %s of %s", j.Version, j.Definition)}
	}
	return &j, nil
}

// listed reports whether an earlier run listed a resource.
func (i *inspector) listed(resource string) bool {
	return i.journal != nil && slices.Contains(i.journal.Done, resource)
}

// unfinishedFirst puts the list that an earlier run had begun first. If there is no such resource any more, what it entered is dropped.
func (i *inspector) unfinishedFirst(all []schema.GroupVersionResource) error {
	if i.journal == nil || i.journal.List == nil {
		return nil
	}
	isUnfinished := func(at schema.GroupVersionResource) bool {
		return at.GroupResource().String() == i.journal.List.Resource
	}
	if n := slices.IndexFunc(all, isUnfinished); n >= 0 {
		all[0], all[n] = all[n], all[0]
		return nil
	}
	i.journal.List = nil
	_, err := i.book.spool.cut(i.journal.Ends)
	return err
}

// mark begins to enter a resource, or goes on with what an earlier run entered of it. It returns how far the list is.
func (i *inspector) mark(resource string) (unfinished, error) {
	if i.journal == nil || i.journal.List == nil {
		return unfinished{Resource: resource}, i.book.mark()
	}
	list := *i.journal.List
	i.book.pending = list.Counts.restored(i.inventory.Definitions[0])
	i.book.spool.markAt(i.journal.Ends)
	return list, nil
}

// note notes how far a list is.
func (i *inspector) note(list unfinished) error {
	if i.journal == nil {
		return nil
	}
	var err error
	if list.Ends, err = i.book.spool.end(); err != nil {
		return err
	}
	list.Counts = i.book.pending.saved(i.inventory.Definitions[0])
	i.journal.List = &list
	return files.SaveState(i.options.Resume, i.journal)
}

// noteDone notes that a list is over, and complete unless the resource is empty.
func (i *inspector) noteDone(resource string) error {
	if i.journal == nil {
		return nil
	}
	var err error
	if i.journal.Ends, err = i.book.spool.end(); err != nil {
		return err
	}
	if resource != "" {
		i.journal.Done = append(i.journal.Done, resource)
	}
	i.journal.Kept, i.journal.List = i.book.saved(i.inventory.Definitions[0]), nil
	return files.SaveState(i.options.Resume, i.journal)
}

// forget removes the file at the end of a look, even if that has gaps: what blocks may be mended before the next. The file of blockers is
// removed with the spool.
func (i *inspector) forget() error {
	if i.journal == nil {
		return nil
	}
	if i.book.spool != nil {
		i.book.spool.stays = false
	}
	return files.RemoveState(i.options.Resume)
}

// BlockersFile is the file of blockers beside that of a journal.
func BlockersFile(file string) string { return file + ".blockers" }

// openSpool opens the file of blockers beside that of a journal. It stays when the spool is closed, unless the look was completed.
func openSpool(at place, file string) (*Spool, error) {
	if file == "" {
		return newSpool(at)
	}
	blockers, err := os.OpenFile(BlockersFile(file), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("a file for the blockers: %w", err)
	}
	return spoolOf(at, blockers, true), nil
}
