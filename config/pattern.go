package config

import "github.com/crdconform/crdconform/internal/fieldpath"

// Pattern stands for fields of objects, each with all below it. It is written like the path of a field, spec.list[3].name,
// with [*] for any item of a list, * for any key of a map, and ['a/b'] for a key with dots, slashes or other signs; in the
// quotes, \' is a quote and \\ a backslash. It is read as text by UnmarshalText. The zero value matches nothing.
type Pattern = fieldpath.Pattern
