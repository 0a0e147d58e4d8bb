package recording

import (
	"encoding/json"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mask returns what takes the place of a string: x for each letter, X for each capital, 1 for each digit, and punctuation as it
// is. So what webhooks do with it goes well as before: "db.example.com:5432" still has a port, and put together of masked parts
// a string is the same as masked as a whole.
//
// A few kinds of strings have letters that mean something, and keep those: times, durations, quantities and the scheme of a URL.
// In UUIDs and addresses letters become a or A, and "true" becomes "false". To mask what is masked changes nothing.
func mask(s string) string {
	switch {
	case s == "true" || s == "false":
		return "false"
	case timed(s):
		return masked(s, unicode.IsDigit)
	case hexadecimal(s):
		return strings.NewReplacer("x", "a", "X", "A").Replace(shape(s))
	}
	scheme := urlScheme.FindString(s)
	rest := s[len(scheme):]
	if !strings.ContainsFunc(rest, func(r rune) bool { return maskedRune(r) != r || unicode.IsLetter(r) || unicode.IsDigit(r) }) &&
		strings.Trim(rest, syntax) != "" {
		return scheme + strings.Repeat("x", len(rest)) // a secret that is nothing but odd signs
	}
	return scheme + shape(rest)
}

// syntax are the signs that values may be made of as a whole, such as * and :, and be no secret.
const syntax = " \t\n.,:;/-_*+=()[]{}'\"\\"

// shape is a string masked without regard to what it means.
func shape(s string) string { return masked(s, func(rune) bool { return true }) }

func masked(s string, which func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if which(r) {
			return maskedRune(r)
		}
		return r
	}, s)
}

func maskedRune(r rune) rune {
	switch {
	case unicode.IsDigit(r):
		return '1'
	case unicode.IsUpper(r):
		return 'X'
	case unicode.IsLetter(r) || r > unicode.MaxASCII:
		return 'x'
	}
	return r
}

var urlScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// timed reports whether a string is a time, a duration or a quantity such as 100Mi.
func timed(s string) bool {
	if !strings.ContainsFunc(s, unicode.IsDigit) {
		return false
	}
	if _, err := time.Parse(time.RFC3339, s); err == nil {
		return true
	}
	if _, err := time.ParseDuration(s); err == nil {
		return true
	}
	_, err := resource.ParseQuantity(s)
	return err == nil
}

// hexadecimal reports whether a string is a UUID or an address of IP, of a network or of a device.
func hexadecimal(s string) bool {
	_, err1 := netip.ParseAddr(s)
	_, err2 := netip.ParsePrefix(s)
	_, err3 := net.ParseMAC(s)
	return err1 == nil || err2 == nil || err3 == nil || uuid.Validate(s) == nil
}

// maskNumber returns what takes the place of a number: the same with each digit 1. 0 stays.
func maskNumber(n json.Number) json.Number {
	digits, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
	if !strings.ContainsAny(digits, "123456789") {
		return n
	}
	return json.Number(masked(n.String(), unicode.IsDigit))
}
