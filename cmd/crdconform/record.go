package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/internal/load/recording"
	"github.com/crdconform/crdconform/internal/options"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/internal/wire"
)

// leastSize is the least bound on a recording, in bytes: some exchanges have to fit.
const leastSize = 4 << 10

// recorder is the command record.
type recorder struct {
	streams
	url               string
	flags             optionFlags
	listen            string
	names             []string
	caOut             string
	certFile, keyFile string
	file              string
	redact            []string

	certificate tls.Certificate
	authority   []byte // of the certificate, in PEM; nil when it is one of the user's
}

func newRecord(s streams) *cobra.Command {
	r := &recorder{streams: s}
	cmd := &cobra.Command{
		Use:   "record URL",
		Short: "Record the exchanges between API servers and a webhook",
		Long: `record serves a TLS proxy until it is interrupted. It forwards requests to the webhook at URL and returns the responses
unchanged, and writes conversions to a file: one exchange per line, as JSON, with times. The file is for "crdconform diff" and
for load tests that repeat the recording.

To use the proxy, point spec.conversion.webhook.clientConfig of the CustomResourceDefinition to the URL that it prints, and set
caBundle as printed. Its certificate is created for localhost, the host of --listen and every --name, and is valid for 90 days.
With record.tlsCert and record.tlsKey (--set), it uses your certificate, for API servers that trust another authority.

Values at the paths of --redact are never written to disk, whether in requests, in responses or in annotations that contain
copies of objects: letters become x or X and digits 1, in strings and numbers, and true becomes false. Length and form are kept
and remain visible, so that webhooks convert as before: localhost:8080 becomes xxxxxxxxx:1111. Times, durations, quantities,
addresses, UUIDs and URLs stay valid. A value that must be one of a few words becomes invalid, so do not redact such values.
Strings of 6 bytes or more are replaced everywhere in the same exchange, such as in a message or a URL; in responses, parts of
them are replaced too. Shorter strings are replaced only at their paths. Of the HTTP headers, only the content type is recorded.

When a limit is reached, or the disk is full, the recording ends and the proxy continues. The last lines say how many exchanges
are missing for that reason.

Exit codes:
  0    interrupted, and the recording is complete up to the limits
  2    usage: bad flags or files
  3    could not start, or could not write everything`,
		Example: `  crdconform record https://localhost:9443/convert --ca-file ca.crt --file widgets.jsonl.gz
  crdconform record https://localhost:9443/convert --ca-file ca.crt --file widgets.jsonl --redact spec.password --redact 'spec.users[*].token'
  crdconform record https://10.0.0.7:443/convert --ca-file ca.crt --set webhook.serverName=widgets.system.svc --listen 0.0.0.0:9444 --name 10.0.0.5 --file widgets.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("record requires the URL of a webhook, such as https://localhost:9443/convert, but got %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.url, r.redact = args[0], r.flags.given.Redact
			return r.run(cmd.Context())
		},
	}
	r.bindFlags(cmd)
	return cmd
}

func (r *recorder) bindFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&r.listen, "listen", "localhost:9444", "host and port to listen on; port 0 for a free one")
	flags.StringSliceVar(&r.names, "name", nil, "another name or address for the certificate, such as the one at which API servers reach this machine; can be repeated")
	flags.StringVar(&r.caOut, "ca-out", "", "file to write the certificate of the authority to, in PEM")
	flags.StringVar(&r.file, "file", "", "file to record to; must not exist yet; compressed if its name ends in .gz")
	r.flags.bind(flags, "record")
}

func (r *recorder) run(ctx context.Context) error {
	options, err := r.options(ctx)
	if err != nil {
		return err
	}
	client, err := r.connect()
	if err != nil {
		return err
	}
	defer client.Close()
	target, err := url.Parse(client.URL())
	if err != nil {
		return err
	}
	if err = r.certify(); err != nil {
		return err
	}
	if err = client.Reach(ctx); err != nil {
		return unjudged(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", r.listen)
	if err != nil {
		return unjudged(fmt.Errorf("%w; give another host and port with --listen", err))
	}
	defer listener.Close() //nolint:errcheck // the server closes it before, unless there is none
	file, err := r.create()
	if err != nil {
		return err
	}
	options.Stopped = func(err error) {
		fmt.Fprintf(r.err, "crdconform: --file %s: %v; the recording ends here, and the proxy continues\n", r.file, err)
	}
	written, err := recording.NewRecorder(file, options)
	if err != nil {
		return unjudged(errors.Join(fmt.Errorf("--file %s: %w", r.file, err), file.Close()))
	}
	r.announce(listener, target.EscapedPath())
	traffic, err := recording.NewProxy(target, client.Transport(), written, options.Started).Serve(ctx, listener, r.certificate)
	summary := written.Close() // again, perhaps
	summary.Err = cmp.Or(summary.Err, file.Close())
	if err != nil {
		return unjudged(fmt.Errorf("the proxy ended: %w", err))
	}
	return r.conclude(traffic, summary)
}

// connect prepares a client of the webhook. All of its errors are about usage.
func (r *recorder) connect() (*wire.Client, error) {
	if err := r.flags.apply(&r.flags.given); err != nil {
		return nil, err
	}
	w := r.flags.given.Webhook
	ca, err := authority("--ca-file", w.CAFile)
	if err != nil {
		return nil, err
	}
	return wire.Connect(wire.Endpoint{
		URL: r.url, CA: ca, ServerName: w.ServerName, HTTP2: w.HTTP2, Timeout: w.Timeout.Duration, CAOption: "--ca-file", ServerNameOption: serverNameKey,
	})
}

// options are those of the recording, as the flags say. All errors are about usage.
func (r *recorder) options(ctx context.Context) (recording.Options, error) {
	c := config.Default()
	if err := r.flags.over(&c); err != nil {
		return recording.Options{}, err
	}
	if err := c.Validate(); err != nil {
		return recording.Options{}, err
	}
	limits := c.Record
	o := recording.Options{Tool: toolVersion(), Started: time.Now(), MaxExchanges: limits.MaxExchanges, Compress: strings.HasSuffix(r.file, ".gz")}
	size, err := resource.ParseQuantity(options.Or(limits.MaxSize, "record.maxSize"))
	r.certFile, r.keyFile = limits.TLSCert, limits.TLSKey
	switch {
	case r.file == "":
		return o, errors.New("--file: no file to record to; give its name")
	case err != nil || size.Value() < leastSize:
		return o, fmt.Errorf("--set record.maxSize: %s is not a size of at least %d bytes; write it as 64Mi or 1Gi", limits.MaxSize, leastSize)
	case r.certFile != "" && (r.caOut != "" || len(r.names) > 0):
		return o, errors.New("--ca-out and --name cannot be combined with record.tlsCert and record.tlsKey")
	}
	if err = listenAddress(ctx, r.listen); err != nil {
		return o, err
	}
	o.MaxBytes = size.Value()
	if o.Redaction, err = recording.ParseRedaction(r.redact); err != nil {
		return o, fmt.Errorf("--redact: %w", err)
	}
	return o, nil
}

// certify reads the certificate to serve with, or makes one.
func (r *recorder) certify() error {
	if r.certFile != "" {
		var err error
		if r.certificate, err = files.KeyPair(r.certFile, r.keyFile); err != nil {
			return fmt.Errorf("--set record.tlsCert: %w", err)
		}
		return nil
	}
	authority, err := pki.NewLastingAuthority("crdconform record", webhook.Lifetime)
	if err != nil {
		return unjudged(err)
	}
	pair, err := authority.Server(append([]string{r.host(), "localhost", "127.0.0.1", "::1"}, r.names...)...)
	if err != nil {
		return unjudged(err)
	}
	if r.certificate, err = pair.TLS(); err != nil {
		return unjudged(err)
	}
	r.authority = authority.PEM()
	if r.caOut == "" {
		return nil
	}
	if err := os.WriteFile(r.caOut, r.authority, 0o644); err != nil {
		return fmt.Errorf("--ca-out: %w", err)
	}
	return nil
}

// host is the one by which the proxy is reached.
func (r *recorder) host() string {
	host, _, err := net.SplitHostPort(r.listen)
	ip := net.ParseIP(host)
	switch anywhere := err != nil || host == "" || ip != nil && ip.IsUnspecified(); {
	case anywhere && len(r.names) > 0:
		return r.names[0]
	case anywhere:
		return "127.0.0.1"
	}
	return host
}

// create creates the file. One that is there may be a recording that somebody needs; what is no file, such as a pipe, is
// written to.
func (r *recorder) create() (*os.File, error) {
	flags := os.O_WRONLY
	if info, err := os.Stat(r.file); err != nil || info.Mode().IsRegular() {
		flags |= os.O_CREATE | os.O_EXCL
	}
	// Objects may be confidential whatever is redacted.
	file, err := os.OpenFile(r.file, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("--file %s: the file already exists; give another name, or remove it", r.file)
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--file: %w", err)
	}
	if err != nil {
		return nil, unjudged(fmt.Errorf("--file: %w", err))
	}
	return file, nil
}

// announce says how to put the proxy in between.
func (r *recorder) announce(listener net.Listener, path string) {
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		port = "0" // listeners have ports
	}
	proxied := url.URL{Scheme: "https", Host: net.JoinHostPort(r.host(), port)}
	fmt.Fprintf(r.out, "Serving %s%s\n", proxied.String(), path)
	fmt.Fprintf(r.out, "Forwarding to %s, recording to %s\n", r.url, r.file)
	switch {
	case r.authority == nil:
		fmt.Fprintf(r.out, "The certificate is that of %s; caBundle must contain its authority\n", r.certFile)
	case r.caOut != "":
		fmt.Fprintf(r.out, "The certificate's authority is in %s\n", r.caOut)
	}
	if r.authority != nil {
		fmt.Fprintf(r.out, "caBundle: %s\n", base64.StdEncoding.EncodeToString(r.authority))
	}
}

// conclude says what was recorded and what was not.
func (r *recorder) conclude(traffic recording.Traffic, s recording.Summary) error {
	fmt.Fprintf(r.out, "Recorded %s, %d bytes, in %s\n", visible.Count(s.Exchanges, "exchange", ""), s.Bytes, r.file)
	noted := func(n int, of string) {
		if n > 0 {
			fmt.Fprintf(r.out, of+"\n", visible.Count(n, "request", ""))
		}
	}
	noted(int(traffic.Failed), "Without a complete response: %s")
	noted(int(traffic.Other), "Not recorded: %s for something other than a conversion")
	noted(s.Unread, "Not recorded: %s that could not be decoded")
	if s.Full {
		noted(s.Dropped, "Not recorded: %s after a limit was reached; raise record.maxSize or record.maxExchanges")
	}
	if s.Exchanges > 0 {
		for _, path := range s.Unmatched {
			fmt.Fprintf(r.err, "crdconform: --redact %s: no exchange has a value there; check the path, and the contents of %s\n", path, r.file)
		}
	}
	switch {
	case s.Err != nil:
		return unjudged(fmt.Errorf("--file: %w; %s not recorded; %s can be read up to its last complete line", s.Err, visible.Count(s.Dropped, "request", ""), r.file))
	case s.Unread > 0:
		return unjudged(fmt.Errorf("--file %s: %s not recorded", r.file, visible.Count(s.Unread, "request", "")))
	case traffic.UnderWay > 0:
		return unjudged(fmt.Errorf("--file %s: %s not recorded, because no answer came within %s of the interruption", r.file, visible.Count(traffic.UnderWay, "request", ""), recording.Grace))
	}
	return nil
}
