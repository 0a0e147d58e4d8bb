//go:build nightly

package history

import "testing"

const portion = 1

func slow(*testing.T) {}
