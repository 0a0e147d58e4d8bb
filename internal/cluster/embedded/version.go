package embedded

import (
	"runtime/debug"
	"strings"

	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
)

// moduleVersion makes /version name the release whose modules are built in. Upstream has its build scripts set that; from
// its modules alone it would be v0.0.0-master.
type moduleVersion struct {
	basecompatibility.EffectiveVersion
	release string
}

func effectiveVersion() basecompatibility.EffectiveVersion {
	return moduleVersion{compatibility.DefaultBuildEffectiveVersion(), Release()}
}

// Info is what /version shows.
func (v moduleVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	info.GitVersion = v.release
	info.GitCommit, info.GitTreeState, info.BuildDate = "", "", ""
	return info
}

// Release is the Kubernetes release that is built in, such as v1.37.2. Test binaries do not know their modules; there the
// patch is 0.
func Release() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "k8s.io/apiextensions-apiserver" {
				return "v1" + strings.TrimPrefix(module.Version, "v0")
			}
		}
	}
	return "v" + baseversion.DefaultKubeBinaryVersion + ".0"
}
