package kind

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"strings"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/crdconform/crdconform/cluster"
)

const (
	// connectTimeout is how long a node has to reach a listener on this machine.
	connectTimeout = 5 * time.Second

	// routeTimeout is how long calls to a new service have to arrive: kube-proxy takes a second or two.
	routeTimeout = 30 * time.Second
)

// way is how a node may reach this machine.
type way struct {
	host   string // the IP address by which the node calls it
	listen string // the address to listen at for that
}

// Listen opens a listener that the API server can reach, at an address that as few others can reach as possible: that of the
// network of the nodes, or loopback where that is forwarded. Whether it is reached is tried from inside the node.
func (c *Cluster) Listen(ctx context.Context) (net.Listener, string, error) {
	var tried []string
	for way := range c.ways(ctx) {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(way.listen, "0"))
		if err != nil {
			tried = append(tried, way.listen+" is not an address of this machine")
			continue
		}
		if err := c.reaches(ctx, listener, way.host); err != nil {
			tried = append(tried, fmt.Sprintf("%s cannot be reached (%v)", way.host, errors.Join(err, listener.Close())))
			continue
		}
		return listener, way.host, nil
	}
	if ctx.Err() != nil {
		return nil, "", fmt.Errorf("kind: %w", context.Cause(ctx))
	}
	if len(tried) == 0 {
		tried = []string{"the node has no route to it"}
	}
	return nil, "", fmt.Errorf("kind: %w: from inside the node %s, %s; open the firewall between the network of the nodes and this machine, or run %s on this machine",
		cluster.ErrNotReached, c.control, strings.Join(tried, ", and "), c.engine.name)
}

// ways returns how the node may reach this machine, the best first. Its gateway is this machine where containers run on it.
// Where they run in a virtual machine, a name stands for this machine's loopback.
func (c *Cluster) ways(ctx context.Context) iter.Seq[way] {
	families := []string{"-4", "-6"}
	if c.configured.Networking.IPFamily == v1alpha4.IPv6Family {
		families = []string{"-6", "-4"}
	}
	return func(yield func(way) bool) {
		for _, family := range families {
			route, err := c.inNode(ctx, "ip", family, "route", "show", "default")
			if gateway := fieldAfter(route, "via"); err == nil && net.ParseIP(gateway) != nil && !yield(way{gateway, gateway}) {
				return
			}
		}
		for _, name := range []string{"host.docker.internal", "host.containers.internal"} {
			found, err := c.inNode(ctx, "getent", "ahosts", name)
			fields := strings.Fields(found)
			if err == nil && len(fields) > 0 && net.ParseIP(fields[0]) != nil && !yield(way{fields[0], "127.0.0.1"}) {
				return
			}
		}
	}
}

// fieldAfter returns the field after a word.
func fieldAfter(text, word string) string {
	fields := strings.Fields(text)
	for i, field := range fields[:max(0, len(fields)-1)] {
		if field == word {
			return fields[i+1]
		}
	}
	return ""
}

// reaches has the node send a word to a listener, so that it is certain who is reached.
func (c *Cluster) reaches(ctx context.Context, listener net.Listener, host string) error {
	tcp, ok := listener.(*net.TCPListener)
	if !ok {
		return fmt.Errorf("%T is not a TCP listener", listener)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	word := rand.Text()
	heard := make(chan error, 1)
	go func() { heard <- hear(tcp, word) }()
	_, sent := c.inNode(ctx, "timeout", fmt.Sprint(connectTimeout.Seconds()), "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%s && echo %s >&3", host, port, word))
	// What was sent is here by now, or will never be.
	limit := time.Second
	if sent != nil {
		limit = 0
	}
	if err = tcp.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	err = <-heard
	if sent != nil {
		return sent
	}
	if err != nil {
		return fmt.Errorf("another server responds there: %w", err)
	}
	return tcp.SetDeadline(time.Time{})
}

// hear accepts connections until one brings a word.
func hear(listener *net.TCPListener, word string) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		err = connection.SetDeadline(time.Now().Add(connectTimeout))
		said := make([]byte, len(word))
		if err == nil {
			_, err = io.ReadFull(connection, said)
		}
		connection.Close()
		if err == nil && string(said) == word {
			return nil
		}
	}
}

// Route makes calls to a service go to an address. See package services.
func (c *Cluster) Route(ctx context.Context, namespace, name string, port int32, address string) error {
	return c.router.Route(ctx, namespace, name, port, address)
}

// connecting is a script that waits until connections to the address of a service are accepted, or until none is any more.
//
// Until the proxy knows of a service, packets to its address leave the node, and some networks have something that accepts
// whatever connection comes by. So they are refused meanwhile. Those to a service that leads somewhere have got another address
// when they come to the filter.
const connecting = `%[1]s -w -A %[2]s && trap '%[1]s -w -D %[2]s' EXIT
%[6]s timeout 1 bash -c '</dev/tcp/%[3]s/%[4]d'; do
  [ $SECONDS -lt %[5]d ] || exit 1
  sleep 0.05
done 2>/dev/null`

// answers waits until a connection from inside the node to the address of a service is accepted.
func (c *Cluster) answers(ctx context.Context, clusterIP string, port int32) error {
	if err := c.connects(ctx, "until", clusterIP, port); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("nothing answers at %s:%d inside the node %s within %s: is kube-proxy running, and can the node reach that address?", clusterIP, port, c.control, routeTimeout)
	}
	return nil
}

// refuses waits until no connection from inside the node to the address of a service is accepted any more.
func (c *Cluster) refuses(ctx context.Context, clusterIP string, port int32) error {
	if err := c.connects(ctx, "while", clusterIP, port); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("something still answers at %s:%d inside the node %s after %s: is kube-proxy running?", clusterIP, port, c.control, routeTimeout)
	}
	return nil
}

// connects waits until, or while, connections are accepted.
func (c *Cluster) connects(ctx context.Context, loop, clusterIP string, port int32) error {
	tables := "iptables"
	if strings.Contains(clusterIP, ":") {
		tables = "ip6tables"
	}
	rule := fmt.Sprintf("OUTPUT -d %s -p tcp --dport %d -j REJECT --reject-with tcp-reset", clusterIP, port)
	_, err := c.inNode(ctx, "bash", "-c", fmt.Sprintf(connecting, tables, rule, clusterIP, port, int(routeTimeout.Seconds()), loop))
	return err
}

// inNode runs a command in the node of the API server and returns what it writes.
func (c *Cluster) inNode(ctx context.Context, command string, arguments ...string) (string, error) {
	var out, problems bytes.Buffer
	err := c.control.CommandContext(ctx, command, arguments...).SetStdout(&out).SetStderr(&problems).Run()
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if said := last(problems.String()); said != "" {
			return "", errors.New(said)
		}
		return "", explain(err)
	}
	return out.String(), nil
}
