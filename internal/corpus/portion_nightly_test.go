//go:build nightly

package corpus

import "testing"

const portion = 1

func slow(*testing.T) {}
