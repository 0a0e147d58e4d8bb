package corpus

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fieldpath"
)

// knownType is content that a type of Kubernetes has, for fields whose schema leaves it out for its size.
type knownType struct {
	names, words *regexp.Regexp // of the field and in its description
	content      func() map[string]any
}

// knownTypes are the types that schemas leave out most often.
var knownTypes = sync.OnceValue(func() []knownType {
	return []knownType{
		{regexp.MustCompile(`(?i)template$`), regexp.MustCompile(`(?i)\bpods?\b|PodTemplate`), podTemplate},
		{regexp.MustCompile(`(?i)(claim|volume)\w*templates?$`), regexp.MustCompile(`(?i)\bclaims?\b|PersistentVolumeClaim`), claimTemplate},
		{regexp.MustCompile(`(?i)selector$`), regexp.MustCompile(`(?i)\blabels?\b|label (selector|query)`), func() map[string]any {
			return map[string]any{"matchLabels": map[string]any{"app": "web"}, "matchExpressions": anyOf(knownParts()["key operator values"])}
		}},
	}
})

// podTemplate has one of each thing that most pods have.
func podTemplate() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"example.com/team": "storage"}},
		"spec": map[string]any{
			"containers": []any{map[string]any{
				"name": "web", "image": "registry.example.com/web:1.2", "args": []any{"--level=2"},
				"env":             []any{map[string]any{"name": "MODE", "value": "fast"}},
				"ports":           []any{map[string]any{"name": "http", "containerPort": int64(8080), "protocol": "TCP"}},
				"securityContext": map[string]any{}, "resources": map[string]any{"limits": map[string]any{"cpu": "500m", "memory": "128Mi"}},
				"volumeMounts": []any{map[string]any{"name": "scratch", "mountPath": "/scratch"}},
			}},
			"initContainers": []any{map[string]any{
				"name": "prepare", "image": "registry.example.com/prepare:1.2", "command": []any{"prepare"},
				"volumeMounts": []any{map[string]any{"name": "scratch", "mountPath": "/scratch"}},
			}},
			"imagePullSecrets":              []any{map[string]any{"name": "registry"}},
			"serviceAccountName":            "web",
			"securityContext":               map[string]any{},
			"affinity":                      map[string]any{"podAntiAffinity": map[string]any{}},
			"nodeSelector":                  map[string]any{"kubernetes.io/os": "linux"},
			"tolerations":                   anyOf(knownParts()["effect key operator value"]),
			"terminationGracePeriodSeconds": int64(45),
			"volumes": []any{
				map[string]any{"name": "scratch", "emptyDir": map[string]any{}},
				map[string]any{"name": "keys", "secret": map[string]any{"secretName": "web-keys"}},
			},
		},
	}
}

func claimTemplate() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "data", "labels": map[string]any{"app": "web"}},
		"spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "fast",
			"resources": map[string]any{"requests": map[string]any{"storage": "10Gi"}},
		},
	}
}

// typically returns what a field of that name and description has, if it is of a known type and the schema keeps any content there.
func (n *node) typically(name, description string) map[string]any {
	if !n.preserve || n.embedded || n.kind != object && n.kind != anything || len(n.properties) > 0 {
		return nil
	}
	for _, one := range knownTypes() {
		if one.names.MatchString(name) && one.words.MatchString(description) {
			return one.content()
		}
	}
	return nil
}

// undescribed makes what a value has that the schema keeps and does not describe: that of a sample or of a known type, and only else
// content that is made up.
func (m *maker) undescribed(n *node) map[string]any {
	if known := m.g.knownAt(n); len(known) > 0 {
		return k8sruntime.DeepCopyJSON(one(m, known))
	}
	return nil
}

// knownAt returns content for what the schema does not describe: that of each sample, or else of a known type.
func (g *Generator) knownAt(n *node) []map[string]any {
	var known []map[string]any
	for _, tree := range g.places[n.id].trees {
		content, _ := tree.(map[string]any)
		content = maps.Clone(content)
		maps.DeleteFunc(content, func(key string, _ any) bool { return n.child(key) != nil || n.hasMeta(key) })
		if len(content) > 0 {
			known = append(known, content)
		}
	}
	if len(known) == 0 && n.typical != nil {
		known = append(known, n.typical)
	}
	return known
}

// widened is content with integers that floating point cannot hold, where types of Kubernetes allow these. It is nil if there are no such
// places.
func widened(content map[string]any) map[string]any {
	found := false
	var visit func(key string, value any) any
	visit = func(key string, value any) any {
		switch value := value.(type) {
		case map[string]any:
			for name, inner := range value {
				value[name] = visit(name, inner)
			}
		case []any:
			for i := range value {
				value[i] = visit(key, value[i])
			}
		case int64:
			if slices.Contains(wideFields(), key) {
				found = true
				return int64(1<<53 + 1)
			}
		}
		return value
	}
	content, _ = visit("", k8sruntime.DeepCopyJSON(content)).(map[string]any)
	if !found {
		return nil
	}
	return content
}

// hasTypically reports whether a path is in the content of a known type, at or below a place on the way.
func (s *Schema) hasTypically(path string) bool {
	n, way := s.root, fieldpath.Split(path)
	for i, next := range way {
		if next.List {
			n = n.item()
		} else {
			n = n.child(next.Key)
		}
		if n == nil {
			return false
		}
		if n.typical != nil {
			return (*node)(nil).anyBelow(way[i+1:], n.typical, func(any) bool { return true })
		}
	}
	return false
}
