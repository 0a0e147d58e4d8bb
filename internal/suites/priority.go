package suites

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

// versionPattern is the documents' "v followed by a number, an optional beta or alpha designation, and optional additional
// numeric versioning information", read as API servers read it: the last number belongs to the designation.
var versionPattern = regexp.MustCompile(`^v(\d+)(?:(alpha|beta)(\d+))?$`)

// ByPriority returns versions of an API with the one of the highest priority first: v2, v1, v1beta2, v1beta1, v1alpha1, foo. It is written
// from the documents' algorithm and shares no code with the API server, which would only agree with itself.
func ByPriority(versions []string) []string {
	sorted := slices.Clone(versions)
	slices.SortFunc(sorted, func(a, b string) int {
		x, y := versionPattern.FindStringSubmatch(a), versionPattern.FindStringSubmatch(b)
		switch {
		case x == nil && y == nil:
			return cmp.Compare(a, b) // alphabetically, numbers not being special
		case x == nil:
			return 1 // entries that follow the pattern come first
		case y == nil:
			return -1
		}
		return cmp.Or(
			cmp.Compare(stability(x[2]), stability(y[2])), // stable, beta, alpha
			cmp.Compare(numberIn(y[1]), numberIn(x[1])),   // the largest first
			cmp.Compare(numberIn(y[3]), numberIn(x[3])),   // the largest first
		)
	})
	return sorted
}

func stability(designation string) int {
	return slices.Index([]string{"", "beta", "alpha"}, designation)
}

func numberIn(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // there is none
	}
	return n
}
