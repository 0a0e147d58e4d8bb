//go:build !linux

package cgroup

import (
	"context"
	"errors"
)

// Group is a cgroup, of which other systems than Linux have none.
type Group struct{}

// New returns an UnavailableError.
func New(context.Context) (*Group, error) { return nil, unavailable("only Linux has cgroups") }

// Enter returns nothing.
func (*Group) Enter() []string { return nil }

// Limit fails.
func (*Group) Limit(uint64) error { return errors.ErrUnsupported }

// Used fails.
func (*Group) Used() (uint64, error) { return 0, errors.ErrUnsupported }

// Seen fails.
func (*Group) Seen() (Seen, error) { return Seen{}, errors.ErrUnsupported }

// Remove does nothing.
func (*Group) Remove(context.Context) error { return nil }
