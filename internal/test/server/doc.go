// Package server has tests only: those of the packages that need an API server, except the chapters of the suites. One program has them
// all, as an API server and etcd take seconds to link. A test is named after the package that it is about, as is its file.
package server
