//go:build before_1_31

package main

import (
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/version"
)

func setVersion(generic *genericapiserver.RecommendedConfig) {
	built := version.Get()
	generic.Version = &built
}
