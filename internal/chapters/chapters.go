// Package chapters is the list of all chapters, for those who run them.
package chapters

import (
	"slices"

	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/conversion"
	"github.com/crdconform/crdconform/suites/defaulting"
	"github.com/crdconform/crdconform/suites/lifecycle"
	"github.com/crdconform/crdconform/suites/migration"
	"github.com/crdconform/crdconform/suites/objects"
	"github.com/crdconform/crdconform/suites/publishing"
	"github.com/crdconform/crdconform/suites/resource"
	"github.com/crdconform/crdconform/suites/schema"
	"github.com/crdconform/crdconform/suites/storage"
	"github.com/crdconform/crdconform/suites/subresources"
	"github.com/crdconform/crdconform/suites/validation"
	"github.com/crdconform/crdconform/suites/versions"
	"github.com/crdconform/crdconform/suites/webhook"
)

// All returns every chapter.
func All() []suites.Area { return append(Run(), resource.Area) }

// Run returns the chapters on API servers and on webhooks of the documents, which the command run checks.
func Run() []suites.Area {
	return []suites.Area{
		versions.Area, conversion.Area, webhook.Area, storage.Area, schema.Area, validation.Area, defaulting.Area, lifecycle.Area,
		migration.New(nil), publishing.Area, subresources.Area, objects.Area, control.Area,
	}
}

// Servers returns the chapters on API servers, which need no nodes.
func Servers() []suites.Area {
	return slices.DeleteFunc(Run(), func(a suites.Area) bool { return a.Name == webhook.Area.Name || a.Name == control.Area.Name })
}

// Check returns the chapters on the webhook and the definition of a user, which the command check checks.
func Check() []suites.Area { return []suites.Area{webhook.Area, resource.Area} }
