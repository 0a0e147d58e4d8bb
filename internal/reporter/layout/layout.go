// Package layout says where in a report folder files are.
package layout

import (
	"io/fs"
	"strings"
)

// Report is what the report is called in its folder.
const Report = "report.json"

// Requirements is where in the folder pages are that explain requirements.
const Requirements = "requirements/"

// Where in the folder files are.
const (
	Exchanges = "exchanges/" // evidence of results
	Findings  = "load/"      // of findings under load
	Artifacts = "cluster/"   // logs of a cluster
	Histories = "histories/" // what clients did while something was disrupted
)

// Local reports whether a path is one below a folder of evidence.
func Local(path string) bool {
	return Below(path, Exchanges) || Below(path, Findings) || Below(path, Artifacts) || Below(path, Histories)
}

// Below reports whether a path is one below a folder, spelled in the only way there is.
func Below(path, folder string) bool {
	return fs.ValidPath(path) && strings.HasPrefix(path, folder) && !strings.ContainsAny(path, "\\\x00")
}
