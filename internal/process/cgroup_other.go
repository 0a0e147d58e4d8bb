//go:build !linux

package process

import (
	"context"
	"errors"
)

// Cgroup is a cgroup, of which other systems than Linux have none.
type Cgroup struct{}

// NewCgroup returns an UnavailableError.
func NewCgroup(context.Context) (*Cgroup, error) { return nil, unavailable("only Linux has cgroups") }

// Enter returns nothing.
func (*Cgroup) Enter() []string { return nil }

// Limit fails.
func (*Cgroup) Limit(uint64) error { return errors.ErrUnsupported }

// Used fails.
func (*Cgroup) Used() (uint64, error) { return 0, errors.ErrUnsupported }

// Seen fails.
func (*Cgroup) Seen() (CgroupSeen, error) { return CgroupSeen{}, errors.ErrUnsupported }

// Remove does nothing.
func (*Cgroup) Remove(context.Context) error { return nil }
