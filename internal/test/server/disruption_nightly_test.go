//go:build nightly

package server_test

import (
	"testing"

	"github.com/crdconform/crdconform/requirement"
)

// TestDisruptionReferenceOtherwise disrupts the reference webhook in the ways that TestDisruptionReference leaves out.
func TestDisruptionReferenceOtherwise(t *testing.T) {
	t.Parallel()
	disruptReference(t,
		requirement.DisruptionRestartKilled, requirement.DisruptionPauseOneSecond, requirement.DisruptionReplicasSingleRollout,
		requirement.DisruptionNetworkLatency, requirement.DisruptionNetworkHalfOpen, requirement.DisruptionCertificateAuthorityBefore,
		requirement.DisruptionCertificateExpired, requirement.DisruptionDefinitionStorage, requirement.DisruptionServerRestarted)
}

// TestDisruptionFrailOtherwiseCaught has the bugs found that TestDisruptionFrailCaught leaves out.
func TestDisruptionFrailOtherwiseCaught(t *testing.T) {
	t.Parallel()
	catchFrail(t, []frailty{
		{"caches-authority", requirement.DisruptionCertificateAuthorityBefore, "still serves the former certificate"},
		{"numbers-in-memory", requirement.DisruptionRestartKilled, "differed from that of the undisturbed webhook"},
		{"holds-connections", requirement.DisruptionRestartGraceful, "it kept an idle connection after SIGTERM"},
		{"ends-after-pause", requirement.DisruptionPauseOneSecond, "it exited"},
		{"reads-definition", requirement.DisruptionDefinitionChanged, "the webhook answered"},
		{"notifies-peers", requirement.DisruptionReplicasOneKilled, "the webhook answered"},
		{"asks-leader", requirement.DisruptionReplicasOneKilled, "the webhook answered"},
		{"greets-in-turn", requirement.DisruptionNetworkHalfOpen, "a new connection got no handshake"},
	})
}
