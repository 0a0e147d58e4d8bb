package corpus

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// meaning is something that free strings often are, without the schema saying so.
type meaning struct {
	is       func(string) bool
	examples []string
	words    *regexp.Regexp // in descriptions
}

// meanings returns what free strings often are. Schemas have thousands of places that ask for them.
var meanings = sync.OnceValue(func() []meaning {
	is := func(err error) bool { return err == nil }
	return []meaning{
		{func(s string) bool { _, err := time.ParseDuration(s); return is(err) && s != "0" }, []string{"10s", "1h30m0s", "15m0s", "500ms", "30m", "2m"}, regexp.MustCompile(`(?i)\b(duration|time\.ParseDuration|timeout in the form)\b`)},
		{func(s string) bool { _, err := time.Parse(time.RFC3339, s); return is(err) }, times(), regexp.MustCompile(`(?i)\b(RFC ?3339( ?Nano)?|date-time|ISO ?8601)\b`)},
		{isCron, []string{"*/5 * * * *", "0 3 * * 1", "30 2 1 * *", "15 14 * * 1-5"}, regexp.MustCompile(`(?i)\bcron\b`)},
		{func(s string) bool { _, err := netip.ParsePrefix(s); return is(err) }, []string{"192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32"}, regexp.MustCompile(`\bCIDRs?\b`)},
		{func(s string) bool { _, err := netip.ParseAddr(s); return is(err) }, []string{"192.0.2.7", "198.51.100.23", "2001:db8::17"}, regexp.MustCompile(`(?i)\bIP address\b`)},
		{func(s string) bool { u, err := url.Parse(s); return is(err) && u.Scheme != "" && u.Host != "" }, []string{"https://example.com/path", "http://example.org:8080/", "https://registry.example.net/v2/?q=1"}, regexp.MustCompile(`\b(URLs?|URIs?)\b`)},
		{func(s string) bool { _, err := resource.ParseQuantity(s); return is(err) && !isDigits(s) }, append(quantities(), "30m", "2m"), regexp.MustCompile(`(?i)\bresource quantity\b`)},
	}
})

func isCron(s string) bool {
	return len(strings.Fields(s)) == 5 && strings.Trim(s, "0123456789*/,- ") == ""
}

func isDigits(s string) bool { return strings.Trim(s, "0123456789.") == "" }

// hinted returns strings like those that a place is for, as far as its default or its description says; none if they don't. Those of
// the default are all that the default might be: 5m is a duration, and a quantity too.
func (n *node) hinted(description string) []string {
	if n.kind != text || n.enum != nil || !n.isFree() {
		return nil
	}
	var examples []string
	found := false
	if given, ok := n.def.(string); ok && given != "" {
		for _, one := range meanings() {
			switch {
			case !one.is(given):
			case !found:
				found, examples = true, slices.Clone(one.examples)
			default:
				examples = slices.DeleteFunc(examples, func(s string) bool { return !one.is(s) })
			}
		}
	}
	for _, one := range meanings() {
		if !found && one.words.MatchString(description) {
			found, examples = true, one.examples
		}
	}
	return slices.DeleteFunc(slices.Clone(examples), func(s string) bool { return !n.acceptsText(s) })
}

var (
	preciseType  = regexp.MustCompile(`(?i)\b(RFC ?3339 ?Nano|MicroTime)\b`)
	preciseWords = regexp.MustCompile(`(?i)\b((micro|nano)seconds?|fractions? of a second)\b`)
)

// isPrecise reports whether a place holds times with fractions of a second, as far as its description or its name says. Kubernetes' usual type has
// none, and its schema does not differ from that of the type that has.
func (n *node) isPrecise(description string) bool {
	if n.kind != text || n.enum != nil {
		return false
	}
	return preciseType.MatchString(description) || n.format == "date-time" &&
		(preciseWords.MatchString(description) || slices.Contains([]string{"acquireTime", "eventTime", "renewTime"}, fieldOf(n.path)))
}

const plainWord = `[A-Za-z][A-Za-z0-9_-]*`

var (
	quotedWord  = regexp.MustCompile("[\"`'](" + plainWord + ")[\"`']")
	choiceWords = regexp.MustCompile(`\[ *(` + plainWord + `(?: *\| *` + plainWord + `)+) *\]`)
)

// mostNamed is how many of the strings are tried that a description names.
const mostNamed = 6

// namedIn returns the words that a description has in quotes, or between bars in brackets, and that are allowed.
func (n *node) namedIn(description string) []string {
	if n.kind != text || n.enum != nil || !n.isFree() || len(n.hints) > 0 || !strings.ContainsAny(description, "\"`'|") {
		return nil
	}
	var words []string
	for _, match := range quotedWord.FindAllStringSubmatch(description, -1) {
		words = append(words, match[1])
	}
	for _, match := range choiceWords.FindAllStringSubmatch(description, -1) {
		for one := range strings.SplitSeq(match[1], "|") {
			words = append(words, strings.TrimSpace(one))
		}
	}
	var named []string
	for _, one := range words {
		if n.acceptsText(one) && one != n.def && !slices.Contains(named, one) && len(named) < mostNamed {
			named = append(named, one)
		}
	}
	return named
}
