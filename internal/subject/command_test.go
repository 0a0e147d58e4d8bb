package subject

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/executable"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	values := func(name string) (string, error) {
		return map[string]string{"port": "80", "certs": "/a b{port}"}[name], known(name)
	}
	for text, want := range map[string]string{
		"":                    "",
		"plain":               "plain",
		"--port={port}":       "--port=80",
		"{port}{port}":        "8080",
		"{{port}}":            "{port}",
		"{{{port}}}":          "{80}",
		`{{"a": {{"b": 1}}}}`: `{"a": {"b": 1}}`,
		"${{HOME}}":           "${HOME}",
		"{certs}/tls.crt":     "/a b{port}/tls.crt",
		"ü{port}ü":            "ü80ü",
	} {
		if got, err := expand(text, values); err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"{foo}":    "unknown {foo} (want {certs}, {port}, {host} or {kubeconfig}",
		"{Port}":   "unknown {Port}",
		"{}":       "unknown {}",
		"${HOME}":  "unknown {HOME}",
		"{port":    `a single "{"`,
		"port}":    `a single "}"`,
		"{{port}":  `a single "}"`,
		"{port}}":  `a single "}"`,
		"{po{rt}}": "unknown {",
	} {
		if got, err := expand(text, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q, %v, want something with %q", text, got, err, want)
		}
	}
}

// TestCommandsThatMakeNoSense has every one end in an error before anything is made, and none show what may be secret.
func TestCommandsThatMakeNoSense(t *testing.T) {
	dir, folders := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", folders)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	noInterpreter, noFormat := filepath.Join(dir, "no-interpreter"), filepath.Join(dir, "no-format")
	executable.Write(t, noInterpreter, []byte("#!/no/such/thing\n"))
	executable.Write(t, noFormat, []byte("true\n"))
	args := func(program string) []string { return []string{program, "{port}", "{certs}"} }
	for name, test := range map[string]struct {
		command Command
		want    string
	}{
		"nothing":            {Command{}, "none given"},
		"an empty program":   {Command{Args: args("")}, "none given"},
		"not in the PATH":    {Command{Args: args("no-such-program")}, `webhook program "no-such-program": not found in the PATH`},
		"no such file":       {Command{Args: args(dir + "/none")}, "does not exist"},
		"not in Dir":         {Command{Args: args("./none"), Dir: dir}, "does not exist"},
		"not executable":     {Command{Args: args("./file"), Dir: dir}, "not executable; try chmod +x"},
		"a directory":        {Command{Args: args(dir)}, "a directory, or not executable"},
		"no interpreter":     {Command{Args: args(noInterpreter)}, "the interpreter that its first line names, does not exist"},
		"no format":          {Command{Args: args(noFormat)}, "a script needs a first line such as #!/bin/sh"},
		"no such Dir":        {Command{Args: args("true"), Dir: dir + "/none"}, "the directory to run it in"},
		"a file for Dir":     {Command{Args: args("true"), Dir: file}, "is not a directory"},
		"no certificates":    {Command{Args: []string{"true"}, Env: map[string]string{"PORT": "{port}"}}, "contain {certs}"},
		"escaped only":       {Command{Args: []string{"true", "{port}", "{{certs}}"}}, "contain {certs}"},
		"unknown":            {Command{Args: append(args("true"), "{cert}")}, `argument "{cert}": unknown {cert}`},
		"unknown in Env":     {Command{Args: args("true"), Env: map[string]string{"A": "secret{x}"}}, "environment variable A: unknown {x}"},
		"a nameless one":     {Command{Args: args("true"), Env: map[string]string{"": "secret"}}, `"" is not a valid variable name`},
		"an odd name":        {Command{Args: args("true"), Env: map[string]string{"A=B": "secret"}}, `"A=B" is not a valid variable name`},
		"a zero byte":        {Command{Args: append(args("true"), "a\x00b")}, "cannot be started"},
		"a query":            {Command{Args: args("true"), Path: "/convert?a=b#c"}, "query"},
		"an odd server name": {Command{Args: args("true"), ServerName: "hübsch"}, "certificate"},
	} {
		_, err := Start(t.Context(), test.command, Options{})
		if runtime.GOOS == "darwin" && name == "no format" {
			continue // the words differ
		}
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want something with %q", name, err, test.want)
		}
	}
	if left, err := os.ReadDir(folders); err != nil || len(left) > 0 {
		t.Errorf("there are still %v, %v", left, err)
	}
}
