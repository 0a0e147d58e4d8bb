package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
)

// Text shows what was found. Sources are the flags by which it can be known at which version objects are stored.
func (inventory *Inventory) Text(sources string) string {
	var b strings.Builder
	for n, d := range inventory.Definitions {
		if n > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", d.Title())
		b.WriteString(d.VersionTable().Text())
		b.WriteString(d.NotesText(sources))
		b.WriteString(d.PlanText())
	}
	b.WriteString(inventory.NotesText())
	return b.String()
}

// Title is a definition with the number of its objects.
func (d *Definition) Title() string {
	if d.Unseen {
		return d.Name + ": its objects could not be read"
	}
	return d.Name + ": " + visible.Count(d.Objects, "object", "objects")
}

// NotesText says what there is to say of a definition beside the table. Sources are as in Inventory.Text.
func (d *Definition) NotesText(sources string) string {
	var b strings.Builder
	if ways := d.Evidence(); ways != "" {
		fmt.Fprintf(&b, "Stored versions: %s.\n", ways)
	}
	if d.Unknown > 0 {
		fmt.Fprintf(&b, "Stored versions of %d of the objects: not known; give %s.\n", d.Unknown, sources)
	}
	for _, v := range d.Versions {
		b.WriteString(versionNotes(v))
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	b.WriteString(gapsText(slices.Concat(d.Gaps, d.ManifestGaps)))
	return b.String()
}

// NotesText says what was not looked at.
func (inventory *Inventory) NotesText() string {
	text := gapsText(slices.Concat(inventory.Gaps, inventory.HelmGaps))
	if len(inventory.Skipped) > 0 {
		text += fmt.Sprintf("Not searched, as you asked: %s\n", strings.Join(inventory.Skipped, ", "))
	}
	return text
}

// VersionTable has the versions with what is stored at each of them, and who names it.
func (d *Definition) VersionTable() *visible.Table {
	t := &visible.Table{Head: []string{"VERSION", "SERVED", "STORAGE", "IN STOREDVERSIONS", "OBJECTS STORED", "MANAGED FIELDS", "OWNER REFERENCES", "REQUESTS"}}
	for _, v := range d.Versions {
		served, name := yes(v.Served), v.Name
		if v.Deprecated {
			name += " (deprecated)"
		}
		if !v.Defined {
			served = "removed"
		}
		t.Add(name, served, yes(v.Storage), yes(v.Listed), ofObjects(d, atLeast(v.Stored, d.Unknown)),
			ofObjects(d, strconv.FormatInt(v.ManagedFields, 10)), v.OwnerReferences, requestsText(v))
	}
	return t
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// ofObjects is a number of objects, if they could be read.
func ofObjects(d *Definition, number string) string {
	if d.Unseen {
		return "not known"
	}
	return number
}

// atLeast is a number that may be too low.
func atLeast(n, unknown int64) string {
	if unknown > 0 {
		return fmt.Sprintf("%d or more", n)
	}
	return strconv.FormatInt(n, 10)
}

// requestsText says in a few words who asks for a version.
func requestsText(v *Version) string {
	switch {
	case v.Requests.Total > 0:
		return fmt.Sprintf("%d, of %s", v.Requests.Total, visible.Count(len(v.Requests.Asked), "client", ""))
	case len(v.Requests.Asked) > 0:
		return "yes"
	case !v.Defined || !v.Served:
		return "none, not served"
	case v.Requests.Known:
		return "none"
	}
	return "not known"
}

// versionNotes says what there is to say of a version beside the table.
func versionNotes(v *Version) string {
	var b strings.Builder
	if !v.Defined && v.ManagedFields > 0 {
		fmt.Fprintf(&b, "Already broken: managed fields name %s, which the definition no longer has, so server-side apply fails. Objects: %d.\n", v.Name, v.ManagedFields)
	}
	if !v.Defined && v.OwnerReferences > 0 {
		fmt.Fprintf(&b, "Already broken: owner references name %s, which the definition no longer has, so the objects that have them are never garbage-collected. Objects: %d.\n", v.Name, v.OwnerReferences)
	}
	if !v.Defined && v.Stored > 0 {
		fmt.Fprintf(&b, "Already broken: objects are stored at %s, which the definition no longer has, so they cannot be read: put it back into the definition, unserved, and migrate. Objects: %d.\n", v.Name, v.Stored)
	}
	for n, asked := range v.Requests.Asked {
		if n == Shown {
			b.WriteString("  " + visible.More(len(v.Requests.Asked)-n) + " clients\n")
			break
		}
		if n == 0 {
			fmt.Fprintf(&b, "Asks for %s (%s):\n", v.Name, v.Requests.Basis)
		}
		fmt.Fprintf(&b, "  %s\n", asked.Text())
	}
	if !v.Storage {
		for _, kind := range []Kind{StoredObject, ManagedFields, OwnerReference, LastApplied, HelmRelease, Manifest} {
			if first := v.First[kind]; len(first) > 0 {
				fmt.Fprintf(&b, "For example %s at %s: %s\n", kindText(kind), v.Name, first[0])
			}
		}
	}
	return b.String()
}

// Text is a client with its requests.
func (r Request) Text() string {
	if r.Count == 0 {
		return r.Resource
	}
	return fmt.Sprintf("%s with %s: %s for %s, the last at %s", r.User, r.UserAgent, visible.Count(r.Count, "request", ""), r.Resource, r.Last.Format("2006-01-02T15:04:05Z"))
}

func kindText(kind Kind) string {
	switch kind {
	case StoredObject:
		return "stored"
	case ManagedFields:
		return "managed fields"
	case OwnerReference:
		return "owner reference"
	case LastApplied:
		return "last applied"
	case HelmRelease:
		return "release of Helm"
	case Manifest:
		return "manifest"
	}
	return string(kind)
}

// gapsText shows what could not be looked at.
func gapsText(gaps []Gap) string {
	var b strings.Builder
	for _, gap := range gaps {
		fmt.Fprintf(&b, "Not looked at: %s: %s\n", gap.What, gap.Why)
		if gap.Mend != "" {
			fmt.Fprintf(&b, "  %s\n", gap.Mend)
		}
	}
	return b.String()
}
