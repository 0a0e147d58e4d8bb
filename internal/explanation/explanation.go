// Package explanation says what there is to say about a requirement beside its entry in the catalogue, and counts what became of the
// sentences of the documents.
package explanation

import (
	"slices"
	"strings"

	"github.com/crdconform/crdconform/requirement"
)

// Explanation is what there is to say about a requirement, as "crdconform explain --output json" writes it.
type Explanation struct {
	requirement.Requirement

	Specs  []Named `json:"specs,omitempty"`  // how it is checked: what each spec does, and where it is
	Rules  []Named `json:"rules,omitempty"`  // of lint that check it
	Faults []Named `json:"faults,omitempty"` // of the reference webhook that break it: what a failure looks like
	Remedy string  `json:"remedy,omitempty"` // what to do about a failure
	Run    string  `json:"run,omitempty"`    // the command that checks it alone
}

// Named is something with a name and a sentence.
type Named struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// related is a rule of lint or a fault, with the requirements that it is about.
type related struct {
	Named
	help string // of a rule
	of   []requirement.ID
}

// Of is what there is to say about a requirement that these specs check.
func Of(r requirement.Requirement, specs []Named) Explanation {
	e := Explanation{Requirement: r, Remedy: Remedy(r)}
	switch command := Command(r); command {
	case "":
		return e
	case "lint":
		for _, rule := range rules() {
			if slices.Contains(rule.of, r.ID) {
				e.Rules = append(e.Rules, rule.Named)
				e.Remedy = rule.help
			}
		}
		e.Run = "crdconform lint FILE"
		return e
	case r.Command:
		switch command {
		case "disrupt":
			e.Run = "crdconform disrupt --scenario " + strings.TrimPrefix(string(r.ID), r.ID.Area()+".")
		case "rehearse":
			e.Run = "crdconform rehearse --old CRDS --crd CRDS --filter " + string(r.ID)
		case "storage safe-to-drop":
			e.Run = "crdconform storage safe-to-drop CRD VERSION --context NAME"
		case "doctor":
			e.Run = "crdconform doctor --context NAME"
		}
		return e
	}
	e.Specs = specs
	for _, fault := range faults() {
		if slices.Contains(fault.of, r.ID) {
			e.Faults = append(e.Faults, fault.Named)
		}
	}
	e.Run = "crdconform run --filter " + string(r.ID)
	switch r.ID.Area() {
	case "resource":
		e.Run = "crdconform check URL --crd FILE --filter " + string(r.ID)
	case "webhook":
		e.Run = "crdconform check URL --filter " + string(r.ID)
	}
	return e
}

// Command returns the command of crdconform that checks a requirement; nothing if none does. It is check for what run checks, too, with
// the reference webhook.
func Command(r requirement.Requirement) string {
	switch {
	case r.Untested != "":
		return ""
	case r.Command != "":
		return r.Command
	case r.Binds == requirement.Author:
		return "lint"
	case r.ID.Area() == "webhook" || r.ID.Area() == "resource":
		return "check"
	}
	return "run"
}

// Holds says for which minors a requirement holds.
func Holds(r requirement.Requirement) string {
	if (r.Until != requirement.Minor{}) {
		return "Kubernetes " + r.Since.String() + " to " + r.Until.String()
	}
	return "Kubernetes " + r.Since.String() + " and later"
}

// Remedy says what to do about a failure, as far as that can be said without seeing it.
func Remedy(r requirement.Requirement) string {
	if r.Untested != "" {
		return ""
	}
	for _, one := range remedies() {
		if strings.HasPrefix(string(r.ID), one.prefix) {
			return one.text
		}
	}
	if r.Binds == requirement.Server {
		return "No change to a webhook or a definition can fix it: report it to the developers of the API server, with the report folder."
	}
	return ""
}

type remedy struct{ prefix, text string }

// remedies are those of a topic, the more special ones first.
func remedies() []remedy {
	return []remedy{
		{"disruption.restart.", "On SIGTERM, answer what was accepted, then end; keep nothing in memory that conversions need, and wait for no lock of a process that is gone."},
		{"disruption.replicas.", "On SIGTERM, go on serving for some seconds, ending each connection with the next response, and be ready only when conversions work."},
		{"disruption.certificate.", "Read the certificate again when its folder changes, as certwatcher of controller-runtime does, and trust no authority that was read once."},
		{"disruption.network.", "Give a request the 30 s that API servers do, and let no connection that breaks end the program."},
		{"disruption.pause.", "Give a request the 30 s that API servers do, and drop requests that nobody waits for any more."},
		{"webhook.transport.", "Mend the address, the certificate or the TLS version of the server; the reason shows what happened."},
		{"webhook.request.", "Read the request as JSON, ignore fields that you do not know, and answer at the version of ConversionReview that was sent."},
		{"webhook.response.", "Build the response from the request: the same apiVersion, kind and UID, all objects in their order, status Success."},
		{"webhook.metadata.", "Copy metadata as it came; change labels and annotations only."},
		{"webhook.conversion.", "Convert the field both ways, or keep it in an annotation. Declare a loss that is meant under lossy in crdconform.yaml. Where a union is to have one member, have the schema allow no more (maxProperties: 1)."},
		{"webhook.batch.", "Keep no state between objects, and return those at the desired version unchanged."},
		{"webhook.failure.", "Catch errors and panics, and answer with status Failed and a message that names the object."},
		{"control.webhook.", "Keep serving for some seconds after the signal to stop, until API servers know that the pod is gone."},
		{"resource.", "Mend the conversion, or the schema that lacks the field."},
	}
}
