// Package objective is what users allow a disruption to cost, for each scenario.
package objective

import "time"

// Limit is what one scenario may cost. Without a limit (nil) the figure is reported and decides nothing.
type Limit struct {
	Recovery *time.Duration `json:"recovery,omitempty"` // from the end of the fault, or from ready where that is later, until all is as before
	Failed   *int           `json:"failed,omitempty"`   // operations
	Lost     *int           `json:"lost,omitempty"`     // acknowledged writes
	Wrong    *int           `json:"wrong,omitempty"`    // conversions
}
