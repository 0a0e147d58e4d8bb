package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a fraction of a whole, from 0 to 1, written as a percentage such as 95%.
type Share float64

// MarshalText returns the share as a percentage, as in 95%.
func (s Share) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(100*float64(s), 'f', -1, 64) + "%"), nil
}

// UnmarshalText parses a percentage. It fails if the percent sign is missing, or if the value is not from 0% to 100%.
func (s *Share) UnmarshalText(text []byte) error {
	number, isPercentage := strings.CutSuffix(string(text), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !isPercentage || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("%q is not a share; write a percentage from 0%% to 100%%, such as 95%%", text)
	}
	*s = Share(percent / 100)
	return nil
}
