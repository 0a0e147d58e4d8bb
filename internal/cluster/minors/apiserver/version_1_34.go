//go:build !before_1_34

package main

import (
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

func setVersion(generic *genericapiserver.RecommendedConfig) {
	generic.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	generic.FeatureGate = utilfeature.DefaultFeatureGate
}
