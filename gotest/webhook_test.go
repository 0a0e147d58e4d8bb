package gotest_test

import (
	"encoding/json"
	"net/http"
)

// converter converts Widgets: the size at v1beta1 is the replicas at v1. With the bug drops-zero it leaves a 0 out; with the bug panics
// it crashes.
type converter struct{ bug string }

func (c converter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    *struct {
			UID     string           `json:"uid"`
			Desired string           `json:"desiredAPIVersion"`
			Objects []map[string]any `json:"objects"`
		} `json:"request"`
	}
	decoder := json.NewDecoder(r.Body)
	decoder.UseNumber()
	if decoder.Decode(&review) != nil || review.Request == nil || review.Kind != "ConversionReview" || review.APIVersion != "apiextensions.k8s.io/v1" {
		http.Error(w, "this is no ConversionReview", http.StatusBadRequest)
		return
	}
	if c.bug == "panics" {
		panic("a bug of the handler")
	}
	result := map[string]any{"status": "Success"}
	for _, object := range review.Request.Objects {
		if !c.convert(object, review.Request.Desired) {
			result = map[string]any{"status": "Failure", "message": "this is no Widget of a version that I know"}
			break
		}
	}
	response := map[string]any{"uid": review.Request.UID, "result": result}
	if result["status"] == "Success" {
		response["convertedObjects"] = review.Request.Objects
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"apiVersion": review.APIVersion, "kind": review.Kind, "response": response})
}

// convert reports whether it could convert the object to a version.
func (c converter) convert(object map[string]any, version string) bool {
	names := map[string]string{"example.com/v1beta1": "size", "example.com/v1": "replicas"}
	current, _ := object["apiVersion"].(string)
	from, to := names[current], names[version]
	if from == "" || to == "" || object["kind"] != "Widget" {
		return false
	}
	object["apiVersion"] = version
	spec, ok := object["spec"].(map[string]any)
	if value, found := spec[from]; ok && found {
		delete(spec, from)
		if c.bug != "drops-zero" || value != json.Number("0") {
			spec[to] = value
		}
	}
	return true
}
