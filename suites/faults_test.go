package suites_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/crdconform/crdconform/internal/cluster/embedded"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/internal/suites/suitetest"
	"github.com/crdconform/crdconform/requirement"
	"github.com/crdconform/crdconform/suites/control"
	"github.com/crdconform/crdconform/suites/defaulting"
	"github.com/crdconform/crdconform/suites/migration"
	"github.com/crdconform/crdconform/suites/objects"
	"github.com/crdconform/crdconform/suites/publishing"
	"github.com/crdconform/crdconform/suites/resource"
	"github.com/crdconform/crdconform/suites/schema"
	"github.com/crdconform/crdconform/suites/subresources"
	"github.com/crdconform/crdconform/suites/validation"
)

// table is a chapter with a fault of the API server for each of its specs, and with what proves that no spec passes where the server does not
// know what it is about; nil where that cannot be.
type table struct {
	area      suites.Area
	faults    map[requirement.ID]suitetest.Fault
	ignorance func(t *testing.T, genuine *embedded.Cluster)
}

func tables() []table {
	return []table{
		{validation.Area, validationFaults(), validationIgnorance},
		{schema.Area, schemaFaults(), schemaIgnorance},
		{subresources.Area, subresourcesFaults(), subresourcesIgnorance},
		{objects.Area, objectsFaults(), objectsIgnorance},
		{publishing.Area, publishingFaults(), nil},
		{defaulting.Area, defaultingFaults(), defaultingIgnorance},
	}
}

// canary is every so manieth spec of a chapter, which must pass with the faults of all others. The rest is nightly.
func canary(area suites.Area) []requirement.ID {
	const every = 12
	var ids []requirement.ID
	for i, spec := range suites.Preview([]suites.Area{area}) {
		if i%every == every/2 {
			ids = append(ids, spec.Requirement)
		}
	}
	return ids
}

// trial is one thing that specs must find, on an API server that it is put in front of.
type trial struct {
	name  string
	judge func(t *testing.T, genuine *embedded.Cluster)
}

// trials are all, those that take long first.
func trials() []trial {
	all := []trial{{resource.Area.Name + "/faults", resourceFaultsAreCaught}}
	if hasKubectl() {
		all = append(all, trial{control.Area.Name + "/faults", kubectlFaultsAreCaught})
	}
	for _, one := range tables() {
		all = append(all, trial{one.area.Name + "/faults", func(t *testing.T, genuine *embedded.Cluster) {
			t.Helper()
			suitetest.CatchFaults(t, genuine, one.area, one.faults)
		}})
	}
	for _, one := range tables() {
		if one.ignorance != nil {
			all = append(all, trial{one.area.Name + "/ignorance", one.ignorance})
		}
		all = append(all, trial{one.area.Name + "/faults of others", func(t *testing.T, genuine *embedded.Cluster) {
			t.Helper()
			suitetest.SpareOthers(t, genuine, one.area, one.faults, canary(one.area)...)
		}})
	}
	all = append(all, migratorTrials(false, faulty(), correct())...)
	for n, fault := range serverFaults() {
		all = append(all, trial{"server/" + fault.name, func(t *testing.T, genuine *embedded.Cluster) {
			t.Helper()
			fault.judge(t, genuine, fmt.Sprintf("fault%d.example.com", n))
		}})
	}
	return all
}

// judges is how many processes judge trials: most of the time specs wait for what a fault hides, and a process runs one tree of specs at a
// time.
const judges = 6

// TestFaultsAreCaught proves that every spec which binds an API server can fail, and fails for what it is about.
func TestFaultsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: specs wait for what each of hundreds of faults hides")
	}
	judgeTrials(t, trials())
}

// TestFaultsAreOfAllSpecs has a fault for each spec of the chapters that have no table by requirement.
func TestFaultsAreOfAllSpecs(t *testing.T) {
	broken := map[requirement.ID]bool{}
	for _, fault := range serverFaults() {
		for _, id := range fault.breaks {
			broken[id] = true
		}
	}
	for _, migrator := range faulty() {
		for _, id := range migrator.breaks {
			broken[id] = true
		}
	}
	for _, spec := range suites.Preview(append(serverAreas(), migration.New(nil))) {
		if !broken[spec.Requirement] {
			t.Errorf("no fault breaks %s, so its spec is not shown to be able to fail", spec.Requirement)
		}
	}
}

// judgeTrials judges trials: those that nobody else claims where an argument says so, all where some are selected by their names, and
// otherwise has processes claim one after the other, while the tests beside it go on.
func judgeTrials(t *testing.T, all []trial) {
	t.Helper()
	if arguments.claims == "" && !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		judgeBeside(t, all)
		return
	}
	genuine := suitetest.Cluster(t, embedded.Options{})
	for i, one := range all {
		if arguments.claims != "" && os.Mkdir(filepath.Join(arguments.claims, strconv.Itoa(i)), 0o700) != nil {
			continue // a process has claimed it
		}
		t.Run(one.name, func(t *testing.T) { one.judge(t, genuine) })
	}
}

// judgeBeside has processes judge the trials.
func judgeBeside(t *testing.T, all []trial) {
	t.Helper()
	claims := t.TempDir()
	var processes sync.WaitGroup
	var passed atomic.Int64
	for range judges {
		processes.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=50m", "-claims="+claims)
			out, err := cmd.CombinedOutput()
			passed.Add(int64(bytes.Count(out, []byte("\n    --- PASS: "+t.Name()+"/"))))
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	t.Parallel() // it waits for all that are not
	processes.Wait()
	if int(passed.Load()) != len(all) {
		t.Errorf("%d of %d trials passed", passed.Load(), len(all))
	}
}
