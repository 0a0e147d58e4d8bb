package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// stash is the annotation in which the reference webhook keeps a host and a port that hostPort alone would not bring back.
const stash = "crdconform.dev/host-and-port"

// hostAndPort is what the annotation holds.
type hostAndPort struct {
	Host *string `json:"host,omitempty"`
	Port *string `json:"port,omitempty"`
}

func (h hostAndPort) join() string { return orEmpty(h.Host) + ":" + orEmpty(h.Port) }

// plain reports whether hostPort alone brings both back.
func (h hostAndPort) plain() bool {
	return h.Host != nil && h.Port != nil && *h.Port != "" && !strings.Contains(*h.Port, ":")
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Hub marks the version by way of which the others are converted.
func (*V1) Hub() {}

// ConvertTo makes the hub of this object. It fails for a hostPort without a colon.
func (c *V1beta1) ConvertTo(hub conversion.Hub) error {
	to, ok := hub.(*V1)
	if !ok {
		return fmt.Errorf("cannot convert a CronTab to %T", hub)
	}
	var kept string
	to.ObjectMeta = c.ObjectMeta
	to.Annotations, kept = without(c.Annotations, stash)
	if c.HostPort == nil {
		return nil
	}
	var h hostAndPort
	if kept == "" || json.Unmarshal([]byte(kept), &h) != nil || h.join() != *c.HostPort {
		colon := strings.LastIndexByte(*c.HostPort, ':')
		if colon < 0 {
			return errors.New("hostPort could not be parsed into a separate host and port")
		}
		h = hostAndPort{Host: new((*c.HostPort)[:colon]), Port: new((*c.HostPort)[colon+1:])}
	}
	to.Host, to.Port = h.Host, h.Port
	return nil
}

// ConvertFrom makes this object of the hub.
func (c *V1beta1) ConvertFrom(hub conversion.Hub) error {
	from, ok := hub.(*V1)
	if !ok {
		return fmt.Errorf("cannot convert %T to a CronTab", hub)
	}
	c.ObjectMeta = from.ObjectMeta
	if from.Host == nil && from.Port == nil {
		return nil
	}
	h := hostAndPort{Host: from.Host, Port: from.Port}
	c.HostPort = new(h.join())
	if h.plain() {
		return nil
	}
	kept, err := json.Marshal(h)
	if err != nil {
		return err
	}
	c.Annotations = with(from.Annotations, stash, string(kept))
	return nil
}
