package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Files are the commands of scripts that look at files and change them:
//   - edit NEW-FILE TEXT BY FILE...: writes files one after the other to a new one, with a text in the place of another, which must be there;
//     \n and \r stand for ends of lines
//   - json FILE [PATH REGEXP]...: compares values in a file with regular expressions that have to match the whole of them. The parts of a path
//     are keys, indices, len for how many there are, and * for all of them, which are joined with spaces. What is absent is empty. In place of
//     a regular expression, FILE.json:PATH is the value in another file.
//   - truncate FILE BYTES: cuts bytes off the end of a file
func Files() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"edit": edit, "json": JSON, "truncate": truncate}
}

func edit(ts *testscript.TestScript, _ bool, args []string) {
	var all strings.Builder
	for _, name := range args[3:] {
		all.WriteString(ts.ReadFile(name))
	}
	lines := strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace
	text, old := all.String(), lines(args[1])
	if !strings.Contains(text, old) {
		ts.Fatalf("there is no %q", old)
	}
	if old != "" {
		text = strings.ReplaceAll(text, old, lines(args[2]))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// JSON is the command json of Files.
func JSON(ts *testscript.TestScript, _ bool, args []string) {
	decoded := func(file string) (value any) {
		decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
		decoder.UseNumber()
		ts.Check(decoder.Decode(&value))
		return value
	}
	value := decoded(args[0])
	if len(args)%2 == 0 {
		ts.Fatalf("usage: json FILE [PATH REGEXP]...")
	}
	for pair := range slices.Chunk(args[1:], 2) {
		got, want := ValueAt(value, pair[0]), pair[1]
		if file, path, found := strings.Cut(want, ".json:"); found {
			want = regexp.QuoteMeta(ValueAt(decoded(file+".json"), path))
		}
		if !regexp.MustCompile(`^(?s:` + want + `)$`).MatchString(got) {
			ts.Fatalf("%s is %q, want %q", pair[0], got, want)
		}
	}
}

// ValueAt is the value at a path, as the command json of Files has it.
func ValueAt(value any, path string) string {
	if path == "" {
		switch v := value.(type) {
		case nil:
			return ""
		case map[string]any, []any:
			text, _ := json.Marshal(v) //nolint:errchkjson // it was read as JSON
			return string(text)
		}
		return fmt.Sprint(value)
	}
	part, rest, _ := strings.Cut(path, ".")
	switch of := value.(type) {
	case map[string]any:
		return ValueAt(of[strings.ReplaceAll(part, "/", ".")], rest) // a key with dots has slashes here
	case []any:
		switch i, err := strconv.Atoi(part); {
		case part == "len":
			return strconv.Itoa(len(of))
		case part == "*":
			var all []string
			for _, one := range of {
				all = append(all, ValueAt(one, rest))
			}
			return strings.Join(all, " ")
		case err == nil && i < len(of):
			return ValueAt(of[i], rest)
		}
	}
	if part == "len" {
		return "0"
	}
	return ""
}

func truncate(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text[:len(text)-n]), 0o600))
}
