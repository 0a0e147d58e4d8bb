// Package quiet keeps the etcd client of the API server from writing to standard error, where its warnings about requests
// that were cancelled, as at every stop, would look like something to worry about.
//
// The client's logger is made while upstream's package storagebackend/factory is initialised, from a configuration that only a package
// can change which is initialised before; nothing explicit can do it. This one is: Go initialises packages whose imports are ready in
// the order of their import paths, and this one needs less than the API server does and comes before it in the alphabet. A test of
// package embedded fails if that changes. A package that imports this one and the API server's restores the configuration.
package quiet

import (
	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap"
)

var before = discard(&logutil.DefaultZapLoggerConfig)

func discard(config *zap.Config) zap.Config {
	was := *config
	config.OutputPaths = []string{"/dev/null"}
	config.ErrorOutputPaths = []string{"/dev/null"}
	return was
}

// Restore restores the configuration, for other clients of etcd in this process, and returns it.
func Restore() zap.Config {
	logutil.DefaultZapLoggerConfig = before
	return before
}
