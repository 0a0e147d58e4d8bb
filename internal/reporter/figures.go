package reporter

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/visible"
)

// spread is a figure of several runs.
type spread struct {
	Median, Least, Most float64
}

func spreadOf(values []float64) spread {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	return spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Least: values[0], Most: values[n-1]}
}

// String is the median.
func (s spread) String() string { return figure(s.Median) }

// Range is the least and the most. It is empty where they are the same as far as digits are shown, as for one run.
func (s spread) Range() string {
	least, most := figure(s.Least), figure(s.Most)
	if least == most {
		return ""
	}
	return least + " to " + most
}

// figure writes a number with the three digits that a histogram is right in, and with all digits before the point.
func figure(v float64) string {
	digits := 3
	for magnitude := math.Abs(v); magnitude >= 1 && digits > 0; magnitude /= 10 {
		digits--
	}
	if v == 0 {
		digits = 0
	}
	return grouped(strconv.FormatFloat(v, 'f', digits, 64))
}

// given writes a number that was not measured.
func given(v float64) string { return grouped(strconv.FormatFloat(math.Round(100*v)/100, 'f', -1, 64)) }

// grouped puts a comma before each three digits of a whole number.
func grouped(number string) string {
	digits, fraction, _ := strings.Cut(number, ".")
	digits, negative := strings.CutPrefix(digits, "-")
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if negative {
		digits = "-" + digits
	}
	return joined(digits, ".", fraction)
}

// wholeNumber writes a number that counts something.
func wholeNumber(n uint64) string { return grouped(strconv.FormatUint(n, 10)) }

// short writes a time with its unit.
func short(milliseconds float64) string {
	if math.Abs(milliseconds) < 0.1 {
		return figure(milliseconds*1000) + " µs"
	}
	return figure(milliseconds) + " ms"
}

// listed joins words as in a sentence.
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// many is a number of things, which may be large.
func many(n uint64, thing string) string {
	return wholeNumber(n) + " " + visible.Word(n, thing, "")
}

// sixDigits writes a number with six significant digits, or all before the point if those are more, and with no exponent.
func sixDigits(v float64) string {
	if math.Abs(v) >= 1e5 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		rounded = v
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
