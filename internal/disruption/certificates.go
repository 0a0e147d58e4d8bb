package disruption

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/crdconform/crdconform/internal/cluster/pki"
	"github.com/crdconform/crdconform/internal/files"
	"github.com/crdconform/crdconform/internal/pause"
	"github.com/crdconform/crdconform/internal/subject"
)

// dataLink is the link by which a kubelet replaces all files of a volume at once.
const dataLink = "..data"

// certificates are the folder with the certificate of a program, which is replaced as a kubelet does.
type certificates struct {
	folder    string
	names     []string // that a leaf is valid for
	authority *pki.Authority
	leaf      *x509.Certificate // that the folder has
	written   int
}

// issue makes a folder with a certificate of a new authority.
func issue(c subject.Command) (_ *certificates, err error) {
	s := &certificates{names: c.Hosts()}
	if s.authority, err = pki.NewAuthority("crdconform disruption"); err != nil {
		return nil, err
	}
	if s.folder, err = files.TemporaryDir("", "certs-"); err != nil {
		return nil, err
	}
	if err = s.rotate(0); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	for _, name := range []string{"tls.crt", "tls.key", "ca.crt"} {
		if err = os.Symlink(filepath.Join(dataLink, name), filepath.Join(s.folder, name)); err != nil {
			return nil, errors.Join(err, s.remove())
		}
	}
	return s, nil
}

// rotate replaces the leaf by a new one that is valid for so long; as long as the authority if 0.
func (s *certificates) rotate(validity time.Duration) error {
	pair, err := s.authority.ServerFor(cmp.Or(validity, pki.Lifetime), s.names...)
	if err != nil {
		return err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return err
	}
	if s.leaf, err = x509.ParseCertificate(certificate.Certificate[0]); err != nil {
		return err
	}
	return s.write(map[string][]byte{"tls.crt": pair.Certificate, "tls.key": pair.Key, "ca.crt": s.authority.PEM()})
}

// use replaces the leaf by one of another authority.
func (s *certificates) use(authority *pki.Authority) error {
	s.authority = authority
	return s.rotate(0)
}

// write puts files into a new folder, and has the link name that one from then on.
func (s *certificates) write(files map[string][]byte) error {
	s.written++
	name := "..data-" + strconv.Itoa(s.written)
	if err := os.Mkdir(filepath.Join(s.folder, name), 0o700); err != nil {
		return err
	}
	for file, data := range files {
		if err := os.WriteFile(filepath.Join(s.folder, name, file), data, 0o600); err != nil {
			return err
		}
	}
	link := filepath.Join(s.folder, dataLink)
	before, err := os.Readlink(link)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err = os.Symlink(name, link+"-new"); err != nil {
		return err
	}
	if err = os.Rename(link+"-new", link); err != nil || before == "" {
		return err
	}
	return os.RemoveAll(filepath.Join(s.folder, before))
}

func (s *certificates) remove() error { return os.RemoveAll(s.folder) }

// errNotPickedUp says that a program still serves its former certificate.
var errNotPickedUp = errors.New("the program still serves the former certificate")

// pickedUp waits until what listens at an address serves a leaf.
func pickedUp(ctx context.Context, wanted *x509.Certificate, address string, limit time.Duration) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var last error // of the last look that was not cut short
	for {
		leaf, err := served(within, address)
		if err == nil && leaf.Equal(wanted) {
			return nil
		}
		if within.Err() == nil {
			last = err
		}
		if within.Err() == nil {
			_ = pause.For(within, lookPause) // the next look says why it ended
			continue
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case last != nil:
			return fmt.Errorf("%w %s after the rotation; it does not complete a handshake: %w", errNotPickedUp, limit, last)
		}
		return fmt.Errorf("%w %s after the rotation", errNotPickedUp, limit)
	}
}

// lookPause is how long it takes from one look at a program to the next.
const lookPause = 50 * time.Millisecond

// served returns the certificate that what listens at an address shows.
func served(ctx context.Context, address string) (*x509.Certificate, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	secured := tls.Client(connection, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}) // it is compared, not trusted
	if err = secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	defer secured.Close() //nolint:errcheck // it says goodbye, which nobody has to hear
	return secured.ConnectionState().PeerCertificates[0], nil
}
