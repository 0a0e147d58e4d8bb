package server_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/test/figures"
	testlab "github.com/crdconform/crdconform/internal/test/lab"
)

// many is an API server with many objects of 1 kB, all of which are stored at v1beta1 and named by managed fields, while the storage
// version is v1 and a webhook converts.
type many struct {
	*testlab.Lab
	count int
}

func hasMany(b *testing.B) *many {
	b.Helper()
	hook, err := webhook.Start(b.Context(), "127.0.0.1:0", webhook.Handler())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { hook.Close() })
	m := &many{Lab: testlab.New(b, b.Cleanup)}
	crd := fixtures.Webhook.New(fixtures.StoredAt("v1beta1"))
	crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: &hook.URL, CABundle: hook.CA}
	m.Install(crd)
	m.fill(b, 10000)
	fixtures.StoredAt("v1")(crd)
	m.Install(crd)
	return m
}

// fill writes objects behind the API server's back until there are so many.
func (m *many) fill(b *testing.B, to int) {
	b.Helper()
	object := fmt.Sprintf(`{"apiVersion":"example.com/v1beta1","kind":"CronTab","hostPort":"localhost:1234","metadata":{"name":"object-%%07d","namespace":"default",`+
		`"uid":"00000000-0000-4000-8000-%%012d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","annotations":{"fill":"%s"},"managedFields":[`+
		`{"apiVersion":"example.com/v1beta1","fieldsType":"FieldsV1","fieldsV1":{"f:hostPort":{}},"manager":"kubectl","operation":"Apply","time":"2026-01-01T00:00:00Z"}]}}`,
		strings.Repeat("x", 500))
	for m.count < to {
		var puts []clientv3.Op
		for range 100 {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("/registry/example.com/crontabs/default/object-%07d", m.count), fmt.Sprintf(object, m.count, m.count+1)))
			m.count++
		}
		if _, err := m.Etcd.Txn(b.Context()).Then(puts...).Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// run runs a command of storage, and returns how long it took, in seconds, and how much memory it had, in MiB.
func (m *many) run(b *testing.B, program string, want int, args ...string) (seconds, memory float64) {
	b.Helper()
	return watched(b, program, want, append(args, "--kubeconfig", m.Kubeconfig, "--context", "lab")...)
}

// watched runs a command, and returns how long it took, in seconds, and how much memory it had, in MiB.
func watched(b *testing.B, program string, want int, args ...string) (seconds, memory float64) {
	b.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(b.Context(), program, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	peak := figures.Peak(cmd.Process.Pid)
	err := cmd.Wait()
	memory = float64(peak()) / 1024
	if cmd.ProcessState.ExitCode() != want {
		b.Fatalf("%v: exit code %d\n%.2000s", err, cmd.ProcessState.ExitCode(), out.String())
	}
	if memory == 0 {
		b.Fatal("this system does not report how much memory a process has")
	}
	return time.Since(began).Seconds(), memory
}

// measureStorage looks at 10,000 objects, and at 200,000.
func measureStorage(b *testing.B) []figures.Claim {
	b.Helper()
	m := hasMany(b)
	program := compiled(b)
	const name = "crontabs.example.com"
	commands := map[string]struct {
		args []string
		code int
	}{
		"storage status":                  {[]string{"storage", "status", name}, 0},
		"storage safe-to-drop":            {[]string{"storage", "safe-to-drop", name, "v1beta1", "--output", "json"}, 1},
		"storage safe-to-drop, with etcd": {[]string{"storage", "safe-to-drop", name, "v1beta1", "--output", "json", "--set", "storage.etcd.endpoints=[" + strconv.Quote(m.Endpoint) + "]"}, 1},
	}
	_, idle := watched(b, program, 0, "version")
	var claims []figures.Claim
	for what, command := range commands {
		var took []float64
		pace := paced(b, func() {
			for range times {
				seconds, _ := m.run(b, program, command.code, command.args...)
				took = append(took, seconds)
			}
		})
		claims = append(claims, figures.Claim{
			What: what + ", 10,000 objects", Asked: 5, Measured: median(took) / pace.Wall, Unit: "s quiet",
			How: fmt.Sprintf("median of %d, %.3g s here; %s", times, median(took), pace),
		})
	}
	m.fill(b, 200000)
	for what, command := range commands {
		seconds, memory := m.run(b, program, command.code, command.args...)
		claims = append(claims, figures.Claim{
			What: what + ", 200,000 objects, memory above idle", Asked: 150, Measured: memory - idle, Unit: "MiB",
			How: fmt.Sprintf("resident, %.3g of %.3g MiB are those of crdconform version; it took %.3g s", idle, memory, seconds),
		})
	}
	slices.SortFunc(claims, func(x, y figures.Claim) int { return strings.Compare(x.What, y.What) })
	return claims
}

// measureMigration migrates 10,000 objects, with the dry run and the proof.
func measureMigration(b *testing.B) []figures.Claim {
	b.Helper()
	m := hasMany(b)
	program := compiled(b)
	var seconds float64
	pace := paced(b, func() {
		seconds, _ = m.run(b, program, 0, "storage", "migrate", "crontabs.example.com")
	})
	rate := float64(m.count) / seconds
	return []figures.Claim{{
		What: "storage migrate, with dry run and proof, 10,000 objects", Asked: 500, AtLeast: true, Measured: rate * pace.Wall, Unit: "objects a second quiet", Goal: true,
		How: fmt.Sprintf("once, %.4g here, the API server and the webhook on the same processors; %s", rate, pace),
	}}
}
