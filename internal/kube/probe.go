package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/crdconform/crdconform/cluster"
)

const (
	// FieldManager is the owner of whatever fields are applied.
	FieldManager = "crdconform"

	// ProbePoll is how often an API server is asked whether it calls a webhook yet.
	ProbePoll = 50 * time.Millisecond

	// probed is the name of the object that is read, and probeKind its kind.
	probed    = "crdconform-probe"
	probeKind = "Probe"
)

// Probe makes an API server call a webhook, to see whether the call arrives. It does so by a definition of its own, with an object that is
// read at another version than it is stored at.
type Probe struct {
	Definitions Definitions
	Objects     dynamic.Interface
	Run         string // that the definition belongs to
	Group       string // of the definition, and of no other one
	Plural      string // of its resource, so that a role can name it

	definition *apiextensionsv1.CustomResourceDefinition // once it is installed
}

// Point makes a webhook that of the probe, and makes sure that there is an object to convert.
func (p *Probe) Point(ctx context.Context, webhook apiextensionsv1.WebhookClientConfig) error {
	conversion := &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &webhook, ConversionReviewVersions: []string{"v1", "v1beta1"}},
	}
	if p.definition != nil {
		return p.Definitions.Change(ctx, p.definition, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion = conversion })
	}
	anything := &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}}
	var err error
	p.definition, err = p.Definitions.Create(ctx, &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: p.Plural + "." + p.Group, Labels: map[string]string{cluster.RunLabel: p.Run}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: p.Group, Scope: apiextensionsv1.ClusterScoped, Conversion: conversion,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: p.Plural, Kind: probeKind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				{Name: "v1", Served: true, Storage: true, Schema: anything},
				{Name: "v1beta1", Served: true, Schema: anything},
			},
		},
	})
	if err != nil {
		return err
	}
	if _, err = p.Definitions.Established(ctx, p.definition.Name); err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": p.Group + "/v1", "kind": probeKind, "metadata": map[string]any{"name": probed}}}
	var last error
	// An apply is not held, as a create would be.
	err = Until(ctx, ProbePoll, func(ctx context.Context) (bool, error) {
		_, last = p.at("v1").Apply(ctx, probed, object, metav1.ApplyOptions{FieldManager: FieldManager})
		if apierrors.IsForbidden(last) {
			return false, last
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("creating an object of %s: %w", p.definition.Name, errors.Join(last, err))
	}
	return nil
}

func (p *Probe) at(version string) dynamic.ResourceInterface {
	return p.Objects.Resource(schema.GroupVersionResource{Group: p.Group, Version: version, Resource: p.Plural})
}

// Ask has the API server convert the object once, and returns what it says. As long as the other version is not served that is NotFound.
func (p *Probe) Ask(ctx context.Context) error {
	_, err := p.at("v1beta1").Get(ctx, probed, metav1.GetOptions{})
	return err
}

// Remove removes the definition. Its object is at the version it is stored at, for which no webhook is needed.
func (p *Probe) Remove(ctx context.Context) error {
	if p.definition == nil {
		return nil
	}
	err := p.Definitions.Remove(ctx, p.definition, nil)
	if err == nil {
		p.definition = nil
	}
	return err
}
