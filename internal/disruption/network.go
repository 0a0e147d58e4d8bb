package disruption

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// network is the network between the API server and the webhook, below TLS.
type network struct {
	proxy *toxiproxy.Proxy
}

// toxic is something wrong with a network, as toxiproxy calls it.
type toxic struct {
	Type       string           `json:"type"`
	Stream     string           `json:"stream"` // upstream is towards the webhook
	Attributes map[string]int64 `json:"attributes"`
}

// both is a toxic for both directions.
func both(sort, attribute string, value int64) []toxic {
	return []toxic{{sort, "upstream", map[string]int64{attribute: value}}, {sort, "downstream", map[string]int64{attribute: value}}}
}

// newNetwork starts a proxy on loopback that leads to an address. It has no API that listens.
func newNetwork(to string) (*network, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics write to the standard error otherwise
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &network{toxiproxy.NewProxy(server, "webhook", "127.0.0.1:0", to)}
	if err := n.proxy.Start(); err != nil {
		return nil, fmt.Errorf("the proxy between API server and webhook: %w", err)
	}
	return n, nil
}

func (n *network) address() string { return n.proxy.Listen }

// spoil adds toxics to all connections.
func (n *network) spoil(toxics ...toxic) error {
	for _, t := range toxics {
		body, err := json.Marshal(t)
		if err != nil {
			return err
		}
		if _, err = n.proxy.Toxics.AddToxicJson(bytes.NewReader(body)); err != nil {
			return fmt.Errorf("toxiproxy: %s: %w", t.Type, err)
		}
	}
	return nil
}

// mend removes all toxics.
func (n *network) mend(ctx context.Context) { n.proxy.Toxics.ResetToxics(ctx) }

func (n *network) close() { n.proxy.Stop() }
