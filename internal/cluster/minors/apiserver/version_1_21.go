//go:build kubernetes_1_21 || kubernetes_1_28

package main

import (
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/version"
)

func setVersion(generic *genericapiserver.RecommendedConfig) {
	built := version.Get()
	generic.Version = &built
}
