package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxBody is the largest request that is read, in bytes.
const maxBody = 256 << 20

// Review is a conversion request: what is asked for, and what it is asked in.
type Review struct {
	APIVersion string // of the ConversionReview
	UID        string
	Desired    string // apiVersion that the objects are to have
	Objects    []json.RawMessage
}

// Converter returns the objects of a request at the desired version. The error becomes the message of a failed conversion.
type Converter func(request Review) ([]json.RawMessage, error)

// Handler answers conversion requests by a converter. What is no request gets HTTP status 400.
func Handler(convert Converter) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := readReview(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		converted, err := convert(request)
		body, err := answer(request, converted, err)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write(body) //nolint:errcheck // a client that went away is none of the webhook's business
	})
}

func readReview(r io.Reader) (Review, error) {
	body, err := io.ReadAll(r)
	if err != nil {
		return Review{}, err
	}
	var review struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Request    *struct {
			UID               string            `json:"uid"`
			DesiredAPIVersion string            `json:"desiredAPIVersion"`
			Objects           []json.RawMessage `json:"objects"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &review); err != nil {
		return Review{}, fmt.Errorf("the body is no ConversionReview: %w", err)
	}
	if review.Kind != "ConversionReview" || review.Request == nil {
		return Review{}, fmt.Errorf("the body is no ConversionReview with a request; its kind is %q", review.Kind)
	}
	if review.APIVersion != "apiextensions.k8s.io/v1" && review.APIVersion != "apiextensions.k8s.io/v1beta1" {
		return Review{}, fmt.Errorf("cannot answer in %q; send apiextensions.k8s.io/v1 or v1beta1", review.APIVersion)
	}
	return Review{review.APIVersion, review.Request.UID, review.Request.DesiredAPIVersion, review.Request.Objects}, nil
}

// answer returns the body of a response. Objects are copied as they are, which takes a fraction of the time that
// encoding/json needs to look at them once more.
func answer(request Review, converted []json.RawMessage, failure error) ([]byte, error) {
	result := map[string]string{"status": "Success"}
	if failure != nil {
		result = map[string]string{"status": "Failed", "message": failure.Error()}
	}
	head, err := json.Marshal(map[string]any{"apiVersion": request.APIVersion, "kind": "ConversionReview"})
	if err != nil {
		return nil, err
	}
	outcome, err := json.Marshal(map[string]any{"uid": request.UID, "result": result})
	if err != nil {
		return nil, err
	}
	var body bytes.Buffer
	body.Write(head[:len(head)-1])
	body.WriteString(`,"response":`)
	body.Write(outcome[:len(outcome)-1])
	if failure == nil {
		body.WriteString(`,"convertedObjects":[`)
		body.Write(bytes.Join(rawBytes(converted), []byte(",")))
		body.WriteByte(']')
	}
	body.WriteString("}}")
	return body.Bytes(), nil
}

func rawBytes(raw []json.RawMessage) [][]byte {
	all := make([][]byte, len(raw))
	for i := range raw {
		all[i] = raw[i]
	}
	return all
}
