package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/crdconform/crdconform/internal/test/figures"
)

func TestMissed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		claim       figures.Claim
		met, missed bool
		holds       string
	}{
		"at most":                   {figures.Claim{Asked: 1, Measured: 1}, true, false, "yes"},
		"more than that":            {figures.Claim{Asked: 1, Measured: 1.1}, false, true, "MISSED"},
		"at least":                  {figures.Claim{Asked: 1, Measured: 1, AtLeast: true}, true, false, "yes"},
		"less than that":            {figures.Claim{Asked: 1, Measured: 0.9, AtLeast: true}, false, true, "MISSED"},
		"a goal":                    {figures.Claim{Asked: 1, Measured: 2, Goal: true}, false, false, "a goal, not yet a claim"},
		"a goal that is met":        {figures.Claim{Asked: 1, Measured: 1, Goal: true}, true, false, "yes"},
		"a figure without a proof":  {figures.Claim{Asked: 1, Measured: 1, Missing: "too busy"}, false, false, "not measured: too busy"},
		"at least, without a proof": {figures.Claim{Asked: 1, Measured: 1, AtLeast: true, Missing: "too busy"}, false, false, "not measured: too busy"},
	} {
		var table strings.Builder
		if err := figures.Write(&table, []figures.Claim{test.claim}); err != nil {
			t.Fatal(err)
		}
		if c := test.claim; c.Met() != test.met || c.Missed() != test.missed || !strings.Contains(table.String(), "| "+test.holds+" ") {
			t.Errorf("%s: met %t, missed %t, in\n%s", name, c.Met(), c.Missed(), table.String())
		}
	}
}

func TestTableOfClaims(t *testing.T) {
	t.Parallel()
	all := []figures.Claim{
		{What: "speed", Asked: 1, AtLeast: true, Measured: 1.234567, Unit: "x", How: "against another"},
		{What: "time on a machine", Asked: 10, Unit: "s", Missing: "there is none"},
	}
	var file bytes.Buffer
	for _, c := range all {
		if err := json.NewEncoder(&file).Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	read, err := figures.Read(&file)
	if err != nil || !reflect.DeepEqual(read, all) {
		t.Errorf("read %+v, %v", read, err)
	}
	var table strings.Builder
	if err := figures.Write(&table, all); err != nil {
		t.Fatal(err)
	}
	const want = `| claim             | asked   | measured | holds                       |
| ---               | ---     | ---      | ---                         |
| speed             | >= 1 x  | 1.235 x  | yes                         |
| time on a machine | <= 10 s | -        | not measured: there is none |

- speed: against another
`
	if table.String() != want {
		t.Errorf("got\n%s\nwant\n%s", table.String(), want)
	}
	if _, err := figures.Read(strings.NewReader("{")); err == nil {
		t.Error("half a claim was read")
	}
}
