package reports

import "github.com/crdconform/crdconform/requirement"

// Leg is a rehearsed upgrade from one release to another: what became of which objects at which step.
type Leg struct {
	From     string       `json:"from"`               // the old release, as it was named
	To       string       `json:"to"`                 // the new release
	Kinds    []LegKind    `json:"kinds"`              // the definitions of both, and the objects
	Steps    []LegStep    `json:"steps"`              // in the order in which they were taken
	Findings []LegFinding `json:"findings,omitempty"` // the worst first, and by step; those with the same cause are one
	Return   []string     `json:"return,omitempty"`   // whether the old release can be put back, and until when, in sentences
}

// LegKind is a definition with its objects.
type LegKind struct {
	Definition string         `json:"definition"`       // name, such as widgets.example.com
	Kind       string         `json:"kind"`             //
	Objects    int            `json:"objects"`          // number of objects that were there before the upgrade
	Stored     map[string]int `json:"stored,omitempty"` // number of these by the version that they were stored at
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

// LegCell is what came of a step for a definition.
type LegCell struct {
	Definition string              `json:"definition"`
	Verdict    requirement.Verdict `json:"verdict"`          // the worst of the requirements that the step is about; NotApplicable when none was judged
	Objects    int                 `json:"objects"`          // number of objects that were looked at
	Found      int                 `json:"found"`            // number of objects of which something was found
	Reason     string              `json:"reason,omitempty"` // why nothing was judged
}

// LegFinding is something that an upgrade breaks. Where it happens to several objects for the same cause, it is shown for one.
type LegFinding struct {
	Requirement requirement.ID      `json:"requirement"`
	Verdict     requirement.Verdict `json:"verdict"` // what it amounts to: Failed or Tolerated
	Step        string              `json:"step"`    // name
	Definition  string              `json:"definition,omitempty"`
	Namespace   string              `json:"namespace,omitempty"` // of the object
	Name        string              `json:"name,omitempty"`      // of the object; absent when it is about no object
	Version     string              `json:"version,omitempty"`   // at which the object was read or written
	Field       string              `json:"field,omitempty"`     // such as spec.ports[0].name
	Before      string              `json:"before,omitempty"`    // its value before, as JSON
	After       string              `json:"after,omitempty"`     // and after; absent when there is none
	Message     string              `json:"message"`             // what happened, in a sentence
	Count       int                 `json:"count"`               // number of objects, this one included
	Others      []string            `json:"others,omitempty"`    // some of the other objects
	Commands    []string            `json:"commands,omitempty"`  // that show it
}
