package versions

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
)

// pattern is the documents' "v followed by a number, an optional beta or alpha designation, and optional additional
// numeric versioning information", read as API servers read it: the last number belongs to the designation.
var pattern = regexp.MustCompile(`^v(\d+)(?:(alpha|beta)(\d+))?$`)

// byPriority sorts versions as the documents' algorithm says. It is written from the documents and shares no code with
// the API server, which would only agree with itself.
func byPriority(versions []string) []string {
	sorted := slices.Clone(versions)
	slices.SortFunc(sorted, func(a, b string) int {
		x, y := pattern.FindStringSubmatch(a), pattern.FindStringSubmatch(b)
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
			cmp.Compare(number(y[1]), number(x[1])),       // the largest first
			cmp.Compare(number(y[3]), number(x[3])),       // the largest first
		)
	})
	return sorted
}

func stability(designation string) int {
	return slices.Index([]string{"", "beta", "alpha"}, designation)
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0 // there is none
	}
	return n
}

// generate returns a set of 2 to 12 versions, of which about two in three follow the pattern.
func generate(random *rand.Rand) []string {
	others := []string{"foo", "bar", "v", "vv1", "v1beta", "v2alpha", "v9rc1", "version", "x-", "beta"}
	var versions []string
	for want := 2 + random.IntN(11); len(versions) < want; {
		var name string
		switch random.IntN(6) {
		case 0, 1:
			name = fmt.Sprintf("v%d", 1+random.IntN(25))
		case 2:
			name = fmt.Sprintf("v%dbeta%d", 1+random.IntN(12), 1+random.IntN(12))
		case 3:
			name = fmt.Sprintf("v%dalpha%d", 1+random.IntN(12), 1+random.IntN(12))
		default:
			name = others[random.IntN(len(others))]
			if random.IntN(2) == 0 || name == "x-" {
				name += strconv.Itoa(random.IntN(30))
			}
		}
		// v1beta followed by a number follows the pattern as well, which is fine.
		if !slices.Contains(versions, name) {
			versions = append(versions, name)
		}
	}
	return versions
}
