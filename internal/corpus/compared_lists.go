package corpus

import (
	"slices"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// compareLists compares lists in order, or by the identity of the items.
func compareLists(n *node, path string, before, after []any) []Loss {
	if n != nil && n.listType != "" && after != nil {
		if lost, ok := compareUnordered(n, path, before, after); ok {
			return lost
		}
	}
	if len(before) != len(after) {
		return []Loss{{Path: path, Before: before, After: nothing(after)}}
	}
	var lost []Loss
	for i := range before {
		lost = append(lost, compare(n.keptItem(), fieldpath.Item(path, i), before[i], after[i])...)
	}
	if len(lost) > 1 && sameItems(before, after) {
		return []Loss{{Path: path, Before: before, After: after}}
	}
	if moved := compareMoved(n.keptItem(), path, before, after); moved != nil && len(moved) < len(lost) {
		return moved
	}
	return lost
}

// mostMoved is how long lists may be whose items are looked for in other places.
const mostMoved = 32

// compareMoved compares lists of the same length of which some items are whole in other places, and the others with what is left, so that an item is not
// compared with another one that is in its place. The result is nil if no item is.
func compareMoved(item *node, path string, before, after []any) []Loss {
	if len(before) > mostMoved {
		return nil
	}
	is := func(i, j int) bool {
		return len(compare(item, "", before[i], after[j])) == 0 && len(compare(item, "", after[j], before[i])) == 0
	}
	into, taken, moved := map[int]int{}, map[int]bool{}, false
	for i := range before {
		if is(i, i) {
			into[i], taken[i] = i, true
		}
	}
	for i := range before {
		for j := range after {
			if _, found := into[i]; !found && !taken[j] && is(i, j) {
				into[i], taken[j], moved = j, true, true
			}
		}
	}
	if !moved {
		return nil
	}
	lost := []Loss{{Path: path, Before: before, After: after, reordered: true}}
	left := 0
	for i := range before {
		if _, found := into[i]; found {
			continue
		}
		for taken[left] {
			left++
		}
		lost = append(lost, compare(item, fieldpath.Item(path, i), before[i], after[left])...)
		taken[left] = true
	}
	return lost
}

// sameItems reports whether two values are lists of the same items, in whatever order.
func sameItems(a, b any) bool {
	sorted := func(value any) []string {
		list, _ := value.([]any)
		texts := make([]string, 0, len(list))
		for _, item := range list {
			texts = append(texts, encoded(item))
		}
		slices.Sort(texts)
		return texts
	}
	one, other := sorted(a), sorted(b)
	return len(one) > 0 && slices.Equal(one, other)
}

// nothing is a list as a value that is nil when the list is.
func nothing(list []any) any {
	if list == nil {
		return nil
	}
	return list
}

// compareUnordered compares lists of the types set and map. It is false if items cannot be distinguished.
func compareUnordered(n *node, path string, before, after []any) ([]Loss, bool) {
	positions, ok := n.positions(after)
	_, distinct := n.positions(before)
	if !ok || !distinct {
		return nil, false
	}
	var lost []Loss
	for i, item := range before {
		key, _ := n.identity(item)
		if at, found := positions[key]; found {
			lost = append(lost, compare(n.item(), fieldpath.Item(path, i), item, after[at])...)
		} else {
			lost = append(lost, Loss{Path: fieldpath.Item(path, i), Before: item})
		}
	}
	if len(lost) == 0 && len(after) > len(before) {
		lost = append(lost, Loss{Path: path, Before: before, After: after})
	}
	return lost, true
}

// positions returns where in a list each item is. It is false if items cannot be distinguished.
func (n *node) positions(list []any) (map[string]int, bool) {
	at := make(map[string]int, len(list))
	for i, item := range list {
		key, ok := n.identity(item)
		if _, twice := at[key]; !ok || twice {
			return nil, false
		}
		at[key] = i
	}
	return at, true
}
