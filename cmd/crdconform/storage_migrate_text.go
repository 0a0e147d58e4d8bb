package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdconform/crdconform/internal/storage/migrate"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

// text is what was done, as people read it.
func (d *migrated) text(m *migrator) string {
	var t visible.Table
	line := func(label, format string, arguments ...any) { t.Add("", label, fmt.Sprintf(format, arguments...)) }
	r := &d.Migration
	if r.Resumed {
		line("resumed", "this run continues an earlier one")
	}
	if r.NoLock != "" {
		line("no lock", "%s", r.NoLock)
	}
	if m.dryRun {
		line("objects", "%d tried, %d refused", r.Tried, len(r.Refused))
	}
	if r.Objects > 0 || m.options.By == nil && !m.dryRun {
		others := "others"
		if r.Resumed {
			others = "the earlier run or others"
		}
		line("objects", "%d: %d written as they are, %d written by %s since the start, %d deleted by others, %d refused",
			r.Objects, r.Rewritten, r.Newer, others, r.Gone, len(r.Refused))
	}
	if r.Behind > 0 {
		line("behind", "%d changed when they were written once more at the end: they may have been stored at another version", r.Behind)
	}
	if r.Mended > 0 {
		line("managed fields", "rewritten for %s: they no longer name a version that is not served or is to be dropped", visible.Count(r.Mended, "object", "objects"))
	}
	for _, one := range r.Orphans[:min(len(r.Orphans), shownLines)] {
		line("", "%s owned %s at %s, which has no owner now: %s, such as %s", one.Manager, strings.Join(one.Fields, ", "), one.Version, visible.Count(one.Objects, "object", "objects"), one.Example)
	}
	if len(r.Orphans) > shownLines {
		line("", "and more like these, %d objects in all; --output json has the first 100", r.Orphaned)
	}
	if len(r.StoredVersions) > 0 {
		line("storedVersions", "%s", strings.Join(r.StoredVersions, ", "))
	}
	d.refusals(line)
	for _, change := range r.Changes[:min(len(r.Changes), shownLines)] {
		line("changes", "%s", change)
	}
	if more := len(r.Changes) - shownLines; more > 0 {
		line("", "%s; --output json has the first 100", visible.More(more))
	}
	d.proofText(line)
	return fmt.Sprintf("%s, storage version %s: %s\n%s", r.Definition, r.Storage, d.Outcome, t.Text())
}

// refusals lists what was refused, once for each reason: a webhook that is down refuses all objects for the same one.
func (d *migrated) refusals(line func(label, format string, arguments ...any)) {
	var reasons []string
	of := map[string][]migrate.Refusal{}
	for _, one := range d.Migration.Refused {
		if of[one.Reason] == nil {
			reasons = append(reasons, one.Reason)
		}
		of[one.Reason] = append(of[one.Reason], one)
	}
	for _, reason := range reasons[:min(len(reasons), shownLines)] {
		if all := of[reason]; len(all) == 1 {
			line("refused", "%s", all[0])
		} else {
			line("refused", "%d objects, such as %s", len(all), all[0])
		}
	}
	if more := len(reasons) - shownLines; more > 0 {
		line("", "and for %s; --output json has all", visible.Count(more, "more reason", "more reasons"))
	}
}

func (d *migrated) proofText(line func(label, format string, arguments ...any)) {
	if d.Proof == nil {
		return
	}
	if d.Proof.Proved() {
		switch n := d.Proof.Objects; {
		case d.Proof.Gone > 0:
			line("proof", "%s there before; those that others neither changed nor deleted are what they were", visible.Count(n, "object was", "objects were"))
		case n == 1:
			line("proof", "the object is there, and is as it was except for what others changed")
		default:
			line("proof", "all %d objects are there, and are as they were except for what others changed", n)
		}
	}
	for _, by := range slices.Sorted(maps.Keys(d.Proof.ChangedBy)) {
		line("not compared", "%s that others changed meanwhile (%s)", visible.Count(d.Proof.ChangedBy[by], "object", "objects"), cmp.Or(by, "managed fields do not tell who"))
	}
	listed := map[requirement.ID]int{}
	for _, finding := range d.Proof.Findings {
		if listed[finding.Requirement]++; listed[finding.Requirement] <= shownLines {
			line("proof", "%s", finding)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(listed)) {
		if more := d.Proof.Violations[id] - min(listed[id], shownLines); more > 0 {
			line("", "%s of %s; --output json has the first 100", visible.More(more), id)
		}
	}
	for _, weaker := range d.Proof.Weaker {
		line("not proved", "%s", weaker)
	}
}
