package rehearsal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/fieldpath"
	"github.com/crdconform/crdconform/internal/kube"
	"github.com/crdconform/crdconform/internal/shell"
)

// target is how kubectl names a resource at a version.
func (k *kind) target(version string) string {
	return fmt.Sprintf("%s.%s.%s", k.plural, version, k.group)
}

// in returns the arguments of kubectl for an object: its name, and its namespace if it has one.
func (k *kind) in(object string) string {
	namespace, name := kube.SplitKey(object)
	if !k.scoped {
		return shell.Quote(name)
	}
	return shell.Quote(name) + " -n " + shell.Quote(namespace)
}

// kubectlGet is the command that reads an object.
func (k *kind) kubectlGet(version, object string) string {
	return fmt.Sprintf("kubectl get %s %s -o yaml", k.target(version), k.in(object))
}

// kubectlList is the command that lists all objects.
func (k *kind) kubectlList(version string, options ...string) string {
	if k.scoped {
		options = append([]string{"-A"}, options...)
	}
	return strings.Join(append([]string{"kubectl get", k.target(version)}, options...), " ")
}

// kubectlReplace is the command that tries to write an object as it is read.
func (k *kind) kubectlReplace(version, object string, options ...string) string {
	return k.kubectlGet(version, object) + " | kubectl replace --dry-run=server " + strings.Join(append(options, "-f -"), " ")
}

// kubectlPatch is the command that tries to change a field of an object.
func (k *kind) kubectlPatch(version, object, field string, value any) string {
	pointer := []string{""}
	for _, step := range fieldpath.Split(field) {
		if step.List {
			step.Key = strconv.Itoa(step.At)
		}
		pointer = append(pointer, strings.NewReplacer("~", "~0", "/", "~1").Replace(step.Key))
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": strings.Join(pointer, "/"), "value": value}})
	if err != nil {
		return k.kubectlGet(version, object)
	}
	return fmt.Sprintf("kubectl patch --dry-run=server %s %s --type=json -p %s", k.target(version), k.in(object), shell.Quote(string(patch)))
}

// kubectlDelete is the command that tries to delete an object.
func (k *kind) kubectlDelete(version, object string) string {
	return fmt.Sprintf("kubectl delete --dry-run=server %s %s", k.target(version), k.in(object))
}

// kubectlCreate is the command that tries to create an object like one that is there.
func (k *kind) kubectlCreate(version, object string) string {
	return fmt.Sprintf(`kubectl get %s %s -o json | jq 'del(.metadata.uid, .metadata.resourceVersion) | .metadata.name += "-again"' | kubectl create --dry-run=server -f -`, k.target(version), k.in(object))
}

// kubectlApply is the command with which a manager tries to apply an object.
func (k *kind) kubectlApply(version, object, manager string) string {
	namespace, name := kube.SplitKey(object)
	meta := "name: " + name
	if namespace != "" {
		meta += ", namespace: " + namespace
	}
	manifest := fmt.Sprintf("{apiVersion: %s/%s, kind: %s, metadata: {%s, annotations: {%s: \"true\"}}}", k.group, version, k.kind, meta, rehearsed)
	return fmt.Sprintf("kubectl apply --server-side --dry-run=server --force-conflicts --field-manager=%s -f - <<'EOF'\n%s\nEOF", shell.Quote(manager), manifest)
}
