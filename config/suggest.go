package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// fields returns the keys of a section, in the order of its fields; "" for a field that is not in files.
func fields(section reflect.Type) []string {
	names := make([]string, section.NumField())
	for i := range names {
		names[i], _, _ = strings.Cut(section.Field(i).Tag.Get("json"), ",")
	}
	return names
}

// unknownKey says that a section has no such key, and what may have been meant.
func unknownKey(name, section string, known []string) string {
	const text = "there is no such key"
	if near := nearest(name, known); near != "" {
		return fmt.Sprintf("%s; did you mean %s?", text, near)
	}
	if place := placeOf(name, reflect.TypeFor[Config](), ""); place != "" && parent(place) != section {
		return fmt.Sprintf("%s here; did you mean %s?", text, place)
	}
	var all []string
	for _, one := range known {
		if one != "" {
			all = append(all, one)
		}
	}
	return fmt.Sprintf("%s; there are %s", text, strings.Join(all, ", "))
}

// placeOf returns where in a section, or below, there is a key of a name; nothing when there is none.
func placeOf(name string, section reflect.Type, key string) string {
	for i, known := range fields(section) {
		if known == "" {
			continue
		}
		below := strings.TrimPrefix(key+"."+known, ".")
		if known == name {
			return below
		}
		kind := section.Field(i).Type
		if kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct && kind.PkgPath() == section.PkgPath() {
			if found := placeOf(name, kind, below); found != "" {
				return found
			}
		}
	}
	return ""
}

// nearest returns the word that a mistyped one is most like; nothing when none is much like it.
func nearest(word string, known []string) string {
	best, least := "", min(max(2, len(word)/3), len(word)-1)+1
	for _, one := range known {
		if one == "" {
			continue
		}
		if d := distance(strings.ToLower(word), strings.ToLower(one)); d < least {
			best, least = one, d
		}
	}
	return best
}

// distance is how many letters have to be added, taken away or changed to make one word of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// noRequirement says that nothing matches an ID or a pattern, and what may have been meant.
func noRequirement(pattern string) string {
	var ids []string
	for _, r := range requirement.All() {
		ids = append(ids, string(r.ID))
	}
	if near := nearest(pattern, ids); near != "" {
		return fmt.Sprintf("there is no requirement %q; did you mean %s?", pattern, near)
	}
	return fmt.Sprintf("there is no requirement %q; \"crdconform list\" shows them all", pattern)
}
