package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/crdconform/crdconform/contract"
)

func redaction(t *testing.T, paths ...string) Redaction {
	t.Helper()
	r, err := ParseRedaction(paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// redacted returns an object as a recording has it in a request and in a response.
func redacted(t *testing.T, object string, paths ...string) []string {
	t.Helper()
	x := Exchange{Body: review("1", object), Response: contract.Response{Status: 200, Body: converted("1", object)}}
	file, _, _ := recorded(t, Options{Redaction: redaction(t, paths...)}, []Exchange{x})
	read, err := Read(bytes.NewReader(file))
	if err != nil || len(read.Exchanges) != 1 || !slices.Equal(read.Redacted, paths) {
		t.Fatalf("%v: read %v, %v", paths, read, err)
	}
	one := read.Exchanges[0]
	var answer struct {
		Response struct {
			ConvertedObjects []json.RawMessage `json:"convertedObjects"`
		} `json:"response"`
	}
	if err := json.Unmarshal(one.Response.Body, &answer); err != nil {
		t.Fatal(err)
	}
	return []string{string(one.Request.Objects[0]), string(answer.Response.ConvertedObjects[0])}
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal([]byte(a), &x), json.Unmarshal([]byte(b), &y)); err != nil {
		t.Fatalf("%v: %s, %s", err, a, b)
	}
	return reflect.DeepEqual(x, y)
}

// TestRedaction wants values to keep their type, and all else to stay as it is.
func TestRedaction(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		paths      []string
		spec, want string
	}{
		"a string":           {[]string{"spec.a"}, `{"a":"Ab 7!","b":"Ab 7!"}`, `{"a":"Xx 1!","b":"Ab 7!"}`},
		"other types":        {[]string{"spec.*"}, `{"a":-2.5e3,"b":true,"c":null,"d":"","e":123456789012345678,"f":0,"g":0.0}`, `{"a":-1.1e1,"b":false,"c":null,"d":"","e":111111111111111111,"f":0,"g":0.0}`},
		"all below":          {[]string{"spec.a"}, `{"a":{"k":["y",{"y":7}]}}`, `{"a":{"k":["x",{"y":1}]}}`},
		"items of lists":     {[]string{"spec.l[*].t"}, `{"l":[{"t":"a","u":"a"},{"t":"b"}]}`, `{"l":[{"t":"x","u":"a"},{"t":"x"}]}`},
		"one item":           {[]string{"spec.l[1]"}, `{"l":["a","b"]}`, `{"l":["a","x"]}`},
		"keys of maps":       {[]string{"spec.m.*.t"}, `{"m":{"a/b":{"t":"a"},"it's":{"t":"b","u":7}}}`, `{"m":{"a/b":{"t":"x"},"it's":{"t":"x","u":7}}}`},
		"an odd key":         {[]string{`spec['a.b\'c']`}, `{"a.b'c":"a","a":{"b'c":"a"}}`, `{"a.b'c":"x","a":{"b'c":"a"}}`},
		"several":            {[]string{"spec.a", "spec.b"}, `{"a":"a","b":"b","c":"a"}`, `{"a":"x","b":"x","c":"a"}`},
		"numbers stay":       {[]string{"spec.a"}, `{"a":"a","n":9007199254740993,"f":1.50,"e":1e3}`, `{"a":"x","n":9007199254740993,"f":1.50,"e":1e3}`},
		"another field":      {[]string{"spec.a"}, `{"b":{"a":"a"}}`, `{"b":{"a":"a"}}`},
		"the same elsewhere": {[]string{"spec.a"}, `{"a":"hunter2","b":"https://user:hunter2@host/","hunter2":1}`, `{"a":"xxxxxx1","b":"https://user:xxxxxx1@host/","hunter2":1}`},
		"too short for that": {[]string{"spec.a"}, `{"a":"12345","b":"123456"}`, `{"a":"11111","b":"123456"}`},
		"one within another": {[]string{"spec.a", "spec.b"}, `{"a":"secret","b":"secret-long","c":"secret-long"}`, `{"a":"xxxxxx","b":"xxxxxx-xxxx","c":"xxxxxx-xxxx"}`},
		"by a star":          {[]string{"*.a"}, `{"a":"a"}`, `{"a":"x"}`},
	} {
		for _, got := range redacted(t, widget("v1", test.spec), test.paths...) {
			if want := widget("v1", test.want); !equalJSON(t, got, want) {
				t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
			}
			if strings.Contains(test.want, "9007199254740993") && (!strings.Contains(got, "9007199254740993") || !strings.Contains(got, "1.50")) {
				t.Errorf("%s: the numbers are spelled otherwise: %s", name, got)
			}
		}
	}
}

func TestMetadataIsRedactedInPart(t *testing.T) {
	t.Parallel()
	object := func(app, owner string) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"one","uid":"u","labels":{"app":%q},"annotations":{"example.com/owner":%q},"generation":2}}`, app, owner)
	}
	for path, want := range map[string]string{
		"metadata.labels": object("xxx", "me"),
		"metadata.annotations['example.com/owner']": object("web", "xx"),
		"metadata['annotations'].*":                 object("web", "xx"),
		"*":                                         object("xxx", "xx"),
		"*.*":                                       object("xxx", "xx"),
		"spec":                                      object("web", "me"),
	} {
		for _, got := range redacted(t, object("web", "me"), path) {
			if !equalJSON(t, got, want) {
				t.Errorf("%s: got %s, want %s", path, got, want)
			}
		}
	}
}

func TestPathsThatCannotBeRedacted(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"":                               `the path "" is empty`,
		".spec":                          "begins with a dot",
		"apiVersion":                     "webhooks need apiVersion",
		"kind":                           "webhooks need apiVersion",
		"['kind']":                       "webhooks need apiVersion",
		"metadata":                       "only labels and annotations can be",
		"metadata.name":                  "only labels and annotations can be",
		"metadata.labelsX":               "only labels and annotations can be",
		"metadata.*":                     "only labels and annotations can be",
		"metadata['managedFields'][*]":   "only labels and annotations can be",
		"['metadata'].creationTimestamp": "only labels and annotations can be",
	} {
		if _, err := ParseRedaction([]string{"spec.a", path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want something with %s", path, err, want)
		}
	}
	if r := redaction(t); r.Paths() != nil {
		t.Errorf("got %v", r.Paths())
	}
}

// TestSecretsAreNowhere puts a secret into all the places where webhooks and clients keep copies of fields.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"hunter2", `back\slash"quote`, "<b>&amp;", "größe-🔑", "two\nlines"} {
		quoted := func(v any) string {
			raw, err := encoded(v)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(raw))
		}
		escaped, err := json.Marshal(map[string]any{"spec": map[string]any{"password": secret, "n": 1}})
		if err != nil {
			t.Fatal(err)
		}
		object := func(version string) string {
			return fmt.Sprintf(`{"apiVersion":"example.com/%s","kind":"Widget","metadata":{"name":"one","uid":"u","annotations":%s,"managedFields":[{"fieldsV1":{"f:spec":{%s:{}}}}]},"spec":{"password":%s,"tokens":[%[4]s],"deep":{"copy":%[4]s}}}`,
				version, quoted(map[string]any{
					"kubectl.kubernetes.io/last-applied-configuration": quoted(map[string]any{"spec": map[string]any{"password": secret}}),
					"example.com/conversion-data":                      string(escaped),
					"example.com/note":                                 "it is " + secret,
					"example.com/broken":                               string(escaped[:len(escaped)-1]),
				}), quoted(fmt.Sprintf("v:%q", secret)), quoted(secret))
		}
		failed := fmt.Sprintf(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"1","result":{"status":"Failed","message":%s}}}`, quoted("invalid password "+secret+"!"))
		echo := strings.Replace(string(converted("1", object("v2"))), "{", `{"request":`+string(review("1", object("v1")))+`,`, 1)
		bodies := []string{string(converted("1", object("v2"))), failed, echo, "oops: " + secret, `{"kind":"ConversionReview","response":{"uid":"1","convertedObjects":{"odd":` + quoted(secret) + `}}}`, quoted(secret), "[" + quoted(secret) + "]"}
		var exchanges []Exchange
		for _, body := range bodies {
			exchanges = append(exchanges, Exchange{Body: review("1", object("v1")), Response: contract.Response{Status: 200, ContentType: "application/json", Body: []byte(body)}})
		}
		exchanges = append(exchanges, Exchange{Body: review("1", object("v1")), Response: contract.Response{Err: errors.New("EOF after " + secret)}})
		file, _, summary := recorded(t, Options{Redaction: redaction(t, "spec.password", "spec.pasword")}, exchanges)
		if summary.Exchanges != len(exchanges) || !slices.Equal(summary.Unmatched, []string{"spec.pasword"}) {
			t.Errorf("%+v", summary)
		}
		read, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		// Not in the file, and not in what comes out of it, however often that is decoded.
		var all strings.Builder
		all.Write(file)
		for _, x := range read.Exchanges {
			fmt.Fprint(&all, string(x.Body), string(x.Response.Body), x.Withheld, x.Response.Err)
		}
		text := all.String()
		for range 4 {
			for _, form := range []string{secret, strings.Trim(quoted(secret), `"`), strings.Trim(string(must(json.Marshal(secret))), `"`)} {
				if strings.Contains(text, form) {
					at := strings.Index(text, form)
					t.Errorf("%q is there as %q: ...%s", secret, form, text[max(at-200, 0):at+len(form)])
				}
			}
			text = strings.ReplaceAll(text, `\\`, `\`)
		}
		if x := read.Exchanges[3]; x.Response.Body != nil || x.Withheld != "it is not JSON, so nothing in it can be redacted" || x.Response.Status != 200 {
			t.Errorf("what cannot be redacted is %+v", x)
		}
		if j := read.Exchanges[0].Request.Judge(read.Exchanges[0].Response); len(j.Violations) > 0 {
			t.Errorf("a good exchange is judged %v", j.Violations)
		}
	}
}

// TestCopiesOfObjects redacts what is too short to be looked for, and no string, where annotations have copies of objects.
func TestCopiesOfObjects(t *testing.T) {
	t.Parallel()
	object := func(pin, number, enabled, key string) string {
		text := func(v any) string { return string(must(json.Marshal(v))) }
		inner := fmt.Sprintf(`{"kind":"Widget","metadata":{"annotations":{"example.com/a":%s}},"spec":{"enabled":%s,"n":%s,"pin":%s}}`, text(key), enabled, number, text(pin))
		outer := fmt.Sprintf(`{"metadata":{"annotations":{"inner":%s}}}`, text(inner))
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"one","annotations":{"copy":%s,"deeper":%s,"other":"{\"spec\": \"not an object\"}"}},"spec":{"pin":%s}}`,
			text(inner), text(outer), text(pin))
	}
	for _, got := range redacted(t, object("1234", "5678", "true", "k"), "spec.pin", "spec.n", "spec.enabled", "metadata.annotations['example.com/a']") {
		if want := object("1111", "1111", "false", "x"); !equalJSON(t, got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

// TestParts has a webhook take something out of what is redacted, and put something in.
func TestParts(t *testing.T) {
	t.Parallel()
	request := review("1", widget("v1", `{"hostPort":"secret-host:8443","mode":"default","pair":["9000",9000],"limit":4711}`))
	response := converted("1", widget("v2", `{"host":"secret-host","url":"https://secret-host:8443/x","port":"8443","n":8443,"short":84,"mode":"default","pair":["9000",9000],"text":"4711"}`))
	want := widget("v2", `{"host":"xxxxxx-xxxx","url":"https://xxxxxx-xxxx:1111/x","port":"1111","n":1111,"short":84,"mode":"default","pair":["9000",9000],"text":"1111"}`)
	x := Exchange{Body: request, Response: contract.Response{Status: 200, Body: response}}
	file, _, _ := recorded(t, Options{Redaction: redaction(t, "spec.hostPort", "spec.limit", "spec.other")}, []Exchange{x})
	read, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	one := read.Exchanges[0]
	if !slices.Equal(one.Redacted, []string{"spec.hostPort", "spec.limit"}) {
		t.Errorf("it says that %q are redacted", one.Redacted)
	}
	if got := string(one.Response.Body); !equalJSON(t, got, string(converted("1", want))) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNothingToRedact has values that stay what they are, so that the request is asked again as it was.
func TestNothingToRedact(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]string{
		`{"a":"","b":0,"c":false,"d":null,"e":"x1"}`: nil,
		`{"a":"","b":7}`: {"spec"},
	} {
		file, _, summary := recorded(t, Options{Redaction: redaction(t, "spec")}, []Exchange{{Body: review("1", widget("v1", spec))}})
		read, err := Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if got := read.Exchanges[0].Redacted; !slices.Equal(got, want) || len(summary.Unmatched) > 0 {
			t.Errorf("%s: redacted at %q, not found %q", spec, got, summary.Unmatched)
		}
	}
}

// TestPartsOfLongStrings wants no more of them than can be looked for.
func TestPartsOfLongStrings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", longest/5)
	if n := len(parts(long)); n < mostWords*longest/5/2 {
		t.Errorf("%d parts", n)
	}
	if got := parts(long + "more words"); len(got) != 1 {
		t.Errorf("%d parts", len(got))
	}
}

// TestMask wants what is masked to be of use to webhooks as before.
func TestMask(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                     "",
		"hunter2":                              "xxxxxx1",
		"größe-🔑":                              "xxxxx-x",
		"!...?":                                "xxxxx",
		"localhost:8080":                       "xxxxxxxxx:1111",
		"https://a.example/x?y=3":              "https://x.xxxxxxx/x?x=1",
		"2026-02-28T23:59:61.5Z":               "1111-11-11X11:11:11.1X", // no time
		"2026-02-28T23:59:59.5Z":               "1111-11-11T11:11:11.1Z",
		"1h30m":                                "1h11m",
		"100Mi":                                "111Mi",
		"2.5e3":                                "1.1e1",
		"192.168.0.255":                        "111.111.1.111",
		"10.0.0.0/24":                          "11.1.1.1/11",
		"fe80::1":                              "aa11::1",
		"00:1b:44:11:3a:b7":                    "11:1a:11:11:1a:a1",
		"3F2504E0-4F89-11D3-9A0C-":             "1X1111X1-1X11-11X1-1X1X-",
		"3f2504e0-4f89-11d3-9a0c-0305e82c3301": "1a1111a1-1a11-11a1-1a1a-1111a11a1111",
		"true":                                 "false",
		"c2VjcmV0IQ==":                         "x1XxxxX1XX==",
		"*/5 22 * * mon":                       "*/1 11 * * xxx",
	} {
		if got := mask(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, text := range []string{"a1", "1h", "::a", "https://x", "x://!", "true", "1e3", "2026-02-28T23:59:59Z", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // nothing that JSON has
		}
		once := mask(text)
		if again := mask(once); again != once {
			t.Errorf("%q becomes %q, and that %q", text, once, again)
		}
		if text != "true" && utf8.RuneCountInString(once) != utf8.RuneCountInString(text) {
			t.Errorf("%q becomes %q, which has another length", text, once)
		}
		if shape(once) != shape(text) && text != "true" && shape(text) != text {
			t.Errorf("%q becomes %q, which has another form", text, once)
		}
	})
}

func TestRedactedResponse(t *testing.T) {
	t.Parallel()
	body := converted("1", widget("v2", `{"a":"hunter2","b":"x"}`))
	got, err := redaction(t, "spec.a").Response(review("1"), body)
	if want := converted("1", widget("v2", `{"a":"xxxxxx1","b":"x"}`)); err != nil || !equalJSON(t, string(got), string(want)) {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := (Redaction{}).Response(nil, []byte("no JSON")); err != nil || string(got) != "no JSON" {
		t.Errorf("without paths: %s, %v", got, err)
	}
	if got, err := redaction(t, "spec.a").Response(review("1"), []byte("no JSON")); err == nil || got != nil {
		t.Errorf("what is no JSON: %s, %v", got, err)
	}
}

// TestExplains has redaction explain what differs in the letters that it changes, and nothing else.
func TestExplains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		recorded, live string
		want           bool
	}{
		{`"8443"`, `"1111"`, true},
		{`8443`, `1111`, true},
		{`"1h"`, `"1x"`, true},
		{`"1h"`, `"1h"`, true},
		{`"xxx"`, `"abc"`, true},
		{`{"a":["b2",null,true]}`, `{"a":["x1",null,true]}`, true},
		{`"8443"`, `"8444"`, false},
		{`"8443"`, `"111"`, false},
		{`"8443"`, `1111`, false},
		{`true`, `false`, false},
		{`{"a":"b"}`, `{"b":"x"}`, false},
		{`["b"]`, `[]`, false},
		{``, `"x"`, false},
	} {
		if got := (Redaction{}).Explains(json.RawMessage(c.recorded), json.RawMessage(c.live)); got != c.want {
			t.Errorf("%s and %s: got %t", c.recorded, c.live, got)
		}
	}
	if !AlikeInForm("bad port 8443", "bad port 1111") || AlikeInForm("bad port", "bad host") != true || AlikeInForm("a", "ab") {
		t.Error("texts are compared otherwise than by their form")
	}
}

func FuzzRedaction(f *testing.F) {
	f.Add("hunter2", `{"spec":{"a":1}}`, "x")
	f.Add(`"\u`, "{", `[]`)
	f.Fuzz(func(t *testing.T, secret, annotation, body string) {
		object := map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget", "spec": map[string]any{"password": secret, "copy": "a " + secret},
			"metadata": map[string]any{"name": "one", "annotations": map[string]any{"a": annotation, "b": secret}},
		}
		raw, err := json.Marshal(object)
		if err != nil {
			t.Skip() // the fuzzer's strings need not be UTF-8
		}
		var file bytes.Buffer
		r, err := NewRecorder(&file, Options{Redaction: redaction(t, "spec.password")})
		if err != nil {
			t.Fatal(err)
		}
		r.Record(Exchange{Body: review("1", string(raw)), Response: contract.Response{Status: 200, Body: []byte(body)}})
		if s := r.Close(); s.Exchanges != 1 {
			t.Fatalf("%+v", s)
		}
		read, err := Read(&file)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Spec struct {
				Password string `json:"password"`
				Copy     string `json:"copy"`
			} `json:"spec"`
			Metadata struct {
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(read.Exchanges[0].Request.Objects[0], &got); err != nil {
			t.Fatal(err)
		}
		// What is left of it in JSON: the encoder replaces what is not UTF-8.
		secret = strings.ToValidUTF8(secret, "\ufffd")
		if kept := got.Spec.Password; kept != mask(secret) && utf8.ValidString(secret) && !strings.Contains(secret, "\ufffd") {
			t.Errorf("%q became %q", secret, kept)
		}
		if masked := mask(secret); len(secret) >= shortest && !strings.Contains(masked+annotation, secret) && !strings.Contains("a "+masked, secret) {
			if strings.Contains(got.Spec.Copy, secret) || strings.Contains(got.Metadata.Annotations["b"], secret) {
				t.Errorf("%q is still there: %+v", secret, got)
			}
		}
	})
}
