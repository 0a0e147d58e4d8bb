package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/crdconform/crdconform/internal/pause"
)

const (
	// Effect is how long a change of a definition may take to show.
	Effect = 30 * time.Second

	// createHold is how long API servers hold the first create of a definition after it was established, so that the other servers of
	// a highly available control plane know of it too. They count from a time in full seconds.
	createHold = 2 * time.Second

	// effectPoll is how often an API server is asked whether a change shows, and gonePoll whether a definition is gone.
	effectPoll = 5 * time.Millisecond
	gonePoll   = 50 * time.Millisecond

	// remindEvery is how often an API server is reminded of a definition that it is to delete.
	remindEvery = 5 * time.Second

	// unseenTimeout is how long to wait where an API server does not answer for want of a conversion. Its own caches follow within
	// milliseconds.
	unseenTimeout = 2 * time.Second

	// absent is the name of an object that does not exist, so that nothing is converted for it.
	absent = "crdconform-none"
)

// Definitions installs definitions and follows them through their lives. It changes and removes only those that it is given, which
// are not others of the same name.
type Definitions struct {
	Client apiextensionsclient.CustomResourceDefinitionInterface
	REST   rest.Interface // of any group
	Limit  time.Duration  // of a wait for an effect; 0 for Effect
}

// Fresh returns a definition without what an API server has filled in.
func Fresh(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	fresh := &apiextensionsv1.CustomResourceDefinition{TypeMeta: crd.TypeMeta, Spec: *crd.Spec.DeepCopy()}
	fresh.Name, fresh.Labels, fresh.Annotations = crd.Name, maps.Clone(crd.Labels), maps.Clone(crd.Annotations)
	return fresh
}

// ConvertedBy returns the conversion stanza of a definition with another webhook. Where it says no version of ConversionReview, that is v1.
func ConvertedBy(crd *apiextensionsv1.CustomResourceDefinition, client apiextensionsv1.WebhookClientConfig) *apiextensionsv1.CustomResourceConversion {
	reviews := []string{"v1"}
	if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && len(c.Webhook.ConversionReviewVersions) > 0 {
		reviews = c.Webhook.ConversionReviewVersions
	}
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: &client, ConversionReviewVersions: reviews},
	}
}

// Create creates a definition. It is not interrupted when the context ends, since then it would be unknown whether the definition exists.
func (d Definitions) Create(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	within, cancel := d.within(context.WithoutCancel(ctx))
	defer cancel()
	created, err := d.Client.Create(within, crd, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("%w; it does not belong to this run; delete it, or use another cluster", err)
	}
	if rejected, is := errors.AsType[*apierrors.StatusError](err); is && apierrors.IsInvalid(err) {
		return nil, RejectedError{rejected}
	}
	return created, err
}

// RejectedError is an API server's rejection of an object. It says what is wrong with which fields, without the values that the server
// quotes, some of which are whole definitions.
type RejectedError struct{ *apierrors.StatusError }

// Unwrap returns the error of the API server.
func (e RejectedError) Unwrap() error { return e.StatusError }

// Error returns what is wrong. A field of the status is wrong only because of one of the spec.
func (e RejectedError) Error() string {
	var wrong []string
	if details := e.ErrStatus.Details; details != nil {
		for _, cause := range details.Causes {
			kind, detail, _ := strings.Cut(cause.Message, ": ")
			if i := strings.LastIndexAny(detail, "]}"); i >= 0 && strings.HasPrefix(detail[i+1:], ": ") {
				detail = kind + detail[i+1:]
			} else {
				detail = cause.Message
			}
			if one := cause.Field + ": " + detail; !strings.HasPrefix(cause.Field, "status.") && !slices.Contains(wrong, one) {
				wrong = append(wrong, one)
			}
		}
	}
	if len(wrong) == 0 {
		return e.StatusError.Error()
	}
	return "the API server rejects it: " + strings.Join(wrong, "; ")
}

func (d Definitions) within(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(d.Limit, Effect)
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("it takes longer than %s", limit))
}

// Hold is for how long API servers hold the first create of a definition.
type Hold struct{ ends time.Time }

// Wait waits until objects can be created without being held.
func (h Hold) Wait(ctx context.Context) error { return pause.For(ctx, time.Until(h.ends)) }

// Established waits until a definition is established. The error says which of its conditions keep it from that; those that waiting does not
// mend end it at once.
//
// The hold lasts from the moment when the condition was seen, since the time in the condition, from which the API server counts, is that of
// another clock. What the server has done to the definition since then, by its own clock, shortens it.
func (d Definitions) Established(ctx context.Context, name string) (Hold, error) {
	ctx, cancel := d.within(ctx)
	defer cancel()
	var last *apiextensionsv1.CustomResourceDefinition
	err := Until(ctx, effectPoll, func(ctx context.Context) (bool, error) {
		now, err := d.Client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = now
		if names := apihelpers.FindCRDCondition(now, apiextensionsv1.NamesAccepted); names != nil && names.Status == apiextensionsv1.ConditionFalse {
			return false, d.Taken(ctx, now)
		}
		c := apihelpers.FindCRDCondition(now, apiextensionsv1.Established)
		if c != nil && c.Reason == "InvalidCABundle" {
			return false, errors.New("its caBundle is not valid")
		}
		return c != nil && c.Status == apiextensionsv1.ConditionTrue, nil
	})
	if err != nil && last != nil {
		return Hold{}, fmt.Errorf("%s is not established: %w (%s)", name, err, Conditions(last))
	}
	if err != nil {
		return Hold{}, err
	}
	return Hold{time.Now().Add(createHold - since(last))}, nil
}

// since returns for how long a definition has been established at least, for all that shows by the server's clock, up to the whole hold.
func since(crd *apiextensionsv1.CustomResourceDefinition) time.Duration {
	established := apihelpers.FindCRDCondition(crd, apiextensionsv1.Established).LastTransitionTime
	return min(LastWritten(established.Time, crd.ManagedFields).Sub(established.Time), createHold)
}

// LastWritten returns when an object was last written, as far as a time when it was there, such as that of its creation, and its managed fields say.
func LastWritten(there time.Time, managed []metav1.ManagedFieldsEntry) time.Time {
	for _, entry := range managed {
		if entry.Time != nil && entry.Time.After(there) {
			there = entry.Time.Time
		}
	}
	return there
}

// Conditions returns the conditions of a definition in a line.
func Conditions(crd *apiextensionsv1.CustomResourceDefinition) string {
	var all []string
	for _, c := range crd.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "; ")
}

// Served waits until an API server answers at each version that a definition serves: for a moment after it was established it may not. With the
// name of a printer column that the definition has, it waits until the table of the answer has it, which shows that a change of
// the definition is in effect. An API server with a watch cache may have to convert all objects for that; where that fails, there is nothing
// to wait for.
func (d Definitions) Served(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, column string) error {
	ctx, cancel := d.within(ctx)
	defer cancel()
	for _, version := range ServedVersions(crd) {
		path := ResourceOf(crd, absent).Path(version)
		unseen := time.Time{}
		err := Until(ctx, effectPoll, func(ctx context.Context) (bool, error) {
			table, err := d.REST.Get().AbsPath(path).Param("fieldSelector", "metadata.name="+absent).Param("limit", "1").
				SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Timeout(unseenTimeout).DoRaw(ctx)
			switch {
			case apierrors.IsNotFound(err):
				return false, nil
			case column == "":
				return true, nil // whatever is wrong, it is served
			case err == nil:
				unseen = time.Time{}
				return strings.Contains(string(table), strconv.Quote(column)), nil
			case unseen.IsZero():
				unseen = time.Now()
			}
			return time.Since(unseen) > unseenTimeout, nil
		})
		if err != nil {
			return fmt.Errorf("the API server does not serve %s at %s as the definition says: %w", crd.Name, version, err)
		}
	}
	return nil
}

// Change changes a definition, unless it was replaced by another one of its name.
func (d Definitions) Change(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, change func(*apiextensionsv1.CustomResourceDefinition)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		now, err := d.Client.Get(ctx, crd.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if now.UID != crd.UID {
			return errors.New("it was replaced meanwhile, so it is left alone")
		}
		change(now)
		_, err = d.Client.Update(ctx, now, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("changing %s: %w", crd.Name, err)
	}
	return nil
}

// Remove deletes a definition and waits until it is gone with its objects, which it does not limit in time. In between it calls meanwhile, if that
// is not nil, with the definition as it still is. One that has taken its place is left alone.
//
// Its objects go first, for which the API server may want its webhook. After one failure it may forget the definition until that changes, so
// it is reminded.
func (d Definitions) Remove(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, meanwhile func(context.Context, *apiextensionsv1.CustomResourceDefinition)) error {
	err := d.Client.Delete(ctx, crd.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(crd.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("removing %s: %w", crd.Name, err)
	}
	last, reminded := "", time.Now()
	err = Until(ctx, gonePoll, func(ctx context.Context) (bool, error) {
		now, unread := d.Client.Get(ctx, crd.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(unread) || unread == nil && now.UID != crd.UID {
			return true, nil
		}
		if unread != nil {
			return false, nil //nolint:nilerr // it is tried again
		}
		if last = Conditions(now); time.Since(reminded) > remindEvery {
			_ = d.Remind(ctx, now) // what goes wrong shows in the definition being there still
			reminded = time.Now()
		}
		if meanwhile != nil {
			meanwhile(ctx, now)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be removed (%s): %w", crd.Name, last, err)
	}
	return nil
}

// Remind changes an annotation of a definition whose deletion the API server is not working on, so that it looks at the definition again.
// One that it is working on is left alone: a change in the meantime is a conflict to it, and it would begin once more.
func (d Definitions) Remind(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	deleting := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating)
	if deleting != nil && deleting.Reason == "InstanceDeletionInProgress" {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"crdconform.dev/reminded": "%d"}}}`, time.Now().UnixNano())
	_, err := d.Client.Patch(ctx, crd.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
