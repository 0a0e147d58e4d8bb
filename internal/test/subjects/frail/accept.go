package main

import (
	"crypto/tls"
	"net"
	"net/http"

	"golang.org/x/net/netutil"
)

// accept serves the connections of a listener, with a bug.
func (f *frail) accept(server *http.Server, listener net.Listener) error {
	switch f.bug {
	case hurriesHellos:
		server.ReadHeaderTimeout = f.times.hello
	case hurriesBodies:
		server.ReadTimeout, server.WriteTimeout = f.times.body, f.times.body
	case idlesBriefly:
		server.Protocols, server.IdleTimeout = onlyHTTP1(), f.times.idle
	case fewConnections:
		const most = 16
		server.Protocols = onlyHTTP1()
		listener = netutil.LimitListener(listener, most)
	case greetsInTurn:
		return server.Serve(greeting{tls.NewListener(listener, server.TLSConfig)})
	}
	return server.ServeTLS(listener, "", "")
}

func onlyHTTP1() *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(true)
	return &p
}

// greeting has each connection shake hands before the next one is accepted.
type greeting struct{ net.Listener }

func (g greeting) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if secure, is := c.(*tls.Conn); is && secure.Handshake() == nil { //nolint:noctx // that nothing ends it is the bug
			return c, nil
		}
		_ = c.Close() // the client sees it
	}
}
