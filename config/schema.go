package config

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// SchemaURL is the URL at which editors find the JSON schema of the configuration file.
const SchemaURL = "https://raw.githubusercontent.com/crdconform/crdconform/main/config/schema.json"

// Schema returns the JSON schema of the configuration file, draft 2020-12. It accepts everything that Read accepts. Read rejects
// more, such as IDs that do not exist, which a schema cannot know.
func Schema() []byte { return slices.Clone(schema) }
