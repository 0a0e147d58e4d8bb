// Package kind has tests only: those that make kind clusters to look at other packages there. They have the build tag kind, and fail
// without CRDCONFORM_TEST_KIND_IMAGE, which names a node image.
package kind
