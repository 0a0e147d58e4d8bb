//go:build before_1_28

package main

import (
	"github.com/go-openapi/spec"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericregistry "k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/kube-openapi/pkg/common"
)

func restOptions(_ *genericapiserver.RecommendedConfig, options genericoptions.EtcdOptions) genericregistry.RESTOptionsGetter {
	return crdoptions.NewCRDRESTOptionsGetter(options)
}

func authResolver(generic *genericapiserver.RecommendedConfig) webhook.AuthenticationInfoResolverWrapper {
	return webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, generic.LoopbackClientConfig)
}

func setOpenAPI(generic *genericapiserver.RecommendedConfig) {
	namer := openapinamer.NewDefinitionNamer(apiserver.Scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(schemas, namer)
	generic.SkipOpenAPIInstallation = false
}

// schemas are upstream's with the ones of definitions themselves, which at this minor only a full control plane has. They say no
// more than that a definition is an object.
func schemas(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := generatedopenapi.GetOpenAPIDefinitions(ref)
	for _, version := range []string{"v1", "v1beta1"} {
		for _, kind := range []string{"CustomResourceDefinition", "CustomResourceDefinitionList"} {
			all["k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/"+version+"."+kind] = common.OpenAPIDefinition{
				Schema: spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}},
			}
		}
	}
	return all
}
