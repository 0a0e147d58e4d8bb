package shell

import (
	"errors"
	"strings"
)

// Split splits a command into its words as a shell does: at spaces, with single and double quotes and backslashes. Nothing is expanded.
func Split(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, quote := false, byte(0)
	for i := 0; i < len(command); i++ {
		c := command[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i++; i == len(command) {
				return nil, errors.New("there is nothing behind the last backslash")
			}
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(command[i])) {
				word.WriteByte('\\')
			}
			word.WriteByte(command[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case strings.IndexByte(" \t\r\n", c) >= 0:
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quotation mark is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
