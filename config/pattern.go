package config

import "github.com/crdconform/crdconform/internal/fieldpath"

// Pattern matches fields of objects, including everything below them. It is written like the path of a field, such as
// spec.list[3].name, with [*] for any item of a list, * for any key of a map, and ['a/b'] for a key with dots, slashes or other
// special characters. Within the quotes, \' is a quote and \\ a backslash. UnmarshalText parses a pattern. The zero value matches
// nothing.
type Pattern = fieldpath.Pattern
