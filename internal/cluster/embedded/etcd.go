package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/crdconform/crdconform/internal/cluster/embedded/quiet"
	"github.com/crdconform/crdconform/internal/files"
)

type etcd struct {
	server   *embed.Etcd
	client   *clientv3.Client // in the process, without a connection
	endpoint string
}

// The API server's own client of etcd has its logger by now.
var _ = quiet.Restore()

const (
	clientSocket = "client.sock"
	peerSocket   = "peer.sock" // never made

	// socketPath is how long the path of a Unix socket may be on any system: BSD has 104 bytes for it with the zero at its
	// end, Linux 108.
	socketPath = 103
)

// SocketDir makes a private directory for sockets: in dir or, if their paths would be too long there, in short.
func SocketDir(dir, short string) (string, error) {
	inside := filepath.Join(dir, "sockets")
	if len(filepath.Join(inside, clientSocket)) <= socketPath {
		return inside, os.MkdirAll(inside, 0o700)
	}
	outside, err := files.TemporaryDir(short, "")
	if err != nil {
		return "", fmt.Errorf("the path %s is too long for sockets, and no shorter one is available: %w; set TMPDIR to a shorter path", dir, err)
	}
	return outside, nil
}

// startEtcd runs a member of its own on a Unix socket in a private directory, so that no other user can reach it and no port is used.
func startEtcd(ctx context.Context, dir, sockets string) (*etcd, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	clients := url.URL{Scheme: "unix", Path: filepath.Join(sockets, clientSocket)}
	peers := url.URL{Scheme: "unix", Path: filepath.Join(sockets, peerSocket)}
	config := embed.NewConfig()
	config.Dir = filepath.Join(dir, "data")
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	// It has no peers, so it listens for none. Etcd would do so at an abstract socket, which all users of the machine can reach: it
	// takes the host of a URL for the path. The URL is a name only.
	config.ListenPeerUrls, config.AdvertisePeerUrls = nil, []url.URL{peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(nil, zap.WithFatalHook(last{dir})))
	// The data need not survive the machine, and a member of its own can elect itself at once.
	config.UnsafeNoFsync = true
	config.TickMs, config.ElectionMs = 10, 50

	server, err := startMember(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	e := &etcd{server: server, endpoint: clients.String()}
	select {
	case <-server.Server.ReadyNotify():
		e.client = v3client.New(server.Server)
		return e, nil
	case err = <-server.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(fmt.Errorf("etcd: %w", err), e.stop())
}

// startMember starts a member. Etcd panics where it cannot make its files.
func startMember(config *embed.Config) (member *embed.Etcd, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("it could not start: %v", why)
		}
	}()
	return embed.StartEtcd(config)
}

// last is what etcd does last when it cannot go on, as with a full disk: it ends the process. Its files go before that, and one sentence
// says why, since nobody else can.
type last struct{ dir string }

// OnWrite ends the process.
func (l last) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	why := []string{entry.Message}
	for _, f := range fields {
		if err, is := f.Interface.(error); is {
			why = append(why, err.Error())
		}
	}
	_ = os.RemoveAll(l.dir) // nothing more can be done about what remains
	fmt.Fprintf(os.Stderr, "crdconform: the embedded etcd cannot continue: %s; there is no report\n", strings.Join(why, ": "))
	os.Exit(couldNotJudge) //nolint:forbidigo // or zap would, with the code of those who do not conform
}

// couldNotJudge is the exit code of commands that could not judge.
const couldNotJudge = 3

// stop ends the member once what its clients asked is over: whatever still read from it when its file is closed would end the process.
func (e *etcd) stop() error {
	var err error
	if e.client != nil {
		err = e.client.Close()
	}
	e.server.Close()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// client returns the client of etcd while the API server is up.
func (c *Cluster) client() (*clientv3.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.etcd == nil {
		return nil, errors.New("storage: the API server is down")
	}
	return c.etcd.client, nil
}
