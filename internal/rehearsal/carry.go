package rehearsal

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdconform/crdconform/cluster"
)

// carry keeps the objects as they are stored now, for the upgrade to the next release.
func (l *leg) carry(ctx context.Context) error {
	if !l.carries || len(l.going()) == 0 {
		return nil
	}
	carried, err := NewObjects(l.Dir, l.to.Definitions)
	if err != nil {
		return err
	}
	for _, k := range l.going() {
		d := carried.definitions[schema.GroupKind{Group: k.group, Kind: k.kind}]
		if carried.Stored[k.name], err = l.install.storedVersions(ctx, k.name); err != nil {
			return errors.Join(err, carried.Close())
		}
		var wrong error
		err = l.storage.EachStored(ctx, k.group, k.plural, func(stored cluster.Stored) {
			if wrong == nil {
				wrong = carried.keep(d, stored)
			}
		})
		if err = errors.Join(err, wrong); err != nil {
			return errors.Join(err, carried.Close())
		}
	}
	l.carried = carried
	return carried.Complete()
}
