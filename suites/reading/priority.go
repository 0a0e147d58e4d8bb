package reading

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

// form is how Kubernetes names versions: v, a number, and perhaps alpha or beta with another number.
var form = regexp.MustCompile(`^v(\d+)(?:(alpha|beta)(\d+))?$`)

// rank is what a version is sorted by, the smallest first.
type rank struct {
	other, maturity int
	major, minor    int // negative, since large numbers come first
	name            string
}

func rankOf(version string) rank {
	parts := form.FindStringSubmatch(version)
	if parts == nil {
		return rank{other: 1, name: version}
	}
	number := func(digits string) int {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return 0 // there is none
		}
		return n
	}
	return rank{maturity: map[string]int{"": 0, "beta": 1, "alpha": 2}[parts[2]], major: -number(parts[1]), minor: -number(parts[3])}
}

// byPriority sorts versions as the documents say, without the code that API servers do it by.
func byPriority(versions []string) []string {
	return slices.SortedFunc(slices.Values(versions), func(a, b string) int {
		x, y := rankOf(a), rankOf(b)
		return cmp.Or(
			cmp.Compare(x.other, y.other),
			cmp.Compare(x.maturity, y.maturity),
			cmp.Compare(x.major, y.major),
			cmp.Compare(x.minor, y.minor),
			cmp.Compare(x.name, y.name),
		)
	})
}
