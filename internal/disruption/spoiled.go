package disruption

import (
	"context"
	"net"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/requirement"
)

const (
	// slowNetwork is less than API servers wait for a webhook by far, and stalledNetwork is more.
	slowNetwork    = 500 * time.Millisecond
	stalledNetwork = 31 * time.Second

	// shortFault is how long faults last that show at once.
	shortFault = 2 * time.Second

	// resetEvery is how often connections are reset.
	resetEvery = 30 * time.Millisecond

	// narrow is how many KB a second pass through a narrow network, each way.
	narrow = 16
)

// networkScenarios are about the network between API server and webhook.
func networkScenarios() []Scenario {
	return []Scenario{
		spoiled(requirement.DisruptionNetworkLatency, "each way between API server and webhook takes 250 ms", shortFault, both("latency", "latency", (slowNetwork/2).Milliseconds())...).harmlessly(),
		spoiled(requirement.DisruptionNetworkTimeout, "an answer takes 31 s, and API servers wait for 30 s", stalledNetwork,
			toxic{"latency", "downstream", map[string]int64{"latency": stalledNetwork.Milliseconds()}}),
		spoiled(requirement.DisruptionNetworkBlackHole, "nothing passes between API server and webhook any more", 5*time.Second, both("timeout", "timeout", 0)...),
		{
			ID: requirement.DisruptionNetworkReset, Title: "open connections are reset every 30 ms", path: balanced, programs: proxies,
			do: func(ctx context.Context, st *stage) error {
				st.begin("connections are reset")
				for end := time.Now().Add(shortFault); time.Now().Before(end); {
					st.balancer.cut() // in the middle of requests too, which a proxy that waits for data can't do
					if err := pause.For(ctx, resetEvery); err != nil {
						return err
					}
				}
				return nil
			},
		},
		spoiled(requirement.DisruptionNetworkSlowClose, "connections are closed, and it takes 1 s until the other side hears of it", shortFault, both("slow_close", "delay", 1000)...).harmlessly(),
		spoiled(requirement.DisruptionNetworkBandwidth, "16 KB a second pass through a connection", shortFault, both("bandwidth", "rate", narrow)...).harmlessly(),
		{
			ID: requirement.DisruptionNetworkHalfOpen, Title: "nothing passes any more through the connections that are open, and new ones work", Hold: 5 * time.Second, path: balanced, programs: proxies,
			do: func(ctx context.Context, st *stage) error {
				st.begin("open connections go nowhere")
				st.balancer.freeze()
				return st.connectAnew(ctx)
			},
			undo: func(_ context.Context, st *stage) error {
				st.balancer.cut()
				return nil
			},
		},
	}
}

const (
	// newConnections are how many are tried while others go nowhere, one after the other.
	newConnections = 3

	// newPatience is how long a handshake may take. API servers give up after ten seconds.
	newPatience = 5 * time.Second
)

// connectAnew wants new connections to be answered while others go nowhere, among them one on which nothing was ever said.
func (st *stage) connectAnew(ctx context.Context) error {
	silent, err := new(net.Dialer).DialContext(ctx, "tcp", st.balancer.address())
	if err != nil {
		return err
	}
	defer silent.Close()
	for range newConnections {
		within, cancel := context.WithTimeout(ctx, newPatience)
		_, err := served(within, st.balancer.address())
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			st.violates("a new connection got no handshake within %s while others went nowhere: %v", newPatience, err)
			return nil
		}
	}
	return nil
}

// spoiled has something wrong with the network for a while.
func spoiled(id requirement.ID, title string, hold time.Duration, toxics ...toxic) Scenario {
	return Scenario{
		ID: id, Title: title, Hold: hold, path: networked, programs: proxies,
		do: func(_ context.Context, st *stage) error {
			st.begin("%s", title)
			return st.network.spoil(toxics...)
		},
		undo: func(ctx context.Context, st *stage) error {
			st.network.mend(ctx)
			return nil
		},
	}
}

const (
	// shortLived is how long a certificate is valid that is to expire.
	shortLived = 3 * time.Second

	// lateFor is how long definitions lack the authority of the new certificate.
	lateFor = 1500 * time.Millisecond

	// beforehand is for definitions that trust a new authority before it is used.
	beforehand = -1
)

// certificateScenarios are about the files that the program was given.
func certificateScenarios() []Scenario {
	return []Scenario{
		{
			ID: requirement.DisruptionCertificateLeaf, Title: "the certificate on disk is replaced by another one of the same authority", path: balanced, issued: true, harmless: true,
			pods: "the certificate in the Secret is replaced by another one of the same authority",
			do: func(ctx context.Context, st *stage) error {
				st.begin("the certificate is replaced")
				if err := st.hook.replaceLeaf(ctx); err != nil {
					return err
				}
				return st.pickUp(ctx)
			},
		},
		{
			ID: requirement.DisruptionCertificateAuthorityBefore, Title: "the definition trusts a new authority as well, and then the certificate is replaced", path: balanced, programs: renewals, affects: true, harmless: true,
			do: func(ctx context.Context, st *stage) error { return st.replaceAuthority(ctx, beforehand) },
		},
		{
			ID: requirement.DisruptionCertificateAuthorityAfter, Title: "the certificate is replaced by one of a new authority, and the definition trusts that as soon as it is served", path: balanced, programs: renewals, affects: true,
			do: func(ctx context.Context, st *stage) error { return st.replaceAuthority(ctx, 0) },
		},
		{
			ID: requirement.DisruptionCertificateAuthorityLate, Title: "the certificate is replaced by one of a new authority, which the definition trusts 1.5 s later", path: balanced, programs: renewals, affects: true,
			do: func(ctx context.Context, st *stage) error { return st.replaceAuthority(ctx, lateFor) },
		},
		{
			ID: requirement.DisruptionCertificateExpired, Title: "the certificate expires, and is replaced 1 s later", path: balanced, programs: renewals, do: expire, undo: renew,
		},
		{
			ID: requirement.DisruptionCertificateRenewed, Title: "the certificate is replaced before it expires", path: balanced, programs: renewals, harmless: true,
			do: func(ctx context.Context, st *stage) error {
				st.begin("the certificate is replaced by one that is valid for %s", shortLived)
				if err := st.certs().rotate(shortLived); err != nil {
					return err
				}
				expires := st.certs().leaf.NotAfter
				if err := st.pickUp(ctx); err != nil {
					return err
				}
				if err := st.certs().rotate(0); err != nil {
					return err
				}
				if err := st.pickUp(ctx); err != nil {
					return err
				}
				return pause.For(ctx, time.Until(expires))
			},
			undo: renew,
		},
	}
}

// replaceAuthority replaces the authority, which the definition trusts before that, or some time after it. A definition that changes has
// the API server connect anew. Where it does not change before, connections are reset for that.
func (st *stage) replaceAuthority(ctx context.Context, late time.Duration) error {
	old := st.certs().authority.PEM()
	next, err := pki.NewAuthority("crdconform disruption, rotated")
	if err != nil {
		return err
	}
	st.begin("the authority is replaced")
	if late == beforehand {
		if err = st.convertBy(ctx, append(append([]byte(nil), old...), next.PEM()...)); err != nil {
			return err
		}
		if err = st.settled(ctx); err != nil {
			return err
		}
	}
	if err = st.certs().use(next); err != nil {
		return err
	}
	if err = st.pickUp(ctx); err != nil {
		return err
	}
	if late >= 0 {
		st.balancer.cut()
	}
	if err = pause.For(ctx, late); err != nil {
		return err
	}
	return st.convertBy(ctx, next.PEM())
}

// expire has the certificate expire.
func expire(ctx context.Context, st *stage) error {
	if err := st.certs().rotate(shortLived); err != nil {
		return err
	}
	expires := st.certs().leaf.NotAfter
	if err := st.pickUp(ctx); err != nil {
		return err
	}
	if err := pause.For(ctx, time.Until(expires)); err != nil {
		return err
	}
	st.begin("the certificate has expired")
	st.balancer.cut()
	return pause.For(ctx, time.Second)
}

// renew writes a certificate that is valid.
func renew(ctx context.Context, st *stage) error {
	if time.Until(st.certs().leaf.NotAfter) > time.Hour {
		return nil
	}
	if err := st.certs().rotate(0); err != nil {
		return err
	}
	return st.pickUp(ctx)
}
