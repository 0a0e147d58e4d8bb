package existing

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/crdconform/crdconform/requirement"
)

// checkVersion returns an error if no API server answers, or one that is too old.
func checkVersion(ctx context.Context, client rest.Interface, host string) error {
	within, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	answer, err := client.Get().AbsPath("/version").MaxRetries(0).DoRaw(within)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return explain(err, host)
	}
	var info version.Info
	if json.Unmarshal(answer, &info) != nil {
		return fmt.Errorf("the server at %s is not a Kubernetes API server: its /version is not JSON", shown(host))
	}
	minor, err := requirement.ParseMinor(info.Major + "." + info.Minor)
	if err != nil {
		return fmt.Errorf("the server at %s is not a Kubernetes API server: %w", shown(host), err)
	}
	if minor.Less(oldest) {
		return fmt.Errorf("its Kubernetes %s is too old: apiextensions.k8s.io/v1, which was added in %s, is required", minor, oldest)
	}
	return nil
}

// shown is a URL without a password.
func shown(host string) string {
	u, err := url.Parse(host)
	if err != nil {
		return "the server of the kubeconfig"
	}
	return u.Redacted()
}

// explain says what an error of the first request means.
func explain(err error, host string) error {
	var untrusted *tls.CertificateVerificationError
	var failed *url.Error
	switch {
	case apierrors.IsUnauthorized(err):
		return errors.New("it does not recognize the user: the credentials are wrong or have expired; log in again, or get a new kubeconfig")
	case apierrors.IsForbidden(err):
		return errors.New("the user may not read /version; system:public-info-viewer and system:discovery allow that")
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted (%w); the kubeconfig's certificate-authority must be that of the cluster", shown(host), untrusted.Err)
	case strings.Contains(err.Error(), "getting credentials:"):
		reason := err
		if errors.As(err, &failed) {
			reason = failed.Err
		}
		what, _, _ := strings.Cut(reason.Error(), "\n") // client-go adds paragraphs about plugins
		return fmt.Errorf("the program that provides the credentials failed; log in again, or correct the user's exec in the kubeconfig: %s", what)
	case errors.Is(err, context.DeadlineExceeded), os.IsTimeout(err):
		return fmt.Errorf("nothing answers at %s within %s; is the cluster up, and can it be reached from here?", shown(host), versionTimeout)
	case errors.As(err, &failed):
		return fmt.Errorf("nothing answers at %s (%w); is the cluster up, and can it be reached from here?", shown(host), failed.Err)
	case apierrors.ReasonForError(err) != "":
		return fmt.Errorf("the server at %s does not respond like an API server: %w", shown(host), err)
	}
	return err
}

// redacted takes credentials out of an error.
func redacted(err error, config *rest.Config) error {
	text := err.Error()
	secrets := []string{config.BearerToken, config.Password}
	if config.ExecProvider != nil {
		secrets = append(secrets, config.ExecProvider.Args...)
		for _, variable := range config.ExecProvider.Env {
			secrets = append(secrets, variable.Value)
		}
	}
	if config.AuthProvider != nil {
		for _, value := range config.AuthProvider.Config {
			secrets = append(secrets, value)
		}
	}
	clean := strings.Join(strings.Fields(text), " ") // of client-go's errors, some have several lines
	for _, secret := range secrets {
		if len(secret) >= shortest {
			clean = strings.ReplaceAll(clean, secret, "(redacted)")
		}
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}

// shortest is the length in bytes from which on something can be a secret, and is not likely to be a part of something
// else.
const shortest = 6
