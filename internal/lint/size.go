package lint

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// How many bytes a definition may have in JSON: in the annotation of kubectl apply, and in etcd; and how many a Secret may have, in which
// Helm keeps a release.
const (
	mostAnnotation = 256 << 10
	mostStored     = 1536 << 10
	mostSecret     = 1 << 20
)

// checkSize compares the size of the definition with what tools and servers take. One from a cluster has got there.
func (c *checker) checkSize() {
	size := len(c.inJSON)
	path := field.NewPath("spec")
	switch {
	case c.crd.UID != "":
		return
	case size > mostStored:
		c.foundAs(Error, DefinitionTooLarge, path, "the definition has %d bytes in JSON, and etcd refuses more than %d bytes by default; leave out descriptions (controller-gen crd:maxDescLen=0), or split the kind", size, mostStored)
	case size > mostAnnotation:
		c.found(DefinitionTooLarge, path, "the definition has %d bytes in JSON, more than the %d bytes that fit in the annotation of kubectl apply, which fails (\"Too long\"): document kubectl apply --server-side, or leave out descriptions (controller-gen crd:maxDescLen=0)", size, mostAnnotation)
	}
	if packed := packed(c.inJSON); packed > mostSecret {
		c.found(DefinitionTooLarge, path, "the definition alone makes a release of Helm of %d bytes, more than the %d bytes that a Secret may have: put it in a chart of its own, or leave out descriptions", packed, mostSecret)
	}
}

// packed is about how many bytes Helm stores for text: compressed, and in base64.
func packed(text []byte) int {
	if len(text) <= mostSecret/2 { // compressed, it is smaller still
		return 0
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return 0 // writing to memory does not fail
	}
	return base64.StdEncoding.EncodedLen(b.Len())
}
