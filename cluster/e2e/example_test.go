package e2e_test

import "github.com/crdconform/crdconform/cluster/e2e"

// Other modules can import no package of kind clusters but this one.
func ExampleNewProvider() {
	e2e.NewProvider(e2e.KindOptions{Kubernetes: "1.36"})
}
