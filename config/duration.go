package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Duration is a span of time, written as in 50ms, 30s or 1m30s.
type Duration struct{ time.Duration }

// MarshalText returns the duration in the form 1m30s.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses a duration. It fails if a number other than 0 has no unit, or if the duration is negative.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	parsed, err := time.ParseDuration(s)
	switch {
	case err != nil && regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`).MatchString(s):
		return fmt.Errorf("%q is not a duration that can be counted; write at most 2562047h", s)
	case err != nil:
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return fmt.Errorf("%q has no unit; write %ss for seconds or %sms for milliseconds", s, s, s)
		}
		return fmt.Errorf("%q is not a duration; write it as 500ms, 30s or 1m30s", s)
	case strings.HasPrefix(s, "-"):
		return fmt.Errorf("%q is negative; a duration is 0s or more", s)
	}
	d.Duration = parsed
	return nil
}
