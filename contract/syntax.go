package contract

import (
	"encoding/binary"
	"math/bits"
)

// The functions in this file find where JSON values end, and check their syntax. They know nothing about reviews. Everything that
// they accept is JSON for the decoder of API servers too, and has no number that is too large for it. The reverse does not hold: they
// reject values that are nested deeper than maxNesting.
//
// Like that decoder, they accept strings with invalid UTF-8 and with unpaired surrogates, and objects with duplicate names. Callers
// that look for a name must handle duplicates.

// maxNesting is the maximum depth to which a value may be nested: one bit of a uint64 for each level. The decoder of API servers
// allows 10,000.
const maxNesting = 64

// valueEnd returns the index after the value that begins at an index, or -1 if none that is accepted begins there.
func valueEnd(b []byte, at int) int {
	var (
		depth    int
		inObject uint64 // for each level, the innermost lowest: 1 in an object, 0 in an array
	)
	for {
		if inObject&1 == 1 {
			at = colonEnd(b, stringEnd(b, at))
		}
		if at < 0 || at >= len(b) {
			return -1
		}
		switch c := b[at]; c {
		case '{', '[':
			if depth == maxNesting {
				return -1
			}
			depth++
			inObject <<= 1
			if c == '{' {
				inObject |= 1
			}
			if at = spaceEnd(b, at+1); at >= len(b) {
				return -1
			}
			if b[at] != closing(inObject) {
				continue
			}
		case '"':
			at = stringEnd(b, at)
		case 't':
			at = wordEnd(b, at, "true")
		case 'f':
			at = wordEnd(b, at, "false")
		case 'n':
			at = wordEnd(b, at, "null")
		default:
			at = numberEnd(b, at)
		}
		// A value ended, or the object or array that was opened is empty.
		for {
			if at < 0 || depth == 0 {
				return at
			}
			if at = spaceEnd(b, at); at >= len(b) {
				return -1
			}
			if b[at] == ',' {
				at = spaceEnd(b, at+1)
				break
			}
			if b[at] != closing(inObject) {
				return -1
			}
			at++
			depth--
			inObject >>= 1
		}
	}
}

// closing returns the character that closes the innermost level.
func closing(inObject uint64) byte {
	if inObject&1 == 1 {
		return '}'
	}
	return ']'
}

// colonEnd returns the index of the value after the colon that follows a name.
func colonEnd(b []byte, at int) int {
	if at >= 0 && at+1 < len(b) && b[at] == ':' && b[at+1] > ' ' {
		return at + 1
	}
	return spacedColonEnd(b, at)
}

func spacedColonEnd(b []byte, at int) int {
	if at < 0 {
		return -1
	}
	if at = spaceEnd(b, at); at >= len(b) || b[at] != ':' {
		return -1
	}
	return spaceEnd(b, at+1)
}

// spaceEnd returns the index of the first byte that is not white space.
func spaceEnd(b []byte, at int) int {
	if at < len(b) && b[at] > ' ' {
		return at
	}
	return spacesEnd(b, at)
}

func spacesEnd(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\n' || b[at] == '\t' || b[at] == '\r') {
		at++
	}
	return at
}

func wordEnd(b []byte, at int, word string) int {
	if len(b)-at < len(word) || string(b[at:at+len(word)]) != word {
		return -1
	}
	return at + len(word)
}

// stringEnd returns the index after a string, or -1 if none begins here.
func stringEnd(b []byte, at int) int {
	if at >= len(b) || b[at] != '"' {
		return -1
	}
	at++
	if len(b)-at >= 8 { // most names and many values end within these
		if special := specials(binary.LittleEndian.Uint64(b[at:])); special != 0 {
			if end := at + bits.TrailingZeros64(special)/8; b[end] == '"' {
				return end + 1
			}
		}
	}
	for {
		at = plainEnd(b, at)
		switch {
		case at >= len(b):
			return -1
		case b[at] == '"':
			return at + 1
		case b[at] != '\\':
			return -1
		}
		if at = escapeEnd(b, at); at < 0 {
			return -1
		}
	}
}

// specials examines eight bytes at once. It sets the highest bit of each byte that is a quote, a backslash or a control character. A
// carry from one byte to the next only corrupts bits above the lowest one that is set, and only that one is used.
func specials(word uint64) uint64 {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	// Flipping the second bit turns the quote into 0x20, and leaves control characters below that.
	quoteOrControl := (word ^ each*0x02) - each*0x21
	backslash := (word ^ each*'\\') - each
	return (quoteOrControl | backslash) &^ word & highest
}

// plainEnd returns the index of the first quote, backslash or control character.
func plainEnd(b []byte, at int) int {
	for ; len(b)-at >= 8; at += 8 {
		if special := specials(binary.LittleEndian.Uint64(b[at:])); special != 0 {
			return at + bits.TrailingZeros64(special)/8
		}
	}
	for at < len(b) && b[at] >= ' ' && b[at] != '"' && b[at] != '\\' {
		at++
	}
	return at
}

// escapeEnd returns the index after an escape sequence.
func escapeEnd(b []byte, at int) int {
	if len(b)-at < 2 {
		return -1
	}
	switch b[at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 2
	case 'u':
		return hexEnd(b, at+2)
	}
	return -1
}

// hexEnd returns the index after four hexadecimal digits.
func hexEnd(b []byte, at int) int {
	if len(b)-at < 4 {
		return -1
	}
	for _, c := range b[at : at+4] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return -1
		}
	}
	return at + 4
}

// numberEnd returns the index after a number that API servers can decode.
func numberEnd(b []byte, at int) int {
	if end := shortEnd(b, at); end > at {
		return end
	}
	start := at
	if at < len(b) && b[at] == '-' {
		at++
	}
	whole := at
	if at = digitsEnd(b, at); at < 0 || b[whole] == '0' && at > whole+1 {
		return -1
	}
	if at < len(b) && b[at] == '.' {
		if at = digitsEnd(b, at+1); at < 0 {
			return -1
		}
	}
	if at < len(b) && (b[at] == 'e' || b[at] == 'E') {
		at++
		if at < len(b) && (b[at] == '+' || b[at] == '-') {
			at++
		}
		if at = digitsEnd(b, at); at < 0 || decodable(b[start:at]) != nil {
			return -1
		}
	}
	if at-start >= fewDigits && decodable(b[start:at]) != nil {
		return -1
	}
	return at
}

// shortEnd returns the index after a whole number of few digits, or at if there is another number or none.
func shortEnd(b []byte, at int) int {
	end := at
	for end < len(b) && b[end] >= '0' && b[end] <= '9' {
		end++
	}
	if end-at >= fewDigits || end > at+1 && b[at] == '0' || end < len(b) && continues(b[end]) {
		return at
	}
	return end
}

// continues reports whether a character may continue a number.
func continues(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E'
}

// digitsEnd returns the index after one or more digits.
func digitsEnd(b []byte, at int) int {
	start := at
	for at < len(b) && b[at] >= '0' && b[at] <= '9' {
		at++
	}
	if at == start {
		return -1
	}
	return at
}
