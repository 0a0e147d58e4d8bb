//go:build linux

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/crdconform/crdconform/internal/test/figures"
)

// installVariable lets the benchmark fetch the tools that are not on PATH into a directory that is gone afterwards: hey by Go's
// module proxy, wrk by the package manager of Debian.
const installVariable = "CRDCONFORM_BENCH_INSTALL"

// tool is a generator of somebody else's, as a program. Neither of them can be given an authority to verify certificates by;
// they verify none.
type tool struct {
	name   string
	path   string // empty if it is not installed
	env    []string
	attack func(tb testing.TB, a attack) outcome
}

// against compares loadgen's rate with that of a tool, which neither verifies certificates nor judges responses: nothing is promised.
func (t tool) against(c content, own float64, seen series) figures.Claim {
	claim := figures.Claim{What: fmt.Sprintf("saturation against %s, %s", t.name, c), Asked: 1, AtLeast: true, Unit: "x", Goal: true}
	if t.name == "wrk" && c.Batch == 1 {
		claim.Asked = 0.5 // wrk judges nothing, and is written in C
	}
	if t.path == "" {
		claim.Missing = t.name + " is not installed; " + installVariable + "=1 installs it where there is a network"
		return claim
	}
	claim.Measured, claim.How = own/seen.rate(), fmt.Sprintf("%s %s", t.name, seen)
	return claim
}

// tools are those that loadgen is compared with, beside vegeta.
func tools(b *testing.B) []tool {
	b.Helper()
	hey, wrk := tool{name: "hey"}, tool{name: "wrk"}
	hey.path, _ = exec.LookPath(hey.name)
	wrk.path, _ = exec.LookPath(wrk.name)
	if os.Getenv(installVariable) == "1" { //nolint:forbidigo // users set it to install the tools
		if hey.path == "" {
			hey.path = installHey(b)
		}
		if wrk.path == "" {
			wrk.path, wrk.env = installWrk(b)
		}
	}
	hey.attack = func(tb testing.TB, a attack) outcome { tb.Helper(); return hey.hey(tb, a) }
	wrk.attack = func(tb testing.TB, a attack) outcome { tb.Helper(); return wrk.wrk(tb, a) }
	return []tool{hey, wrk}
}

func installHey(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	install := exec.CommandContext(b.Context(), "go", "install", "github.com/rakyll/hey@v0.1.5")
	install.Dir, install.Env = dir, append(os.Environ(), "GOBIN="+dir)
	if out, err := install.CombinedOutput(); err != nil {
		b.Fatalf("installing hey: %v\n%s", err, out)
	}
	return filepath.Join(dir, "hey")
}

// installWrk unpacks wrk without installing it, so that nothing of the system changes.
func installWrk(b *testing.B) (string, []string) {
	b.Helper()
	dir := b.TempDir()
	const script = `apt-get download wrk libluajit-5.1-2 && for p in *.deb; do dpkg -x "$p" root; done && find "$PWD/root" -name 'libluajit*.so.2' -printf '%h'`
	unpack := exec.CommandContext(b.Context(), "sh", "-c", script)
	var errs strings.Builder
	unpack.Dir, unpack.Stderr = dir, &errs
	out, err := unpack.Output()
	if err != nil {
		b.Fatalf("fetching wrk: %v\n%s", err, errs.String())
	}
	_, libraries, found := strings.Cut(string(out), dir)
	if !found {
		b.Fatalf("fetching wrk: there is no libluajit in what came\n%s", out)
	}
	return filepath.Join(dir, "root/usr/bin/wrk"), append(os.Environ(), "LD_LIBRARY_PATH="+dir+libraries)
}

// run runs the tool with a file that holds the body of the request, and returns what it prints, and how long processors worked
// for it.
func (t tool) run(tb testing.TB, a attack, args func(dir, body string) []string) ([]byte, time.Duration) {
	tb.Helper()
	body, err := a.Requests[0].Body()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	path := filepath.Join(dir, "body.json")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), t.path, args(dir, path)...)
	command.Env = t.env
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s%s", t.name, err, out, errs.String())
	}
	return out, command.ProcessState.UserTime() + command.ProcessState.SystemTime()
}

// hey attacks. It divides a rate among its workers, each of which waits for its answer.
func (t tool) hey(tb testing.TB, a attack) outcome {
	tb.Helper()
	out, busy := t.run(tb, a, func(_, body string) []string {
		args := []string{"-c", strconv.Itoa(a.Connections), "-z", a.Duration.String(), "-m", "POST", "-T", "application/json", "-D", body}
		if a.Rate > 0 {
			args = append(args, "-q", fmt.Sprint(a.Rate/float64(a.Connections)), "-o", "csv")
		}
		return append(args, a.Endpoint.URL)
	})
	if a.Rate > 0 {
		o := heyTimes(tb, out, a)
		o.Busy = busy
		return o
	}
	var rate float64
	var answers uint64
	_, after, _ := bytes.Cut(out, []byte("Requests/sec:"))
	_, rateErr := fmt.Sscan(string(after), &rate)
	_, after, _ = bytes.Cut(out, []byte("Status code distribution:")) // the histogram has numbers in brackets as well
	_, after, _ = bytes.Cut(after, []byte("[200]"))
	_, answersErr := fmt.Sscan(string(after), &answers)
	if rateErr != nil || answersErr != nil || bytes.Contains(out, []byte("Error distribution")) {
		tb.Fatalf("hey:\n%s", out)
	}
	return outcome{Requests: answers, Busy: busy, Elapsed: time.Duration(float64(answers) / rate * float64(time.Second))}
}

// heyTimes reads the times of single requests that hey prints, since its summary ends at the 99th percentile.
func heyTimes(tb testing.TB, out []byte, a attack) outcome {
	tb.Helper()
	rows, err := csv.NewReader(bytes.NewReader(out)).ReadAll()
	if err != nil || len(rows) < 2 {
		tb.Fatalf("hey: %v\n%s", err, out)
	}
	column := slices.Index(rows[0], "response-time")
	status := slices.Index(rows[0], "status-code")
	if column < 0 || status < 0 {
		tb.Fatalf("hey prints the columns %q", rows[0])
	}
	var times []time.Duration
	for _, row := range rows[1:] {
		seconds, err := strconv.ParseFloat(row[column], 64)
		if err != nil || row[status] != "200" {
			tb.Fatalf("hey: %v in %q", err, row)
		}
		times = append(times, time.Duration(seconds*float64(time.Second)))
	}
	slices.Sort(times)
	o := outcome{Requests: uint64(len(times)), Elapsed: a.Duration}
	for _, p := range percentiles() {
		o.Times = append(o.Times, at(times, p))
	}
	return o
}

// script makes wrk send the request and print what it found as JSON, with times in microseconds.
const script = `
local file = assert(io.open(%q))
wrk.method = "POST"
wrk.body = file:read("*a")
wrk.headers["Content-Type"] = "application/json"
file:close()

function done(summary, latency, requests)
	local e = summary.errors
	local times = {}
	for i, p in ipairs({%s}) do times[i] = string.format("%%d", latency:percentile(p)) end
	io.write(string.format('\nJSON{"requests":%%d,"duration":%%d,"errors":%%d,"times":[%%s]}\n',
		summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout, table.concat(times, ",")))
end
`

// wrk attacks, with a thread for each processor. It knows no rate: each of its connections asks as soon as it was answered.
func (t tool) wrk(tb testing.TB, a attack) outcome {
	tb.Helper()
	out, busy := t.run(tb, a, func(dir, body string) []string {
		path := filepath.Join(dir, "script.lua")
		list := strings.Trim(fmt.Sprint(percentiles()), "[]")
		if err := os.WriteFile(path, fmt.Appendf(nil, script, body, strings.ReplaceAll(list, " ", ", ")), 0o600); err != nil {
			tb.Fatal(err)
		}
		seconds := fmt.Sprintf("%.0fs", a.Duration.Seconds())
		return []string{"-t", strconv.Itoa(min(runtime.NumCPU(), a.Connections)), "-c", strconv.Itoa(a.Connections), "-d", seconds, "--timeout", "30s", "-s", path, a.Endpoint.URL}
	})
	var result struct {
		Requests uint64  `json:"requests"`
		Duration int64   `json:"duration"`
		Errors   int64   `json:"errors"`
		Times    []int64 `json:"times"`
	}
	_, after, _ := bytes.Cut(out, []byte("JSON"))
	if err := json.Unmarshal(after, &result); err != nil || result.Errors > 0 {
		tb.Fatalf("wrk: %v\n%s", err, out)
	}
	o := outcome{Requests: result.Requests, Busy: busy, Elapsed: time.Duration(result.Duration) * time.Microsecond}
	for _, us := range result.Times {
		o.Times = append(o.Times, time.Duration(us)*time.Microsecond)
	}
	return o
}
