package versions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

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
