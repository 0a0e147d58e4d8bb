// Package quiet keeps the etcd client of the API server from writing to standard error, where its warnings about requests
// that were cancelled, as at every stop, would look like something to worry about.
//
// The client's logger is made while upstream's packages are initialised, from a configuration that only a package can
// change which is initialised before. This one is: Go initialises packages whose imports are ready in the order of their
// import paths, and this one needs less than the API server does and comes before it in the alphabet.
package quiet

import (
	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap"
)

var _ = discard(&logutil.DefaultZapLoggerConfig)

func discard(config *zap.Config) *zap.Config {
	config.OutputPaths = []string{"/dev/null"}
	config.ErrorOutputPaths = []string{"/dev/null"}
	return config
}
