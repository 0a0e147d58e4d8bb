package options

import "strings"

// Nearest returns the word that a mistyped one is most like; nothing when none is much like it.
func Nearest(word string, known []string) string {
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
