package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/crdconform/crdconform/contract"
	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
)

// same compares the judgements of a repeated request, and of the request by itself, with what decoding the response shows. It
// reports whether the body was judged by scanning it.
func same(t *testing.T, p *contract.Repeated, request contract.Request, response contract.Response) bool {
	t.Helper()
	want := request.Decoded(response)
	if got := request.Judge(response); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v with %q, by itself:\ngot  %+v\nwant %+v", response, response.Body, got, want)
	}
	objects, scanned := p.Scanned(request.UID, response.Body)
	if scanned && response.Err == nil && want.Stopped == "" && !reflect.DeepEqual(objects, append([]json.RawMessage{}, want.Objects...)) {
		t.Errorf("%q\nobjects %q\nfor     %q", response.Body, objects, want.Objects)
	}
	got := p.Judge(request.UID, response)
	if got.Objects != nil {
		t.Error("there are objects, which may lie in memory that is used again")
	}
	want.Objects = nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v with %q:\ngot  %+v\nwant %+v", response, response.Body, got, want)
	}
	return scanned
}

const (
	before0 = `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","uid":"1","labels":{"x":"y"}},"spec":1}`
	before1 = `{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"b","namespace":"d","generation":1}}`
	after0  = `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"a","uid":"1","labels":{"x":"y"}},"spec":2}`
	after1  = `{"apiVersion":"example.com/v1","kind":"CronTab","metadata":{"name":"b","namespace":"d","generation":1}}`
	success = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"u-1","result":{"status":"Success"},"convertedObjects":[` + after0 + `,` + after1 + `]}}`
)

func twoObjects() contract.Request {
	return contract.Request{
		ReviewVersion: "v1", UID: "u-1", DesiredAPIVersion: "example.com/v1",
		Objects: []json.RawMessage{json.RawMessage(before0), json.RawMessage(before1)},
	}
}

type oddBody struct {
	body    string
	scanned bool // whether it is judged by scanning it
}

// oddBodies are bodies that may be taken for something else than they are.
func oddBodies() map[string]oddBody {
	bodies := map[string]oddBody{}
	for name, body := range map[string]struct {
		old, new string // old is what is replaced in success by new; all of it when old is empty
		scanned  bool
	}{
		"as it should be":                       {success, success, true},
		"spaces":                                {`:`, "\t: \r\n", true},
		"spaces and commas":                     {`,`, " ,\n", true},
		"spaces at the beginning":               {success, " \n" + success, true},
		"spaces at the end":                     {success, success + "\n \t\r", true},
		"members in another order":              {`"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1",`, `"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview",`, true},
		"result at the end":                     {`{"uid":"u-1","result":{"status":"Success"},"convertedObjects":[` + after0 + `,` + after1 + `]}`, `{"convertedObjects":[` + after0 + `,` + after1 + `],"uid":"u-1","result":{"status":"Success"}}`, true},
		"no kind":                               {`"kind":"ConversionReview",`, ``, false},
		"other kind":                            {`ConversionReview`, `Conversionreview`, false},
		"kind twice":                            {`"kind":"ConversionReview"`, `"kind":"List","kind":"ConversionReview"`, false},
		"kind null":                             {`"kind":"ConversionReview"`, `"kind":null`, false},
		"kind in another case":                  {`"kind":"ConversionReview"`, `"kind":"ConversionReview","Kind":"List"`, false},
		"kind with escapes":                     {`"kind":"ConversionReview"`, `"\u006bind":"ConversionReview"`, false},
		"kind twice, with escapes":              {`"response":`, `"\u006bind":"List","response":`, false},
		"kind with escapes as value":            {`ConversionReview`, `Conversion\u0052eview`, false},
		"v1beta1":                               {`apiextensions.k8s.io/v1`, `apiextensions.k8s.io/v1beta1`, false},
		"unknown member":                        {`"response":`, `"spec":{},"response":`, false},
		"Response":                              {`"response"`, `"Response"`, false},
		"Response and response":                 {`"response":`, `"Response":{},"response":`, false},
		"response twice":                        {`"response":`, `"response":{"uid":"u-1"},"response":`, false},
		"response null":                         {success, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":null}`, false},
		"response empty":                        {success, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{}}`, false},
		"response as an array":                  {success, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":[]}`, false},
		"request null":                          {`"response":`, `"request":null,"response":`, true},
		"request empty":                         {`"response":`, `"request":{},"response":`, true},
		"request again":                         {`"response":`, `"request":{"uid":"u-1","desiredAPIVersion":"example.com/v1","objects":[` + before0 + `, null,5,[]]},"response":`, true},
		"request without objects":               {`"response":`, `"request":{"uid":"","desiredAPIVersion":"","objects":null},"response":`, true},
		"request twice":                         {`"response":`, `"request":{},"request":null,"response":`, false},
		"request with wrong uid":                {`"response":`, `"request":{"uid":1},"response":`, false},
		"request with wrong version":            {`"response":`, `"request":{"desiredAPIVersion":[]},"response":`, false},
		"request with wrong objects":            {`"response":`, `"request":{"objects":{}},"response":`, false},
		"request with objects twice":            {`"response":`, `"request":{"objects":[],"objects":[1]},"response":`, false},
		"request with something":                {`"response":`, `"request":{"what":[]},"response":`, false},
		"request that is no JSON":               {`"response":`, `"request":{"objects":[01]},"response":`, false},
		"request as an array":                   {`"response":`, `"request":[],"response":`, false},
		"other uid":                             {`u-1`, `u-2`, false},
		"longer uid":                            {`u-1`, `u-1 `, false},
		"uid twice":                             {`"uid":"u-1"`, `"uid":"u-1","uid":"u-1"`, false},
		"uid with escapes":                      {`u-1`, `\u0075-1`, false},
		"uid in another case":                   {`"uid":"u-1"`, `"UID":"u-1"`, false},
		"no uid":                                {`"uid":"u-1",`, ``, false},
		"uid null":                              {`"u-1"`, `null`, false},
		"failed":                                {`Success`, `Failed`, false},
		"failed, with objects that say Success": {`{"status":"Success"},"convertedObjects":[` + after0, `{"status":"Failed"},"convertedObjects":[{"status":"Success","result":{"status":"Success"}}`, false},
		"no result":                             {`"result":{"status":"Success"},`, ``, false},
		"result null":                           {`{"status":"Success"}`, `null`, false},
		"result twice":                          {`"result":`, `"result":{"status":"Failed"},"result":`, false},
		"Result":                                {`"result":`, `"Result":`, false},
		"status twice":                          {`{"status":"Success"}`, `{"status":"Failed","status":"Success"}`, true},
		"status twice, null":                    {`{"status":"Success"}`, `{"status":"Success","status":null}`, true},
		"status twice, failed":                  {`{"status":"Success"}`, `{"status":"Success","status":"Failed"}`, false},
		"status with escapes":                   {`{"status":"Success"}`, `{"st\u0061tus":"Succ\u0065ss"}`, true},
		"Status":                                {`{"status":"Success"}`, `{"Status":"Success"}`, false},
		"result of Kubernetes":                  {`{"status":"Success"}`, `{"metadata":{},"status":"Success","message":"it \"went\" well","code":200,"details":null}`, true},
		"result with a wrong code":              {`{"status":"Success"}`, `{"status":"Success","code":"200"}`, false},
		"objects null":                          {`[` + after0 + `,` + after1 + `]`, `null`, false},
		"objects as an object":                  {`[` + after0 + `,` + after1 + `]`, `{}`, false},
		"no objects":                            {after0 + `,` + after1, ``, false},
		"one object":                            {`,` + after1, ``, false},
		"three objects":                         {after1, after1 + `,` + after1, false},
		"one object twice":                      {after1, after0, false},
		"objects swapped":                       {after0 + `,` + after1, after1 + `,` + after0, false},
		"objects twice":                         {`"convertedObjects":`, `"convertedObjects":[],"convertedObjects":`, false},
		"an object null":                        {after1, `null`, false},
		"an object as a string":                 {after1, `"x"`, false},
		"an object as an array":                 {after1, `[` + after1 + `]`, false},
		"an empty object":                       {after1, `{}`, false},
		"a comma after the objects":             {after1, after1 + `,`, false},
		"a comma before the objects":            {after0, `,` + after0, false},
		"a colon for a comma":                   {after0 + `,`, after0 + `:`, false},
		"no comma":                              {after0 + `,`, after0, false},
		"something behind":                      {success, success + "x", false},
		"a brace behind":                        {success, success + "}", false},
		"zero behind":                           {success, success + "\x00", false},
		"twice":                                 {success, success + success, false},
		"byte order mark":                       {success, "\uFEFF" + success, false},
		"space that is no ASCII space":          {success, "\u00a0" + success, false},
		"vertical tab":                          {`"spec":`, "\"spec\":\v", false},
		"form feed":                             {`"response":`, "\f\"response\":", false},
		"zero for space":                        {after0 + `,`, after0 + "\x00,", false},
		"unit separator":                        {after0 + `,`, after0 + ",\x1f", false},
		"a space of 0x85":                       {`"spec":`, "\"spec\":\x85", false},
		"cut short":                             {`}}`, `}`, false},
		"cut off":                               {`"convertedObjects"`, `"`, false},
		"nothing":                               {success, ``, false},
		"space":                                 {success, ` `, false},
		"null":                                  {success, `null`, false},
		"an array":                              {success, `[` + success + `]`, false},
		"an empty review":                       {success, `{}`, false},
		"YAML":                                  {success, "kind: ConversionReview\napiVersion: apiextensions.k8s.io/v1\nresponse: {uid: u-1, result: {status: Success}, convertedObjects: [" + after0 + "," + after1 + "]}", false},
		"YAML in braces":                        {`"kind":`, `kind:`, false},
		"a comment":                             {`{"kind"`, `{/**/"kind"`, false},

		"metadata in another order":   {`{"name":"a","uid":"1","labels":{"x":"y"}}`, `{"labels": {"x":"y"},"uid":"1","name":"a","creationTimestamp":null}`, true},
		"metadata with escapes":       {`{"name":"a",`, `{"n\u0061me":"\u0061",`, true},
		"metadata changed":            {`"generation":1`, `"generation":2`, true},
		"other labels":                {`{"x":"y"}`, `{"z":"","example.com/x":"1"}`, true},
		"labels that are invalid":     {`{"x":"y"}`, `{"x":"no spaces"}`, true},
		"labels that are null":        {`{"x":"y"}`, `{"x":null}`, true},
		"renamed":                     {`"name":"b"`, `"name":"c"`, false},
		"another UID":                 {`"uid":"1"`, `"uid":"2"`, false},
		"renamed, same UID":           {`"name":"a"`, `"name":"c"`, true},
		"no metadata":                 {`,"metadata":{"name":"b","namespace":"d","generation":1}`, ``, false},
		"metadata null":               {`{"name":"b","namespace":"d","generation":1}`, `null`, false},
		"metadata as an array":        {`{"name":"b","namespace":"d","generation":1}`, `[]`, false},
		"metadata twice":              {`"metadata":{"name":"b"`, `"metadata":{"name":"c"},"metadata":{"name":"b"`, true},
		"metadata twice, other last":  {after1, after1[:len(after1)-1] + `,"metadata":{"name":"c"}}`, false},
		"metadata twice, with escape": {after1, after1[:len(after1)-1] + `,"met\u0061data":{"name":"b","namespace":"d"}}`, true},
		"Metadata":                    {after1, after1[:len(after1)-1] + `,"Metadata":{"name":"c"},"metadata ":1}`, true},
		"other apiVersion":            {`"example.com/v1"`, `"example.com/v1beta1"`, true},
		"longer apiVersion":           {`"example.com/v1"`, `"example.com/v1 "`, true},
		"apiVersion with escapes":     {`"example.com/v1"`, `"example.com\/v1"`, true},
		"apiVersion as a number":      {`"example.com/v1"`, `1`, false},
		"apiVersion null":             {`"example.com/v1"`, `null`, true},
		"apiVersion twice":            {after1, after1[:len(after1)-1] + `,"apiVersion":"example.com/v2"}`, true},
		"apiVersion in the end":       {after1, `{` + after1[len(`{"apiVersion":"example.com/v1",`):len(after1)-1] + `,"apiVersion":"example.com/v1"}`, true},
		"no apiVersion":               {`{"apiVersion":"example.com/v1",`, `{`, true},
		"other kind of object":        {`"CronTab"`, `"Crontab"`, true},
		"kind of object twice":        {after1, after1[:len(after1)-1] + `,"kind":"CronTab"}`, true},
		"no kind of object":           {`"kind":"CronTab",`, ``, true},
		"kind of object as an object": {`"CronTab"`, `{}`, false},
	} {
		text := strings.ReplaceAll(success, body.old, body.new)
		if body.old == success {
			text = body.new
		}
		bodies[name] = oddBody{text, body.scanned}
	}
	for value, fine := range map[string]bool{
		`0`: true, `-0`: true, `10`: true, `-12.50`: true, `0.0`: true, `1e5`: true, `1E+05`: true, `1.5e-3`: true, `-1e-999`: true, `1e308`: true,
		`01`: false, `-`: false, `-a`: false, `1.`: false, `.5`: false, `+1`: false, `1e`: false, `1e+`: false, `1e+-1`: false, `0x1`: false, `1_0`: false, `--1`: false,
		`1e309`: false, `-1e999`: false, `1e5.`: false, `NaN`: false, `Infinity`: false, `1 2`: false,
		strings.Repeat("9", 299): true, strings.Repeat("9", 308): true, strings.Repeat("9", 310): false, strings.Repeat("9", 310) + ".5e1": false,
		"1" + strings.Repeat("0", 400) + "e-300": true, "0." + strings.Repeat("0", 400) + "1": true,
		`true`: true, `false`: true, `null`: true, `tru`: false, `truefalse`: false, `True`: false, `nul`: false, `nullx`: false, `fals`: false, `undefined`: false,
		`""`: true, `"`: false, `"\"`: false, `"\\"`: true, `"\\\""`: true, `"\b\f\n\r\t\/\""`: true, `"\u00e9\uD83D\uDE00"`: true,
		`"\x41"`: false, `"\'"`: false, `"\u12"`: false, `"\u12g4"`: false, `"\u"`: false, `"\U0041"`: false, `'x'`: false,
		`"\ud800"`: true, `"\udc00\ud800"`: true, "\"\xff\xfe\"": true, "\"\xed\xa0\x80\"": true, "\"é\u2028\uFEFF\"": true,
		"\"\x00\"": false, "\"1234567\x1f\"": false, "\"12345678\n\"": false, "\"1234567\x7f\"": true, "\"\x80\x9f\xa2\xdc\x81\"": true,
		`"!!!!!!!!"`: true, `"#######\""`: true, `"[]]]]]]]\\"`: true,
		`[]`: true, `{}`: true, `[[],{}]`: true, `[ ]`: true, `{ }`: true, `[1,]`: false, `[,1]`: false, `[1 1]`: false, `[1:1]`: false, `[}`: false, `{]`: false, `[`: false, `{`: false, `]`: false,
		`{"a":1}`: true, `{"a":1,"a":2}`: true, `{"a" : [ 1 , { } ] }`: true, `{"":0}`: true, `{"metadata":{},"kind":5,"apiVersion":[]}`: true,
		`{"a":1,}`: false, `{,"a":1}`: false, `{"a"}`: false, `{"a":}`: false, `{"a",1}`: false, `{1:1}`: false, `{a:1}`: false, `{"a":1 "b":2}`: false, `{"a"1}`: false, `{"a":1]`: false, `[1}`: false, `{"a\x":1}`: false,
		"{\"\xff\":1}": true, `{"\ud800":1}`: true, `{"ab\n":1}`: true,
		nested(60): true, nested(64): true, nested(65): false, nested(5000): false, nested(10001): false,
		strings.Repeat("[", 64) + strings.Repeat("}", 64): false,
	} {
		bodies[clipped(value)] = oddBody{strings.Replace(success, `"spec":2`, `"spec":`+value, 1), fine}
		bodies[clipped(value)+" in an array"] = oddBody{strings.Replace(success, `"spec":2`, `"spec":[`+value+`,0]`, 1), fine && value != nested(64)}
	}
	return bodies
}

// nested is so many arrays and objects in each other.
func nested(levels int) string {
	return strings.Repeat(`[{"a":`, levels/2) + strings.Repeat("[", levels%2) + "0" + strings.Repeat("]", levels%2) + strings.Repeat("}]", levels/2)
}

func clipped(s string) string { return fmt.Sprintf("%.40s (%d)", s, len(s)) }

func TestRepeatedAgrees(t *testing.T) {
	request := twoObjects()
	for name, test := range oddBodies() {
		changed := strings.NewReplacer(`"spec":2`, `"spec":7`, `}]}}`, `,"spec":7}]}}`).Replace(test.body)
		p := request.Repeated()
		for _, when := range []string{"at first", "again", "when a good response is known"} {
			if scanned := same(t, p, request, ok([]byte(test.body))); scanned != test.scanned {
				t.Errorf("%s, %s: scanned: %t, want %t: %q", name, when, scanned, test.scanned, test.body)
			}
			same(t, p, request, ok([]byte(changed))) // of which the metadata may be known
			if t.Failed() {
				t.Fatalf("%s, %s", name, when)
			}
			if when == "again" {
				p = request.Repeated()
				same(t, p, request, ok([]byte(success)))
			}
		}
		same(t, p, request, ok([]byte(success)))
	}
}

// TestRepeatedAgreesOnSequences has responses of which a part was in the one before, where it meant something else.
func TestRepeatedAgreesOnSequences(t *testing.T) {
	request := twoObjects()
	const fine, other = `{"name":"b","namespace":"d","generation":1}`, `{"name":"b","namespace":"d","generation":2}`
	for name, afters := range map[string][]string{
		"metadata that does not count":  {`{"metadata":` + other + `,"met\u0061data":` + fine, `{"metadata":` + other},
		"metadata that counts":          {`{"met\u0061data":` + other + `,"metadata":` + fine, `{"met\u0061data":` + fine + `,"metadata":` + other},
		"metadata that is longer":       {`{"metadata":` + fine, `{"metadata":` + fine[:len(fine)-1] + ` }`, `{"metadata":` + fine[:len(fine)-1] + `,"x":1}`},
		"an object that goes on":        {`{"metadata":` + fine, `{"metadata":` + fine + `,"metadata":` + other},
		"an object with something else": {`{"metadata":` + fine + `,"x":1`, `{"metadata":` + fine + `,"x":01`, `{"metadata":` + fine + `,"x":1`},
		"numbers that go on":            {`{"x":1,"metadata":` + fine, `{"x":12,"metadata":` + fine, `{"x":1.5,"metadata":` + fine, `{"x":1e9,"metadata":` + fine, `{"x":1e999,"metadata":` + fine, `{"x":1.,"metadata":` + fine, `{"x":1-,"metadata":` + fine, `{"x":1x,"metadata":` + fine, `{"x":1 ,"metadata":` + fine},
		"words that go on":              {`{"x":true,"metadata":` + fine, `{"x":truex,"metadata":` + fine, `{"x":true1,"metadata":` + fine},
		"members at other places":       {`{"x":1,"y":[2],"metadata":` + fine, `{"y":[2],"x":1,"metadata":` + fine, `{"w":0,"x":1,"y":[2],"metadata":` + fine},
		"members after an escaped name": {`{"x":1,"\u0079":[2],"z":3,"metadata":` + other, `{"x":1,"\u0079":[2],"z":4,"metadata":` + other, `{"x":1,"met\u0061data":` + fine + `,"z":3,"metadata":` + other},
		"members that count":            {`{"metadata":` + other + `,"x":1`, `{"metadata":` + other + `,"x":2`, `{"metadata":` + fine + `,"x":2,"metadata":` + other},
		"the other object":              {`{"metadata":` + fine, `{"metadata":{"name":"a","uid":"1","labels":{"x":"y"}}`, `{"metadata":` + fine},
	} {
		p := request.Repeated()
		for _, after := range afters {
			body := strings.Replace(success, after1, after+`,"apiVersion":"example.com/v1","kind":"CronTab"}`, 1)
			for range 2 {
				if same(t, p, request, ok([]byte(body))); t.Failed() {
					t.Fatal(name)
				}
			}
		}
	}
}

// TestMembersThatAreKnown changes members of objects whose others are in the sample, also in a sample that was partly taken from another.
func TestMembersThatAreKnown(t *testing.T) {
	request := twoObjects()
	p := request.Repeated()
	body := func(x, y string) []byte {
		return []byte(strings.Replace(success, `"spec":2`, `"spec":{"a":[1,2]},"x":`+x+`,"y":`+y, 1))
	}
	for n := range 300 { // more than it takes for another sample
		x, y := strconv.Itoa(n%7), strconv.Itoa(n%3)
		if n > 150 {
			x = "1" // the object is in the sample as a whole, now and then
		}
		if !same(t, p, request, ok(body(x, y))) {
			t.Errorf("x %s and y %s are not judged by scanning", x, y)
		}
	}
	for _, x := range []string{"1", "12", "1.5", "1e9", "-1", `"1"`, "true"} {
		if !same(t, p, request, ok(body(x, "2"))) {
			t.Errorf("%s is not judged by scanning", x)
		}
	}
}

// TestRepeatedAgreesOnPrefixes cuts responses off everywhere.
func TestRepeatedAgreesOnPrefixes(t *testing.T) {
	request := twoObjects()
	p := request.Repeated()
	for _, value := range []string{`"\u00e9\n"`, `-12.5e+7`, `[true, false, null, {"a": [] }]`, "\"\x01\"", `"1234567"`} {
		body := []byte(strings.TrimSuffix(success, `}]}}`) + `,"spec":` + value + `}]}}`)
		for end := range len(body) + 1 {
			same(t, p, request, ok(body[:end:end]))
		}
	}
}

// TestRepeatedAgreesOnOddRequests has requests whose responses cannot be compared with them byte by byte.
func TestRepeatedAgreesOnOddRequests(t *testing.T) {
	const reply = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/%s","response":{"uid":%s,"result":{"status":"Success"},"convertedObjects":[%s]}}`
	deep := `{"name":"a","x":` + nested(9990) + `}`
	for name, test := range map[string]struct {
		version, uid, spelled, desired string
		before, after                  string
		scanned                        bool
	}{
		"v1beta1":                  {"v1beta1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, true},
		"unknown version":          {"v2", "u", `"u"`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, true},
		"version of odd bytes":     {"v\"1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, false},
		"no uid":                   {"v1", "", `""`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, false},
		"uid with a quote":         {"v1", `u"`, `"u\""`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, false},
		"uid that looks the same":  {"v1", `\u0041`, `"\u0041"`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, false},
		"uid that is no UTF-8":     {"v1", "\xff", "\"\xff\"", "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, false},
		"uid of another language":  {"v1", "é", `"é"`, "a/v1", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, false},
		"no apiVersion":            {"v1", "u", `"u"`, "", `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"","metadata":{}}`, true},
		"apiVersion with a quote":  {"v1", "u", `"u"`, `a/v"1`, `{"kind":"A","metadata":{}}`, `{"kind":"A","apiVersion":"a/v\"1","metadata":{}}`, true},
		"apiVersion of odd bytes":  {"v1", "u", `"u"`, "a/v\xff", `{"kind":"A","metadata":{}}`, "{\"kind\":\"A\",\"apiVersion\":\"a/v\xff\",\"metadata\":{}}", true},
		"kind with escapes":        {"v1", "u", `"u"`, "a/v1", `{"kind":"\u0041","metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, true},
		"no kind":                  {"v1", "u", `"u"`, "a/v1", `{"metadata":{}}`, `{"apiVersion":"a/v1","metadata":{}}`, true},
		"no metadata":              {"v1", "u", `"u"`, "a/v1", `{"kind":"A"}`, `{"kind":"A","apiVersion":"a/v1"}`, true},
		"no metadata before":       {"v1", "u", `"u"`, "a/v1", `{"kind":"A"}`, `{"kind":"A","apiVersion":"a/v1","metadata":{"creationTimestamp":null}}`, true},
		"metadata null":            {"v1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":null}`, `{"kind":"A","apiVersion":"a/v1","metadata":null}`, true},
		"metadata as a number":     {"v1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":1}`, `{"kind":"A","apiVersion":"a/v1","metadata":1}`, true},
		"metadata twice":           {"v1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":1,"metadata":{}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{}}`, true},
		"metadata that is deep":    {"v1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":` + deep + `}`, `{"kind":"A","apiVersion":"a/v1","metadata":` + deep + `}`, false},
		"metadata that is huge":    {"v1", "u", `"u"`, "a/v1", `{"kind":"A","metadata":{"x":1e999}}`, `{"kind":"A","apiVersion":"a/v1","metadata":{"x":1e999}}`, false},
		"an object that is a list": {"v1", "u", `"u"`, "a/v1", `[]`, `{"kind":"","apiVersion":"a/v1"}`, true},
		"no objects":               {"v1", "u", `"u"`, "a/v1", ``, ``, true},
	} {
		request := contract.Request{ReviewVersion: test.version, UID: test.uid, DesiredAPIVersion: test.desired}
		if test.before != "" {
			request.Objects = []json.RawMessage{json.RawMessage(test.before)}
		}
		p := request.Repeated()
		for range 2 {
			body := fmt.Appendf(nil, reply, test.version, test.spelled, test.after)
			if scanned := same(t, p, request, ok(body)); scanned != test.scanned || t.Failed() {
				t.Errorf("%s: scanned: %t, want %t", name, scanned, test.scanned)
			}
		}
	}
	none := contract.Request{ReviewVersion: "v1", UID: "u"}
	for _, objects := range []string{`null`, `[]`} {
		body := strings.Replace(fmt.Sprintf(reply, "v1", `"u"`, ""), "[]", objects, 1)
		if !same(t, none.Repeated(), none, ok([]byte(body))) {
			t.Errorf("no objects as %s were not scanned", objects)
		}
	}
}

// TestRepeatedAgreesOnDetours has good responses that come in other ways than they should.
func TestRepeatedAgreesOnDetours(t *testing.T) {
	request := twoObjects()
	p := request.Repeated()
	for name, change := range map[string]func(*contract.Response){
		"none":                      func(*contract.Response) {},
		"201":                       func(r *contract.Response) { r.Status = 201 },
		"204":                       func(r *contract.Response) { r.Status = 204 },
		"500":                       func(r *contract.Response) { r.Status = 500 },
		"text":                      func(r *contract.Response) { r.ContentType = "text/plain; charset=utf-8" },
		"content type with charset": func(r *contract.Response) { r.ContentType = "Application/JSON; charset=utf-8" },
		"malformed content type":    func(r *contract.Response) { r.ContentType = ";;" },
		"no content type":           func(r *contract.Response) { r.ContentType = "" },
		"redirected":                func(r *contract.Response) { r.RedirectedTo = "https://there/" },
		"third attempt":             func(r *contract.Response) { r.Attempts = 3 },
		"cut off":                   func(r *contract.Response) { r.Err = errors.New("unexpected EOF") },
		"too late":                  func(r *contract.Response) { r.Err, r.TimedOut, r.Body = errors.New("timeout"), true, nil },
		"nothing":                   func(r *contract.Response) { *r = contract.Response{Err: errors.New("connection refused")} },
	} {
		response := ok([]byte(success))
		change(&response)
		for range 2 {
			if same(t, p, request, response); t.Failed() {
				t.Fatal(name)
			}
		}
	}
}

// answers are what the reference webhook answers to a request, without a fault and with each of them.
func answers(tb testing.TB, request contract.Request) map[string]contract.Response {
	tb.Helper()
	all := map[string]contract.Response{}
	for _, fault := range append(webhook.Faults(), webhook.Fault{}) {
		handler := webhook.Handler(fault)
		if fault.Name == "" {
			handler = webhook.Handler()
		}
		if body, err := request.Body(); err != nil {
			tb.Fatal(err)
		} else if response, answered := answer(tb, handler, body); answered {
			all[fault.Name] = response
		}
	}
	return all
}

// answer returns what a handler answers, and false when it gives none.
func answer(tb testing.TB, handler http.Handler, body []byte) (response contract.Response, answered bool) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	cancel() // for those that would never answer
	recorder := httptest.NewRecorder()
	defer func() {
		if recovered := recover(); recovered != nil && !errors.Is(recovered.(error), http.ErrAbortHandler) {
			panic(recovered)
		}
	}()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, webhook.Path, bytes.NewReader(body)))
	return contract.Response{
		Status: recorder.Code, ContentType: recorder.Header().Get("Content-Type"), Body: recorder.Body.Bytes(),
	}, recorder.Body.Len() > 0
}

// TestRepeatedAgreesOnFaults has every fault of the reference webhook before and after its right answer, and with uids that
// change.
func TestRepeatedAgreesOnFaults(t *testing.T) {
	request := parse(t, fixtures.ReviewRequest("v1"))
	right := answers(t, request)[""]
	scanned := 0
	for name, response := range answers(t, request) {
		p := request.Repeated()
		for n, r := range []contract.Response{response, response, right, response, right, right, response} {
			again := request
			again.UID = fmt.Sprintf("%.34s%02d", request.UID, n)
			r.Body = bytes.ReplaceAll(r.Body, []byte(request.UID), []byte(again.UID))
			if same(t, p, again, r) {
				scanned++
			}
			if t.Failed() {
				t.Fatal(name)
			}
		}
	}
	if all := 7 * len(webhook.Faults()); scanned < all/2 {
		t.Errorf("%d of %d responses were scanned", scanned, all)
	}
}

// TestRepeatedAgreesOnMutations changes good responses at random.
func TestRepeatedAgreesOnMutations(t *testing.T) {
	request := twoObjects()
	var bodies []string
	for _, odd := range oddBodies() {
		if odd.scanned {
			bodies = append(bodies, odd.body)
		}
	}
	slices.Sort(bodies) // for the same run each time
	random := rand.New(rand.NewPCG(4, 2))
	good, scanned, violating := request.Repeated(), 0, 0
	for n := range 20_000 {
		body := []byte(bodies[random.IntN(len(bodies))])
		for range 1 + random.IntN(2) {
			body = mutated(random, body, bodies)
		}
		p := request.Repeated()
		if n%2 == 0 {
			p = good
		}
		if same(t, p, request, ok(body)) {
			scanned++
			if len(p.Judge(request.UID, ok(body)).Violations) > 0 {
				violating++
			}
		}
		if t.Failed() {
			t.Fatal(n)
		}
	}
	t.Logf("%d scanned, %d of them with violations", scanned, violating)
	if scanned < 1000 || violating < 100 {
		t.Errorf("%d were scanned, %d of them with violations: the changes are too rude to show anything", scanned, violating)
	}
}

// TestObjectsAreReadAlike changes objects at random: to scan one says the same as to decode it.
func TestObjectsAreReadAlike(t *testing.T) {
	bodies := []string{before0, before1, after0, `{"kind":null,"kind":"A","\u006bind":1,"apiVersion":"<\u00e9>","metadata":null} `, `{"metadata":{"a":[1e9]},"Kind":""}`}
	random := rand.New(rand.NewPCG(4, 2))
	for range 50_000 {
		body := []byte(bodies[random.IntN(len(bodies))])
		for range random.IntN(3) {
			body = mutated(random, body, bodies)
		}
		if !contract.ReadsAlike(body) || !contract.ReadsMembersAlike(body) {
			t.Fatalf("%q", body)
		}
	}
	if !contract.ScansMembers([]byte(after0)) {
		t.Error("what is usual is decoded")
	}
}

// mutated changes a byte, takes a part out, or puts a part of some body in.
func mutated(random *rand.Rand, body []byte, bodies []string) []byte {
	const interesting = "\"\\{}[]:,0-1e. \n\tnutfs\x00\x1f\x80\xff"
	if len(body) == 0 {
		return body
	}
	at := random.IntN(len(body))
	switch random.IntN(4) {
	case 0:
		body[at] = interesting[random.IntN(len(interesting))]
	case 1:
		return slices.Delete(body, at, min(at+1+random.IntN(12), len(body)))
	case 2:
		return slices.Insert(body, at, interesting[random.IntN(len(interesting))])
	default:
		other := bodies[random.IntN(len(bodies))]
		from := random.IntN(len(other) + 1)
		return slices.Insert(body, at, []byte(other[from:min(from+random.IntN(40), len(other))])...)
	}
	return body
}

// TestJudgementsStayWhenMemoryIsUsedAgain overwrites each body after it was judged.
func TestJudgementsStayWhenMemoryIsUsedAgain(t *testing.T) {
	request := twoObjects()
	p := request.Repeated()
	buffer := make([]byte, 0, 2*len(success))
	for _, body := range []string{
		success,
		strings.Replace(success, `"generation":1`, `"generation":2`, 1),
		strings.Replace(success, `"spec":2`, `"spec":3`, 1),
		success,
		strings.Replace(success, `"status":"Success"`, `"status":"Success","message":"MESSAGE"`, 1),
		strings.Replace(success, `"CronTab"`, `"KIND"`, 1),
	} {
		for range 100 {
			buffer = append(buffer[:0], body...)
			got := p.Judge(request.UID, ok(buffer))
			for i := range buffer[:cap(buffer)] {
				buffer[:cap(buffer)][i] = '#'
			}
			want := request.Judge(ok([]byte(body)))
			want.Objects = nil
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s:\ngot  %+v\nwant %+v", body, got, want)
			}
		}
	}
}

// TestWhatIsKnown has a webhook change what it answers. After a while, that is known as well.
func TestWhatIsKnown(t *testing.T) {
	request := twoObjects()
	reordered := strings.Replace(success, `{"name":"a","uid":"1"`, `{"uid":"1","name":"a"`, 1)
	changed := strings.Replace(success, `"spec":2`, `"spec":3`, 1)
	for name, test := range map[string]struct {
		before, body string
		want         int // judgements until the body is known
	}{
		"the first":                      {"", success, 1},
		"other contents":                 {success, changed, 65},
		"other contents, known metadata": {reordered, strings.Replace(reordered, `"spec":2`, `"spec":3`, 1), 65},
		"the metadata of the request":    {reordered, changed, 65},
		"other metadata":                 {success, reordered, 2},
		"violations":                     {success, strings.Replace(success, `"generation":1`, `"generation":2`, 1), 2},
	} {
		p := request.Repeated()
		if test.before != "" {
			p.Judge(request.UID, ok([]byte(test.before)))
		}
		judged := 0
		for ; !p.Knows(request.UID, []byte(test.body)) && judged < 1000; judged++ {
			p.Judge(request.UID, ok([]byte(test.body)))
		}
		if judged != test.want {
			t.Errorf("%s: known after %d judgements, want %d", name, judged, test.want)
		}
		for what, other := range map[string]string{"uid": strings.Replace(test.body, "u-1", "u-2", 1), "object": strings.Replace(test.body, `"spec":`, `"spec":5`, 1)} {
			if p.Knows(request.UID, []byte(other)) {
				t.Errorf("%s: another %s is known", name, what)
			}
		}
	}
}

// TestRepeatedAllocatesNothing has the usual responses judged without a single allocation: the same all the time but for the
// uid, and with something new in each object.
func TestRepeatedAllocatesNothing(t *testing.T) {
	request := twoObjects()
	p, n := request.Repeated(), 0
	bodies := make([][]byte, 100)
	for i := range bodies {
		bodies[i] = []byte(strings.ReplaceAll(strings.Replace(success, "u-1", fmt.Sprintf("u-%02d", i), 1), `"CronTab"`, fmt.Sprintf(`"CronTab","at":%d`, i)))
	}
	uids := make([]string, len(bodies))
	for i := range uids {
		uids[i] = fmt.Sprintf("u-%02d", i)
	}
	changing := testing.AllocsPerRun(50, func() { // fewer than there must be for a new sample
		p.Judge(uids[n], ok(bodies[n]))
		n++
	})
	if changing != 0 {
		t.Errorf("%g allocations with something new in each object", changing)
	}
	p = request.Repeated()
	body := []byte(success)
	if known := testing.AllocsPerRun(1000, func() { p.Judge("u-1", ok(body)) }); known != 0 {
		t.Errorf("%g allocations when all is known", known)
	}
}

// TestRepeatedByManyGoroutines has different responses judged at the same time.
func TestRepeatedByManyGoroutines(t *testing.T) {
	request := twoObjects()
	p := request.Repeated()
	bodies := []string{success, strings.Replace(success, `"generation":1`, `"generation":2`, 1), strings.Replace(success, `"spec":2`, `"spec":3`, 1), success[1:]}
	var all sync.WaitGroup
	for _, body := range bodies {
		want := request.Judge(ok([]byte(body)))
		want.Objects = nil
		for range 2 {
			all.Go(func() {
				for range 500 {
					if got := p.Judge(request.UID, ok([]byte(body))); !reflect.DeepEqual(got, want) {
						t.Errorf("%s:\ngot  %+v\nwant %+v", body, got, want)
						return
					}
				}
			})
		}
	}
	all.Wait()
}

// FuzzRepeated judges two arbitrary responses to a request in turn, so that one is known when the other comes. Whatever they
// are, what is said of them is what the judge says of each by itself.
func FuzzRepeated(f *testing.F) {
	request, _ := twoObjects().Body()
	for _, odd := range oddBodies() {
		if len(odd.body) > 4*len(success) {
			continue // it would take long, and little of it would be changed
		}
		f.Add(request, []byte(odd.body), []byte(success), 200, "application/json")
		f.Add(request, []byte(success), []byte(odd.body), 200, "application/json")
	}
	for _, version := range []string{"v1", "v1beta1"} {
		parsed, err := contract.ParseRequest(fixtures.ReviewRequest(version))
		if err != nil {
			f.Fatal(err)
		}
		for _, response := range answers(f, parsed) {
			f.Add(fixtures.ReviewRequest(version), fixtures.ReviewSuccess(version), response.Body, response.Status, response.ContentType)
		}
	}
	f.Fuzz(func(t *testing.T, requestBody, first, second []byte, status int, contentType string) {
		request, err := contract.ParseRequest(requestBody)
		if err != nil {
			return
		}
		p := request.Repeated()
		for _, body := range [][]byte{first, second, first, second, second} {
			same(t, p, request, contract.Response{Status: 200, ContentType: "application/json", Body: body})
			same(t, p, request, contract.Response{Status: status, ContentType: contentType, Body: body})
		}
		if len(requestBody) > 0 {
			request.UID = string(requestBody[:len(requestBody)%8])
			same(t, p, request, contract.Response{Status: 200, ContentType: "application/json", Body: first})
		}
	})
}
