package crdconform_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/crdconform/crdconform"
	"github.com/crdconform/crdconform/config"
	"github.com/crdconform/crdconform/internal/fixtures/webhook"
	"github.com/crdconform/crdconform/requirement"
)

// A handler of net/http is served over TLS and judged.
func ExampleRun() {
	t := &testing.T{} // of the test function
	crdconform.Run(t, crdconform.Check{
		Config: config.Config{
			CRDs:    []string{"../config/crd/bases"},
			Samples: []string{"../config/samples"},
		},
		Handler: http.HandlerFunc(convert),
	})
}

// convert stands for the webhook of an operator.
func convert(w http.ResponseWriter, r *http.Request) { webhook.Handler().ServeHTTP(w, r) }

// The conversion of controller-runtime is a handler too. The scheme knows the types of all versions, hub and spokes.
func ExampleRun_controllerRuntime() {
	t := &testing.T{} // of the test function
	scheme, registry := runtime.NewScheme(), conversion.NewRegistry()
	crdconform.Run(t, crdconform.Check{
		Config:  config.Config{CRDs: []string{"../config/crd/bases"}},
		Handler: conversion.NewWebhookHandler(scheme, registry),
	})
}

// A webhook that already runs in a test, as the one of a manager under envtest, is judged where envtest has it serve.
func ExampleRun_envtest() {
	t := &testing.T{}                     // of the test function
	environment := &envtest.Environment{} // was started, and so was the manager
	options := environment.WebhookInstallOptions
	address := net.JoinHostPort(options.LocalServingHost, strconv.Itoa(options.LocalServingPort))
	crdconform.Run(t, crdconform.Check{
		Config: config.Config{
			CRDs:    environment.CRDDirectoryPaths,
			Webhook: config.Webhook{URL: (&url.URL{Scheme: "https", Host: address, Path: "/convert"}).String()},
		},
		CA: options.LocalServingCAData,
	})
}

// What the command checks by crdconform.yaml, a test can check too.
func ExampleRun_configuration() {
	t := &testing.T{} // of the test function
	c, err := config.Read(filepath.Join("..", config.FileName))
	if err != nil {
		t.Fatal(err)
	}
	crdconform.Run(t, crdconform.Check{Config: c})
}

// An upgrade is rehearsed with the objects of a cluster, from the definitions of the last release to those of today.
func ExampleRehearse() {
	t := &testing.T{} // of the test function
	crdconform.Rehearse(t, crdconform.Upgrade{
		Config: config.Config{
			Old:      []string{"git://v1.4.0:config/crd/bases"},
			CRDs:     []string{"../config/crd/bases"},
			Rehearse: config.Rehearse{Objects: []string{"testdata/cluster-dump.yaml"}, Programs: []string{"./manager-v1.4 --port={port} --certs={certs}"}},
		},
		Handler: http.HandlerFunc(convert),
	})
}

// A program does what crdconform check does, and gets the report.
func ExampleCheck_Judge() {
	check := crdconform.Check{
		Config: config.Config{
			CRDs:      []string{"fixtures/definitions/reference.yaml"},
			APIServer: config.None,
			Filter:    []string{"webhook.response"},
		},
		Handler: http.HandlerFunc(convert),
	}
	report, err := check.Judge(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d requirements passed\n", report.Outcome, report.Counts[requirement.Passed])
	// Output: Conformant: 14 requirements passed
}
