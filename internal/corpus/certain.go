package corpus

// certain reports whether an object is as the schema wants it beyond doubt, apart from rules in CEL: API servers neither drop nor
// refuse anything else of it. To find that out takes a hundredth of what validation takes. What only validation finds is never certain.
func (s *Schema) certain(object map[string]any) bool {
	return !s.doubt && s.root.holds(object)
}

// holds reports whether a value is certainly valid at a place.
func (n *node) holds(value any) bool {
	if n == nil || n.preserve && n.kind != object && n.kind != list || n.embedded || n.shallow || n.unique || n.doubtful {
		return false
	}
	switch value := value.(type) {
	case map[string]any:
		return n.kind == object && n.enum == nil && n.holdsFields(value)
	case []any:
		return n.kind == list && n.enum == nil && n.holdsItems(value)
	case string:
		return (n.kind == text || n.kind == intOrString) && n.accepts(value)
	case int64:
		return (n.kind == integer || n.kind == number || n.kind == intOrString) && n.accepts(value)
	case float64:
		return n.kind == number && n.accepts(value)
	case bool:
		return n.kind == boolean && n.accepts(value)
	}
	return false
}

func (n *node) holdsFields(fields map[string]any) bool {
	if count := int64(len(fields)); count < n.minFields || count > n.maxFields {
		return false
	}
	for name := range n.required {
		if _, there := fields[name]; !there {
			return false
		}
	}
	for i := range n.choices {
		if !n.choices[i].holds(fields) {
			return false
		}
	}
	for name, value := range fields {
		field := n.child(name)
		if field == nil && n.preserve {
			continue // whatever it is, it is kept
		}
		if !field.holds(value) && (n.path != "" || !isMeta(name) || !field.holdsMeta(value)) {
			return false
		}
	}
	return true
}

// holdsMeta reports whether a field that every object has is certainly valid: nothing is wanted of it but to be an object, if that.
func (n *node) holdsMeta(value any) bool {
	if n == nil {
		return true
	}
	_, isObject := value.(map[string]any)
	return isObject && n.kind == object && n.enum == nil && len(n.properties) == 0 && n.entries == nil &&
		n.minFields == 0 && n.maxFields == unlimited && len(n.required) == 0 && !n.embedded
}

func (n *node) holdsItems(items []any) bool {
	if count := int64(len(items)); count < n.minItems || count > n.maxItems {
		return false
	}
	for _, item := range items {
		if !n.items.holds(item) {
			return false
		}
	}
	if n.listType == "" {
		return true
	}
	_, distinct := n.positions(items)
	return distinct
}
