//go:build before_1_34 && !before_1_31

package main

import (
	genericapiserver "k8s.io/apiserver/pkg/server"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	utilversion "k8s.io/apiserver/pkg/util/version"
)

func setVersion(generic *genericapiserver.RecommendedConfig) {
	generic.EffectiveVersion = utilversion.DefaultBuildEffectiveVersion()
	generic.FeatureGate = utilfeature.DefaultFeatureGate
}
