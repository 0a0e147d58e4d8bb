package reports

import "github.com/crdconform/crdconform/requirement"

// Leg is a rehearsed upgrade from one release to another: what happened to which objects at which step.
type Leg struct {
	From     string       `json:"from"`               // the old release, as given
	To       string       `json:"to"`                 // the new release
	Kinds    []LegKind    `json:"kinds"`              // the definitions of both, and the objects
	Steps    []LegStep    `json:"steps"`              // in the order in which they ran
	Findings []LegFinding `json:"findings,omitempty"` // worst first, then by step; findings with the same cause are combined
	Return   []string     `json:"return,omitempty"`   // sentences on whether, and until when, the old release can be restored
}

// LegKind is a definition with its objects.
type LegKind struct {
	Definition string         `json:"definition"`       // name, such as widgets.example.com
	Kind       string         `json:"kind"`             //
	Objects    int            `json:"objects"`          // number of objects before the upgrade
	Stored     map[string]int `json:"stored,omitempty"` // number of these by the version at which they were stored
	Served     []string       `json:"served,omitempty"` // versions of the new definition that are served
	Storage    string         `json:"storage"`          // storage version of the new definition
}

// LegStep is a step of an upgrade.
type LegStep struct {
	Name    string    `json:"name"`    // such as read
	Title   string    `json:"title"`   // what happens
	Seconds float64   `json:"seconds"` //
	Cells   []LegCell `json:"cells"`   // by definition, in the order of Kinds
}

// LegCell is the result of a step for a definition.
type LegCell struct {
	Definition string              `json:"definition"`
	Verdict    requirement.Verdict `json:"verdict"`          // worst verdict on the requirements of the step; NotApplicable if none was judged
	Objects    int                 `json:"objects"`          // number of objects examined
	Found      int                 `json:"found"`            // number of objects with findings
	Reason     string              `json:"reason,omitempty"` // why nothing was judged
}

// LegFinding is something that an upgrade breaks. If it affects several objects for the same cause, one is shown.
type LegFinding struct {
	Requirement requirement.ID      `json:"requirement"`
	Verdict     requirement.Verdict `json:"verdict"` // Failed or Tolerated
	Step        string              `json:"step"`    // name of the step
	Definition  string              `json:"definition,omitempty"`
	Namespace   string              `json:"namespace,omitempty"` // of the object
	Name        string              `json:"name,omitempty"`      // of the object; absent if the finding concerns no object
	Version     string              `json:"version,omitempty"`   // version at which the object was read or written
	Field       string              `json:"field,omitempty"`     // such as spec.ports[0].name
	Before      string              `json:"before,omitempty"`    // value of the field before, as JSON
	After       string              `json:"after,omitempty"`     // value of the field after, as JSON; absent if there is none
	Message     string              `json:"message"`             // what happened, in a sentence
	Count       int                 `json:"count"`               // number of objects, including this one
	Others      []string            `json:"others,omitempty"`    // some of the other objects
	Commands    []string            `json:"commands,omitempty"`  // commands that show it
}
