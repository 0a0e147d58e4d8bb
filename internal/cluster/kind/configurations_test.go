package kind_test

import (
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	kindcluster "sigs.k8s.io/kind/pkg/cluster"

	"github.com/crdconform/crdconform/kindconfig"
	"github.com/crdconform/crdconform/requirement"
)

func allConfigurations(t *testing.T) []kindconfig.Config {
	t.Helper()
	configs, err := kindconfig.All()
	if err != nil {
		t.Fatal(err)
	}
	return configs
}

func TestEveryConfigurationIsOneOfKind(t *testing.T) {
	digest := regexp.MustCompile(`^kindest/node:v(1\.\d+)\.\d+@sha256:[0-9a-f]{64}$`)
	seen := map[string]bool{}
	for _, config := range allConfigurations(t) {
		found := digest.FindStringSubmatch(config.Image)
		if found == nil || found[1] != config.Minor {
			t.Errorf("%s: the image is %s", config.Minor, config.Image)
		}
		if seen[config.Image] {
			t.Errorf("%s: another minor has its image", config.Minor)
		}
		seen[config.Image] = true
		if config.Cluster.Kind != "Cluster" || config.Cluster.APIVersion != "kind.x-k8s.io/v1alpha4" {
			t.Errorf("%s: it is a %s of %s", config.Minor, config.Cluster.Kind, config.Cluster.APIVersion)
		}
		// kind's own reader takes it: the name is refused after it was read, so that nothing is made.
		err := kindcluster.NewProvider().Create("no cluster is called this", kindcluster.CreateWithRawConfig(config.YAML))
		if err == nil || strings.Contains(err.Error(), "decode") {
			t.Errorf("%s: kind says %v", config.Minor, err)
		}
	}
	for minor := range seen {
		_, minor, _ = strings.Cut(minor, ":v")
		minor = strings.Join(strings.Split(minor, ".")[:2], ".")
		if config, err := kindconfig.For(minor); err != nil || config.Minor != minor {
			t.Errorf("%s: %v, %v", minor, config.Minor, err)
		}
	}
}

func TestNewestIsTheDefaultOfKind(t *testing.T) {
	configs := allConfigurations(t)
	if newest := configs[len(configs)-1]; newest.Image != defaults.Image {
		t.Errorf("the image for %s is %s, and kind's own is %s", newest.Minor, newest.Image, defaults.Image)
	}
}

func TestOrder(t *testing.T) {
	var before requirement.Minor
	for i, config := range allConfigurations(t) {
		minor, err := requirement.ParseMinor(config.Minor)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && !before.Less(minor) {
			t.Errorf("%s comes after %s", minor, before)
		}
		before = minor
	}
}

// TestMinorsOfRequirements keeps a configuration for each minor from 1.21 on at which a requirement begins or ends to hold.
func TestMinorsOfRequirements(t *testing.T) {
	oldest, err := requirement.ParseMinor("1.21")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requirement.All() {
		for _, minor := range []requirement.Minor{r.Since, r.Until} {
			if minor == (requirement.Minor{}) || minor.Less(oldest) {
				continue
			}
			if _, err := kindconfig.For(minor.String()); err != nil {
				t.Errorf("%s: %v", r.ID, err)
			}
		}
	}
}

func TestForUnknownMinors(t *testing.T) {
	for minor, want := range map[string]string{
		"1.5":    "no kind configuration for Kubernetes 1.5 (want 1.21, 1.22,",
		"1.036":  `"1.036" is not a Kubernetes minor (want, for example, 1.36)`,
		"v1.36":  "want, for example, 1.36",
		"1.36.4": "want, for example, 1.36",
		"":       "want, for example, 1.36",
	} {
		if _, err := kindconfig.For(minor); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", minor, err)
		}
	}
}

// TestCallersOwnWhatTheyGet proves that changing a configuration changes no other.
func TestCallersOwnWhatTheyGet(t *testing.T) {
	first, err := kindconfig.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	first.Cluster.Nodes[0].Image = "changed"
	first.Cluster.FeatureGates["Changed"] = true
	first.YAML[0] = '!'
	second, err := kindconfig.For("1.36")
	if err != nil {
		t.Fatal(err)
	}
	if second.Cluster.Nodes[0].Image == "changed" || second.Cluster.FeatureGates["Changed"] || second.YAML[0] == '!' {
		t.Error("what one caller changed, another got")
	}
}
