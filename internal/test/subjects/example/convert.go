package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

const (
	older = "cron.example.org/v1beta1"
	newer = "cron.example.org/v1"
)

func webhook() program.Webhook {
	w := program.Webhook{
		Name: "example",
		Handler: func(name string) (http.Handler, error) {
			spoil := func(_ string, converted []*unstructured.Unstructured) []*unstructured.Unstructured { return converted }
			all := bugs()
			if i := slices.IndexFunc(all, func(b bug) bool { return b.Name == name }); i >= 0 {
				spoil = all[i].spoil
			}
			return program.Handler(func(request program.Review) ([]json.RawMessage, error) { return convertAll(request, spoil) }), nil
		},
	}
	for _, b := range bugs() {
		w.Bugs = append(w.Bugs, b.Bug)
	}
	return w
}

func convertAll(request program.Review, spoil spoiler) ([]json.RawMessage, error) {
	converted := make([]*unstructured.Unstructured, len(request.Objects))
	for i, raw := range request.Objects {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		if err := convert(object, request.Desired); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
		converted[i] = object
	}
	converted = spoil(request.Desired, converted)
	raw := make([]json.RawMessage, len(converted))
	for i, object := range converted {
		var err error
		if raw[i], err = json.Marshal(object.Object); err != nil {
			return nil, fmt.Errorf("object %d: %w", i, err)
		}
	}
	return raw, nil
}

// convert changes an object to the desired version. What is not named here stays.
func convert(object *unstructured.Unstructured, desired string) error {
	current := object.GetAPIVersion()
	spec, _, err := unstructured.NestedFieldNoCopy(object.Object, "spec")
	if err != nil {
		return err
	}
	fields, hasSpec := spec.(map[string]any)
	if !hasSpec && spec != nil {
		return errors.New("spec is not an object")
	}
	switch {
	case current == older && desired == newer && hasSpec:
		rename(fields, "cronSpec", "schedule")
		err = split(fields)
	case current == newer && desired == older && hasSpec:
		rename(fields, "schedule", "cronSpec")
		err = join(fields)
	case !slices.Contains([]string{older, newer}, current) || !slices.Contains([]string{older, newer}, desired):
		err = fmt.Errorf("cannot convert %s to %s", current, desired)
	}
	if err != nil {
		return err
	}
	object.SetAPIVersion(desired)
	return nil
}

func rename(fields map[string]any, from, to string) {
	if value, found := fields[from]; found {
		delete(fields, from)
		fields[to] = value
	}
}

// split makes host and port of hostPort. Part of an object may have one of them only, as in server-side apply: "host" is
// a host, and ":80" is a port.
func split(fields map[string]any) error {
	hostPort, found, err := unstructured.NestedString(fields, "hostPort")
	if err != nil || !found {
		return err
	}
	delete(fields, "hostPort")
	host, port, colon := strings.Cut(hostPort, ":")
	if host != "" || !colon {
		fields["host"] = host
	}
	if colon {
		fields["port"] = port
	}
	return nil
}

func join(fields map[string]any) error {
	host, hasHost, err1 := unstructured.NestedString(fields, "host")
	port, hasPort, err2 := unstructured.NestedString(fields, "port")
	if err := errors.Join(err1, err2); err != nil || !hasHost && !hasPort {
		return err
	}
	delete(fields, "host")
	delete(fields, "port")
	fields["hostPort"] = host
	if hasPort {
		fields["hostPort"] = host + ":" + port
	}
	return nil
}
