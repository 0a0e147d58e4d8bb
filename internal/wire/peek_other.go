//go:build !unix

package wire

// peek knows no way to read without waiting.
func (*socket) peek([]byte) (int, error) { return 0, errSilent }
