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
	if len(lost) > 1 {
		if moved := compareMoved(n.keptItem(), path, before, after); moved != nil && len(moved) < len(lost) {
			return moved
		}
	}
	return lost
}

// compareMoved compares lists of the same length of which most items that are not in their places are whole in others, and the rest with what is left,
// so that an item is not compared with another one that is in its place. The result is nil if that is not so, or there are two of an item.
func compareMoved(item *node, path string, before, after []any) []Loss {
	at := map[string]int{}
	for j, other := range after {
		at[encoded(other)] = j
	}
	taken, seen, moved := map[int]bool{}, map[string]bool{}, 0
	var rest []int
	for i, one := range before {
		text := encoded(one)
		j, found := at[text]
		if !found {
			rest = append(rest, i)
			continue
		}
		if seen[text] {
			return nil
		}
		seen[text], taken[j] = true, true
		if i != j {
			moved++
		}
	}
	if moved <= len(rest) || len(at) < len(after) {
		return nil
	}
	lost := []Loss{{Path: path, Before: before, After: after, reordered: true}}
	left := 0
	for _, i := range rest {
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
