//go:build !linux && !darwin

package embedded

// checkLimits does nothing: the system has no such limits, or reports them in another way.
func checkLimits(string) error { return nil }
