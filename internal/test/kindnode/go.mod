// A module of its own, since Kubernetes wants modules that crdconform must not depend on. build adds them for the version that it builds.
module kindnode

go 1.26.0
