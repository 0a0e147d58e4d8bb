package lint

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdconform/crdconform/internal/visible"
)

// checkOmitted notes fields that are in the file and that API servers leave out, since they have the value that they have without being there.
// GitOps tools know that the status is not the file's.
func (c *checker) checkOmitted() {
	if c.crd.UID != "" { // it comes from a cluster
		return
	}
	inJSON, err := json.Marshal(c.crd)
	var given, kept map[string]any
	if err != nil || json.Unmarshal(c.inJSON, &given) != nil || json.Unmarshal(inJSON, &kept) != nil {
		return // decoding it has said so
	}
	var first *field.Path
	var names []string
	note := func(path *field.Path) {
		if first == nil {
			first = path
		}
		names = append(names, path.String())
	}
	spec, _ := given["spec"].(map[string]any)
	delete(spec, "preserveUnknownFields") // it is written where clusters may have the true of v1beta1
	omitted(specPath(), spec, kept["spec"], note)
	if first != nil {
		c.found(FieldOmitted, first, "API servers leave out %s, so tools that compare the file with what is stored, such as Argo CD and Terraform, show a difference that no sync removes; leave it out of the file", visible.First(names, mostNames))
	}
}

// omitted calls note for each field that is given with an empty value and not kept.
func omitted(path *field.Path, given, kept any, note func(*field.Path)) {
	switch given := given.(type) {
	case map[string]any:
		there, _ := kept.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(given)) {
			value, found := there[key]
			if !found && isEmpty(given[key]) {
				note(path.Child(key))
			}
			omitted(path.Child(key), given[key], value, note)
		}
	case []any:
		there, _ := kept.([]any)
		for i := range min(len(given), len(there)) {
			omitted(path.Index(i), given[i], there[i], note)
		}
	}
}

// isEmpty reports whether a value is the one of a field that is not there. Tools know null as such.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case bool:
		return !value
	case string:
		return value == ""
	case float64:
		return value == 0
	case []any:
		return len(value) == 0
	}
	return false
}
