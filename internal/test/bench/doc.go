// Package bench measures what the project claims about load, and prints it as one table. It has benchmarks only, which want
// an idle machine with Linux and take many minutes: make bench runs them.
package bench
