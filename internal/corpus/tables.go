package corpus

import (
	"unicode"
	"unicode/utf8"
)

// words returns words for names and texts.
func words() []string {
	return []string{
		"alpha", "amber", "anchor", "apple", "autumn", "bridge", "candle", "cedar", "copper", "coral", "crane", "delta",
		"ember", "falcon", "fern", "garnet", "harbor", "hazel", "island", "ivory", "jasper", "juniper", "lantern", "lemon",
		"maple", "meadow", "nickel", "ocean", "olive", "orchid", "pepper", "quartz", "river", "saffron", "silver", "thistle",
		"timber", "velvet", "willow", "winter",
	}
}

// sortsOfText returns the kinds of strings that follow when a webhook refuses words and the values of samples.
func sortsOfText() [][]string {
	return [][]string{
		{"10s", "1h30m0s", "15m0s", "500ms"},
		quantities(),
		times(),
		{"192.0.2.7", "198.51.100.23", "2001:db8::17"},
		{"192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32"},
		{"https://example.com/path", "http://example.org:8080/", "https://registry.example.net/v2/?q=1"},
		{"YWxwaGE=", "d2ludGVy", "bWVhZG93cw=="},
		{"1", "8080", "42", "7"},
		{"example.com:8080", "localhost:1234", "example.org:443"},
	}
}

func quantities() []string {
	return []string{"100m", "1Gi", "2", "500Mi", "1500m", "64Ki", "10", "2.5", "3Ti", "250m", "1", "128M"}
}

// times are whole seconds in UTC, since Kubernetes' usual type writes no others.
func times() []string {
	return []string{"2019-09-04T14:03:02Z", "2024-02-29T23:59:59Z", "1999-12-31T00:00:00Z", "2038-01-19T03:14:08Z"}
}

// zoned are times at an offset, which may be written in another zone but stay the same instants. Most are on another day in UTC.
func zoned() []string {
	return []string{"2026-03-01T01:00:00+02:00", "2019-12-31T20:03:02-08:00", "2024-02-29T23:59:59+05:30"}
}

// plainWords are texts that YAML reads as something else unless they are quoted, and that users write.
func plainWords() []string { return []string{"yes", "no", "on", "off", "true", "false", "null"} }

// wordsOfYAML has these words and numbers that only YAML reads as such, by keys that may be anywhere.
func wordsOfYAML() map[string]any {
	fields := map[string]any{}
	for i, word := range append(plainWords(), "0x10", "1e3") {
		fields[words()[i]] = word
	}
	return fields
}

// tellingKeys are two keys each that programs change or mistake for each other.
func tellingKeys() []struct{ about, one, other string } {
	return []struct{ about, one, other string }{
		{"keys that differ only in case", "Path", "PATH"},
		{"keys with a domain", "nvidia.com/gpu", "acme.dev/Team-A"},
		{"keys that begin with a dot", ".hidden", "Shown"},
		{"keys with an underscore", "snake_case", "snake-case"},
		{`the key ""`, "", "Shown"},
	}
}

// usual returns strings of the shapes that patterns are written for.
func usual() []string {
	all := []string{
		"web-server", "my-app", "app", "example.com", "a.example.org", "example.com/name", "app.kubernetes.io/part-of", "v1", "v1beta1", "1.2.3", "v1.30.2",
		"apps/v1", "10s", "1h30m0s", "500ms", "30m", "*/5 * * * *", "0 3 * * 1", "@daily", "docker.io/library/nginx:1.27",
		"registry.example.com/team/app@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"https://example.com/path", "http://example.org:8080", "https://example.net/charts/", "grpc://example.net:50051", "oci://registry.example.com/charts",
		"s3://bucket/key", "git@example.com:team/app.git", "someone@example.com", "192.0.2.7", "2001:db8::17", "192.0.2.0/24", "example.com:8080", ":8080",
		"8080", "42", "0", "1", "50%", "25", "Always", "Ready", "ConfigMap", "PodDisruptionBudget", "CamelCase", "lowerCamel", "UPPER", "UPPER_CASE", "snake_case",
		"/var/lib/data", "/", "./relative/path", "file.yaml", "us-east-1", "eu-west-1a", "arn:aws:iam::123456789012:role/example",
		"550e8400-e29b-41d4-a716-446655440000", "0123456789abcdef0123456789abcdef01234567", "#a1b2c3", "YWxwaGE=", "MinimumReplicasAvailable", "True", "False",
	}
	return append(append(all, times()...), quantities()...)
}

// strangeText returns strings that programs spoil which do not treat text as text.
func strangeText() []string {
	return []string{
		"Ångström ñ", "e\u0301a\u0308o\u0302", "日本語テキスト", "🦄👩‍👩‍👧‍👦🏳️‍🌈", "𝒳𝓎𝓏 𐍈", "שלום עולם", "\u202eright to left\u202c", "مرحبا",
		"line\u2028separator\u2029paragraph", `quote " and ' and \ and \n`, "\u0001\u0002\u001f", "tab\tnewline\nreturn\r", "<b>&amp;</b> & <script>",
		"zero\u200bwidth\u200d\ufeff", " leading and trailing ", "text and a line end\n", "ends.with.a.dot.", "/in/slashes/", "-dashes-", "${HOME} $(id) {{ .Values }} %s %d", "MixedCase and UPPER", "a,b;c|d=e", "first\r\nsecond", "null", "true", "0", "0123", "1e3", "one, two", "~", "- a: b # c", "ﬁ ǅ İ ı ſ ẞ",
		"\u007f\u0085\u00a0", "\ufffd\ufffc", "é", "🙂", "ß", "\\", "\"", "'",
	}
}

// separators are the characters that programs take text apart at, trim, or put before others.
func separators() []string {
	return []string{"/", ":", ",", ";", "=", "@", "&", "#", "'", `"`, `\`, "%", "+", "|", ".", "-", "_"}
}

// telling are texts that do not survive in programs which take text apart and put it together again in another way: words for a shell,
// percent-encoding, addresses and images with more colons than one, several spaces, what YAML reads as another type or as the end of a
// document, a byte order mark, each control character, and each separator at the beginning, twice in the middle and at the end.
func telling() []string {
	all := []string{
		`one 'two three' "four five" six\ seven`, "a%2Fb%20c%25d+e%26f", "https://me%40here:p%3Aw@[2001:db8::17]:8443/a%2Fb%20c//d/?q=1%262+3&r=%25#x/y",
		"2001:db8::17", "[2001:db8::17]:8443", "example.com:443", "http://example.com:80/", "registry.example.com:5000/team/app:latest",
		"Video Core Team <a@b>", "two  spaces", "~", "0x10", "1e3", "one\n---\ntwo", "\ufeffmarked", controls(),
	}
	all = append(all, plainWords()...)
	for _, one := range separators() {
		all = append(all, one+"a"+one+one+"b"+one)
	}
	return all
}

// controls has each control character between others, and NUL, at which programs in C end, at its ends as well. API servers allow them all.
func controls() string {
	text := []rune{0}
	for r := range rune(0xa0) {
		if unicode.IsControl(r) {
			text = append(text, 'a', r)
		}
	}
	return string(append(text, 'a', 0))
}

// wellKnown are the values that a field of some name often has, which programs take for granted and leave out, or of which they cut what they
// begin with. The names are in lower case, and fields may have more before them.
func wellKnown() map[string][]any {
	return map[string][]any{
		"port": {int64(443), int64(80), int64(22), int64(8443)}, "unavailable": {"100%", "1%", "0%"}, "surge": {"100%", "1%", "0%", "150%"}, "tag": {"latest", "v1.2.3"}, "path": {"/"}, "namespace": {"default"}, "host": {"localhost"}, "address": {"localhost"},
		"protocol": {"TCP", "UDP", "SCTP"}, "scheme": {"https"}, "phase": {"Pending", "Running", "Succeeded", "Failed"}, "policy": {"Always", "IfNotPresent", "Never"},
		"hostname": {"*.example.com"}, "domain": {"*.example.com"}, "region": {"us-east-1"}, "schedule": {"@daily"}, "cron": {"@daily"}, "image": {"nginx", "nginx:latest"},
		"version": {"v1.2.3"}, "ref": {"refs/heads/main"}, "revision": {"refs/heads/main"}, "branch": {"refs/heads/main"}, "secret": {"secret/keys"}, "digest": {"sha256:0123456789abcdef"},
	}
}

// knownParts are values of types of Kubernetes, by the fields that identify the types. Schemas have these types without their values.
func knownParts() map[string][]map[string]any {
	values := func(all ...any) []any { return all }
	return map[string][]map[string]any{
		"key operator values": {
			{"key": "app", "operator": "In", "values": values("web")},
			{"key": "app", "operator": "In", "values": values("web", "api")},
			{"key": "tier", "operator": "NotIn", "values": values("cache", "batch")},
			{"key": "example.com/pinned", "operator": "Exists"},
			{"key": "example.com/retired", "operator": "DoesNotExist"},
		},
		"effect key operator value": {
			{"key": "example.com/maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": int64(300)},
			{"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"},
			{"operator": "Exists"},
		},
	}
}

// meaningfulZeros are fields of types of Kubernetes in which 0 or false is not the same as nothing, by the fields that identify the types. Kubernetes has
// pointers there, so that no encoder leaves them out.
func meaningfulZeros() map[string][]string {
	return map[string][]string{
		"effect key operator tolerationSeconds value":      {"tolerationSeconds"},
		"containers terminationGracePeriodSeconds volumes": {"automountServiceAccountToken", "enableServiceLinks", "terminationGracePeriodSeconds"},
		"runAsGroup runAsNonRoot runAsUser":                {"allowPrivilegeEscalation", "fsGroup", "runAsGroup", "runAsUser"},
	}
}

// emptyDefaults are fields of types of Kubernetes that take "" for their default, by the fields that identify the types. Encoders leave it out,
// and schemas that have these types fill the default in.
func emptyDefaults() map[string][]string {
	return map[string][]string{
		"containerPort hostIP hostPort name protocol":   {"protocol"},
		"name nodePort port protocol targetPort":        {"protocol"},
		"appProtocol name port protocol":                {"protocol"},
		"image keyring monitors pool user":              {"keyring", "pool", "user"},
		"iqn iscsiInterface lun targetPortal":           {"iscsiInterface"},
		"fsType gateway storageMode storagePool system": {"fsType", "storageMode"},
	}
}

// wideFields are fields of types of Kubernetes that hold any integer of 64 bits which is not negative.
func wideFields() []string { return []string{"terminationGracePeriodSeconds", "tolerationSeconds"} }

// spoilable returns a string of at most so many characters with much of what programs spoil, the most common first.
func spoilable(most int64) string {
	const begin, end = " Mixed Case", " \n"
	made := begin
	for _, part := range []string{
		"\r\n", "\t", `"quoted" and 'quoted' \ `, "<b>&amp;", "ß e\u0301 日本 🙂", "a,b;c|d=e:f", "${A} {{ .B }} %s", "- x: y # z", "zero\u200bwidth", "\u2028",
	} {
		if int64(utf8.RuneCountInString(made+part+end)) <= most {
			made += part
		}
	}
	return made + end
}

// formats returns values of each format of strings that API servers validate, by the name without hyphens.
func formats() map[string][]string {
	return map[string][]string{
		"bsonobjectid": {"507f1f77bcf86cd799439011", "507f191e810c19729de860ea"},
		"uri":          {"https://example.com/path", "http://example.org:8080/?q=1", "ftp://example.net/file"},
		"email":        {"someone@example.com", "first.last@example.org"},
		"hostname":     {"example.com", "host-1.example.org", "localhost"},
		"ipv4":         {"192.0.2.7", "198.51.100.23", "10.0.0.1"},
		"ipv6":         {"2001:db8::17", "::1", "fe80::1"},
		"cidr":         {"192.0.2.0/24", "10.0.0.0/8", "2001:db8::/32"},
		"mac":          {"01:23:45:67:89:ab", "de:ad:be:ef:00:01"},
		"uuid":         {"550e8400-e29b-41d4-a716-446655440000", "123e4567-e89b-42d3-a456-426614174000"},
		"uuid3":        {"a3bb189e-8bf9-3888-9912-ace4e6543002", "6fa459ea-ee8a-3ca4-894e-db77e160355e"},
		"uuid4":        {"16fd2706-8baf-433b-82eb-8c7fada847da", "550e8400-e29b-41d4-a716-446655440000"},
		"uuid5":        {"886313e1-3b8a-5372-9b90-0c9aee199e5d", "74738ff5-5367-5958-9aee-98fffdcd1876"},
		"isbn":         {"0321751043", "978-0321751041"},
		"isbn10":       {"0321751043", "0306406152"},
		"isbn13":       {"978-0321751041", "9780306406157"},
		"creditcard":   {"4111111111111111", "5500000000000004", "340000000000009"},
		"ssn":          {"111-22-3333", "123 45 6789"},
		"hexcolor":     {"#a1b2c3", "#fff", "00ff7f"},
		"rgbcolor":     {"rgb(1,2,3)", "rgb(255,128,0)"},
		"byte":         {"YWxwaGE=", "d2ludGVy", "bWVhZG93cw==", "AAECAwQFBgcICQ==", "Pj4+Pz8/"},
		"date":         {"2019-09-04", "2024-02-29", "1999-12-31"},
		"datetime":     times(),
		"duration":     {"10s", "1h30m0s", "15m0s", "500ms"},
		"k8sshortname": {"web-server", "my-app", "app"},
		"k8slongname":  {"example.com", "a.b-c.example.org", "app"},
	}
}
