// Package neighbours looks for what other users of the machine could connect to. It is for tests, on Linux.
package neighbours
