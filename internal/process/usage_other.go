//go:build !linux

package process

func (t tree) usage() (Usage, bool) { return Usage{}, false }
