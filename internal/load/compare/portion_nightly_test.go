//go:build nightly

package compare

import "testing"

const portion = 1

func slow(*testing.T) {}
