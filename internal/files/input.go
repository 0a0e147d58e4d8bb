// Package files reads what users name, files of a size that can be worked with; keeps in a file how far something is, so that another run
// can go on; and makes folders for temporary files that differ from those of other runs and can be found when the process that made them was
// killed.
package files

import (
	"crypto/tls"
	"fmt"
	"io"
	"os"
	"syscall"
)

// How large files may be, in bytes. What is much larger was named by mistake, and would take all memory.
const (
	Objects      = 32 << 20 // definitions and custom resources; an object is at most 1.5 MiB in etcd
	Certificates = 1 << 20
	Lists        = 1 << 20 // of requirements, a line each
	Reports      = 256 << 20
)

// Read reads a file of at most so many bytes.
func Read(name string, most int64) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read from
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() > most {
		return nil, tooLarge(name, most)
	}
	return ReadAll(file, name, most)
}

// Open opens a file to read it. Of a pipe to which nothing writes, where that would wait for ever, reading fails.
func Open(name string) (io.ReadCloser, error) {
	info, err := os.Stat(name)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return os.Open(name) // which says what is wrong
	}
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	return &pipe{File: file}, err
}

// pipe is what another program writes to.
type pipe struct {
	*os.File

	began bool // whether something came
}

// Read reads, and fails at the end if nothing came.
func (p *pipe) Read(to []byte) (int, error) {
	n, err := p.File.Read(to)
	p.began = p.began || n > 0
	if err == io.EOF && !p.began { //nolint:errorlint // files return it as it is
		err = fmt.Errorf("%s is a pipe to which nothing writes; give a file", p.Name())
	}
	return n, err
}

// KeyPair reads a certificate and its private key, in PEM.
func KeyPair(certificate, key string) (tls.Certificate, error) {
	chain, err := Read(certificate, Certificates)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := Read(key, Certificates)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(chain, private)
}

// ReadAll reads at most so many bytes, of what errors call by the name.
func ReadAll(r io.Reader, name string, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, tooLarge(name, most)
	}
	return data, err
}

func tooLarge(name string, most int64) error {
	return fmt.Errorf("%s: it is larger than %d MiB; give less at a time", name, most>>20)
}
