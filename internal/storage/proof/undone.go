package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// mostFollowed is how many objects that changed are followed write by write, and mostWrites how many writes back each is.
	mostFollowed, mostWrites = 200, 100
)

// written is an object as a write left it.
type written struct {
	content map[string]any
	owners  []owner
}

// follows notes an object that somebody changed meanwhile. A migrator that writes what it has read changes neither fields nor owners.
func (e *evidence) follows(s seen) {
	n := e.same(s)
	if n < 0 || s.wrote == e.before.wrote[n] || e.before.owned[n] == s.owned.hash && s.owned.newest() <= e.before.newest[n] {
		return
	}
	e.changed.add(s.key)
	if e.changed.count <= mostFollowed {
		e.followed = append(e.followed, n)
	}
}

// follow finds the writes that others undid in the objects that changed, one write after the other. The API server remembers these for some
// minutes, and shows each to those who may list; what it has forgotten is left out.
func (p *Proof) follow(ctx context.Context, e *evidence) {
	for _, n := range e.followed {
		all, err := p.versions(ctx, n)
		if err != nil {
			e.unfollowed.add(e.before.name(n))
			e.refused = cmp.Or(e.refused, err.Error())
		}
		for _, u := range undone(all) {
			u.object = e.before.name(n)
			e.undone = append(e.undone, u)
		}
	}
}

// versions returns what was there of an object of before, from then on, as far as the API server remembers it. With an error, it may
// remember more.
func (p *Proof) versions(ctx context.Context, n int) (all []written, err error) {
	namespace, name := kube.SplitKey(p.before.name(n))
	for revision := ""; len(all) < mostWrites; {
		var object *unstructured.Unstructured
		object, err = p.remembered(ctx, p.served[0], namespace, name, revision)
		if object == nil || uidOf(object) != p.before.uids[n] {
			break
		}
		all = append(all, written{content(p.filled(p.served[0], object), p.annotation()), ownershipOf(object.Object).all})
		wrote := number(object.GetResourceVersion())
		if wrote <= p.before.wrote[n] {
			break
		}
		revision = strconv.FormatUint(wrote-1, 10)
	}
	slices.Reverse(all)
	return all, err
}

// remembered returns an object as it was at a revision, as it is if that is empty; nil if there was none, or if the API server has
// forgotten that.
func (p *Proof) remembered(ctx context.Context, version, namespace, name, revision string) (*unstructured.Unstructured, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()}
	if revision != "" {
		options.ResourceVersion, options.ResourceVersionMatch = revision, metav1.ResourceVersionMatchExact
	}
	list, err := p.at(version).Namespace(namespace).List(ctx, options)
	switch {
	case kube.IsForgotten(err):
		return nil, nil //nolint:nilnil // there is nothing to see
	case err != nil:
		return nil, err
	case len(list.Items) != 1:
		return nil, nil //nolint:nilnil // it was not there
	}
	return &list.Items[0], nil
}

// undoing is a write to an object that a later one of somebody else undid.
type undoing struct {
	object      string
	writer, by  string
	differences []string // with the values, the written one first
}

// undone returns the writes that others undid: they brought back a value from before, in a field that they have not owned since. Who owned it
// may put it back on purpose, as controllers do. A stale write undoes all writes since it was read.
func undone(all []written) []undoing {
	type write struct {
		kube.Difference
		owners map[string]bool // before it
		by     string
	}
	writes := map[string][]write{} // by field
	var found []undoing
	for i := 1; i < len(all); i++ {
		before, after := all[i-1], all[i]
		for _, d := range kube.Differences("", before.content, after.content) {
			by := writerOf(after.owners, d.Path)
			earlier := writes[d.Path]
			writes[d.Path] = append(earlier, write{d, ownersOf(before.owners, d.Path), by})
			stale := false
			for j := len(earlier) - 1; j >= 0 && !stale; j-- {
				was := earlier[j]
				if by == "" || was.by == "" || by == was.by || was.owners[by] {
					break
				}
				stale = was.Added == d.Gone && len(kube.Differences("", was.Then, d.Now)) == 0
			}
			if !stale {
				continue
			}
			writer := earlier[len(earlier)-1].by
			at := slices.IndexFunc(found, func(u undoing) bool { return u.writer == writer && u.by == by })
			if at < 0 {
				at, found = len(found), append(found, undoing{writer: writer, by: by})
			}
			found[at].differences = append(found[at].differences, d.String())
		}
	}
	return found
}

// writerOf says who wrote a field last, by whom it belongs to. A field that is gone belongs to nobody, so that is who wrote last at all.
func writerOf(entries []owner, path string) string {
	if managers := ownersOf(entries, path); len(managers) > 0 {
		return strings.Join(slices.Sorted(maps.Keys(managers)), ", ")
	}
	newest := ownership{all: entries}.newest()
	managers := map[string]bool{}
	for _, o := range entries {
		if seconds(o.time) == newest {
			managers[o.manager] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(managers)), ", ")
}

// ownersOf returns the managers that own a field, or something below it.
func ownersOf(entries []owner, path string) map[string]bool {
	managers := map[string]bool{}
	for _, o := range entries {
		set := &fieldpath.Set{}
		if set.FromJSON(strings.NewReader(o.fields)) != nil {
			continue
		}
		set.Iterate(func(owned fieldpath.Path) {
			if rest, is := strings.CutPrefix(owned.String(), path); is && (rest == "" || rest[0] == '.' || rest[0] == '[') {
				managers[o.manager] = true
			}
		})
	}
	return managers
}

// judgeUndone judges the writes that were undone. Somebody who wrote to an object before may do that on purpose.
func (e *evidence) judgeUndone() {
	for _, u := range e.undone {
		expected, actual := fmt.Sprintf("what %s wrote meanwhile to stay", u.writer),
			fmt.Sprintf("%s by %s, which wrote back what was there before: have it send the resource version that it has read", names(u.differences, len(u.differences)), u.by)
		if e.before.managers[u.by] {
			e.weaker = append(e.weaker, fmt.Sprintf("%s: expected %s, got %s, unless it is no migrator and meant to", u.object, expected, actual))
			continue
		}
		e.found(requirement.MigrationClientsWrites, u.object, expected, actual)
	}
	if e.unfollowed.count > 0 {
		e.weaker = append(e.weaker, fmt.Sprintf("whether writes to these objects were undone is not known, since the API server does not list what was there before: %s: %s", e.refused, &e.unfollowed))
	}
	if more := e.changed.count - len(e.followed); more > 0 && len(e.followed) > 0 {
		e.weaker = append(e.weaker, fmt.Sprintf("of %s it was not looked whether a write to it was undone", visible.Count(more, "more object that changed", "more objects that changed")))
	}
}
