package config_test

import (
	"testing"

	"github.com/crdconform/crdconform/config"
)

func TestShares(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Share{"95%": 0.95, "0%": 0, "100 %": 1, "99.5%": 0.995} {
		var got config.Share
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "%", "95", "-1%", "101%", "NaN%", "all"} {
		var got config.Share
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	if text, err := config.Share(0.95).MarshalText(); err != nil || string(text) != "95%" {
		t.Errorf("got %q, %v", text, err)
	}
}
