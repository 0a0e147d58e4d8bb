package process

import (
	"strings"
	"testing"
)

// TestCrash writes what programs in Go end with: what is kept is what was wrong, and where in the program's own code.
func TestCrash(t *testing.T) {
	t.Parallel()
	others := strings.Repeat("goroutine 7 [IO wait]:\ncrypto/tls.(*atLeastReader).Read(0x29630c96a048)\n\t/usr/local/go/src/crypto/tls/conn.go:809 +0x3b\n\n", 3000)
	for name, test := range map[string]struct{ written, want string }{
		"none":      {"started\npanic is not the first word: no\n", ""},
		"no dump":   {"panic: is what a log says\nand goes on\n", ""},
		"recovered": {"2026/11/27 http: panic serving 127.0.0.1:1: oh\ngoroutine 4 [running]:\nmain.f()\n\t/m/main.go:1 +0x1\n", ""},
		"panic": {
			"started\npanic: runtime error: index out of range [3] with length 0\n\ngoroutine 9 [running]:\n" +
				"panic({0x6a0, 0xc0})\n\t/usr/local/go/src/runtime/panic.go:792 +0x132\n" +
				"example.com/lib@v1/x.Do(...)\n\t/root/go/pkg/mod/example.com/lib@v1.2.0/x/x.go:7\n" +
				"example.com/own/api.(*Widget).ConvertTo(0xc000, {0x1})\n\t/src/own/api/widget.go:93 +0x1f\n" +
				"net/http.HandlerFunc.ServeHTTP(0x1)\n\t/usr/local/go/src/net/http/server.go:2220 +0x29\n\n" + others,
			"panic: runtime error: index out of range [3] with length 0, in example.com/own/api.(*Widget).ConvertTo, /src/own/api/widget.go:93",
		},
		"trimmed": {
			"panic: oh\n\ngoroutine 9 [running]:\nruntime.gopanic(...)\n\truntime/panic.go:792 +0x132\nmain.convert(0xc000)\n\texample.com/own/main.go:3 +0x1f\n",
			"panic: oh, in main.convert, example.com/own/main.go:3",
		},
		"out of memory": {
			"runtime: out of memory: cannot allocate 8589934592-byte block (4096 in use)\nfatal error: out of memory\n\nruntime stack:\nruntime.throw({0x6, 0xc})\n" +
				"\t/usr/local/go/src/runtime/panic.go:1101 +0x48\n\ngoroutine 9 gp=0xc0 m=4 mp=0xc0 [running]:\nruntime.makeslice(0x1)\n\t/usr/local/go/src/runtime/slice.go:116 +0x49\n" +
				"main.expand(...)\n\t/src/own/expand.go:12\n\n" + others,
			"runtime: out of memory: cannot allocate 8589934592-byte block (4096 in use)\nfatal error: out of memory, in main.expand(...), /src/own/expand.go:12",
		},
		"none of its own": {
			"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [select (no cases)]:\nruntime.gopark()\n\t/usr/local/go/src/runtime/proc.go:1 +0x1\n",
			"fatal error: all goroutines are asleep - deadlock!, in runtime.gopark(), /usr/local/go/src/runtime/proc.go:1",
		},
		"the last of two": {
			"panic: first\n\ngoroutine 1 [running]:\nmain.a()\n\t/m/a.go:1 +0x1\npanic: second\n\ngoroutine 1 [running]:\nmain.b()\n\t/m/b.go:2 +0x1\n",
			"panic: second, in main.b(), /m/b.go:2",
		},
	} {
		for _, size := range []int{1, 7, 4096} {
			var tail Tail
			for rest := test.written; rest != ""; {
				n := min(size, len(rest))
				if _, err := tail.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if got := tail.Crash(); got != test.want {
				t.Errorf("%s, by %d: got %q, want %q", name, size, got, test.want)
			}
		}
	}
}
