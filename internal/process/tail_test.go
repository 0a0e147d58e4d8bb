package process

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 3*keptBytes)
	for name, test := range map[string]struct{ written, want string }{
		"nothing":        {"", ""},
		"one line":       {"a\n", "a"},
		"half a line":    {"a\nb", "a\nb"},
		"colours":        {"\x1b[1;31mred\x1b[0m\r\n", "red"},
		"not UTF-8":      {"a\xff\xfeb", "a\uFFFDb"},
		"controls":       {"a\x00\x07\tb\uFFFEc", "a\tbc"},
		"three":          {"1\n2\n3\n", "1\n2\n3"},
		"four":           {"1\n2\n3\n4\n", "(earlier output is left out)\n2\n3\n4"},
		"one long line":  {long, "(earlier output is left out)\n" + long[:keptBytes]},
		"after long one": {long + "\nb\n", "(earlier output is left out)\nb"},
		"a lot":          {strings.Repeat(long, 10), "(earlier output is left out)\n" + long[:keptBytes]},
		"half a letter":  {"a" + strings.Repeat("ü", keptBytes/2), "(earlier output is left out)\n" + strings.Repeat("ü", keptBytes/2)},
	} {
		for _, size := range []int{1, 7, 4096, len(test.written) + 1} {
			if size == 1 && len(test.written) > keptBytes {
				continue // it takes its time
			}
			var tail Tail
			for rest := test.written; rest != ""; {
				n := min(size, len(rest))
				if written, err := tail.Write([]byte(rest[:n])); written != n || err != nil {
					t.Fatal(written, err)
				}
				rest = rest[n:]
			}
			if size <= 4096 && cap(tail.kept) > 16*keptBytes {
				t.Errorf("%s, by %d: %d bytes are held", name, size, cap(tail.kept))
			}
			if got := tail.Text(3); got != test.want || !utf8.ValidString(got) {
				t.Errorf("%s, by %d: got %.80q, want %.80q", name, size, got, test.want)
			}
		}
	}
}
