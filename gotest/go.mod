module github.com/crdconform/crdconform/gotest

// What requires this module must move neither its Go nor its Kubernetes: 1.22 is the Go of Kubernetes 0.31, and nothing is required.
go 1.22
