package config

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// SchemaURL is where editors find the JSON schema of the file.
const SchemaURL = "https://raw.githubusercontent.com/crdconform/crdconform/main/config/schema.json"

// Schema returns the JSON schema of the file, draft 2020-12. It refuses nothing that Read takes. Read refuses more: IDs that
// do not exist, for example, since a schema cannot know them.
func Schema() []byte { return slices.Clone(schema) }
