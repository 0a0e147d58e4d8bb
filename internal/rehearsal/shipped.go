package rehearsal

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/requirement"
)

// shipped reads the objects under the definitions as they are shipped, where these lack the conversion stanza that a program is to add: until
// it has, the API server only changes the apiVersion of objects.
func (l *leg) shipped(ctx context.Context) error {
	for _, k := range l.going() {
		if k.objects == 0 || !k.new.unnamed || l.broken || l.newHook.client == nil || !l.record.selects(requirement.UpgradeReadContent) {
			continue
		}
		client := l.newHook.client
		manifest := withoutWebhook(k.new.given)
		if err := l.putManifest(ctx, k, k.new, manifest, l.install.column(manifest)); err != nil {
			if isRefusal(err) {
				continue // it was accepted with the stanza
			}
			return err
		}
		for _, version := range k.new.served() {
			if err := l.relabelled(ctx, k, version); err != nil {
				return err
			}
		}
		if err := l.put(ctx, k, k.new, client); err != nil {
			return err
		}
	}
	return nil
}

// relabelled notes which objects show something else at a version than what the webhook makes of them.
func (l *leg) relabelled(ctx context.Context, k *kind, version string) error {
	_, _, err := l.sweep(ctx, k, version, func(object *unstructured.Unstructured) error {
		was, err := k.book.differs(page{after, version}, object)
		if err != nil || was == nil {
			return err
		}
		var fields []string
		for _, change := range changes(was, content(object.Object), k.new.schema(version), k.new.schema(version)) {
			if field := k.new.schema(version).Pattern(change.Path); !l.lossy(k, version, change.Path) && !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
		if len(fields) == 0 {
			return nil
		}
		l.record.find(finding{
			id: requirement.UpgradeReadContent, kind: k, object: keyOf(object), version: version,
			message: fmt.Sprintf("the definition as it is shipped has no spec.conversion, so until something patches that into it, nothing is converted: what is stored at another version is only relabelled %s, with another value of %s "+
				"than the webhook returns, and what is written meanwhile stays so; put the stanza into the manifest", version, strings.Join(fields, ", ")),
			commands: []string{k.way.command() + " " + l.to.Apply, k.kubectlGet(version, keyOf(object))},
		})
		return nil
	})
	return err
}
