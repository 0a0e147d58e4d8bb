package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Share is a part of a whole from 0 to 1, written as in 95%.
type Share float64

// MarshalText writes the share as 95%.
func (s Share) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(100*float64(s), 'f', -1, 64) + "%"), nil
}

// UnmarshalText reads a share. It fails without a percent sign, and beyond 0% and 100%.
func (s *Share) UnmarshalText(text []byte) error {
	number, isPercentage := strings.CutSuffix(string(text), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !isPercentage || !(percent >= 0 && percent <= 100) {
		return fmt.Errorf("%q is not a share; write a percentage from 0%% to 100%%, such as 95%%", text)
	}
	*s = Share(percent / 100)
	return nil
}
