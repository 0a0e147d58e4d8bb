package deployed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/crdconform/crdconform/cluster"
)

const (
	shownLines  = 20      // of a log, in errors
	shownEvents = 8       // in errors
	logLimit    = 8 << 20 // bytes of a log, in artifacts
)

// describe adds the last lines of the log and the events of the pod at fault to a sentence.
func (w *Webhook) describe(ctx context.Context, f *fault) error {
	text := w.redactor.Text(f.sentence)
	if f.pod == nil {
		return errors.New(text)
	}
	w.learnSecrets(ctx, []corev1.Pod{*f.pod})
	if f.container != "" {
		log, err := w.log(ctx, *f.pod, corev1.PodLogOptions{Container: f.container, Previous: f.previous, TailLines: ptr.To[int64](shownLines)})
		switch {
		case err != nil:
			text += fmt.Sprintf("; its log could not be read (%v)", err)
		case strings.TrimSpace(log) == "":
			text += "; it wrote nothing"
		default:
			text += "; its last output:\n" + strings.TrimRight(log, "\n")
		}
	}
	events, err := w.events(ctx, fields.Set{"involvedObject.uid": string(f.pod.UID)})
	if err == nil && len(events) > 0 {
		text += "\nevents of the pod:\n" + strings.Join(events[max(0, len(events)-shownEvents):], "\n")
	}
	return errors.New(text)
}

// log returns what a container wrote, with nothing secret in it.
func (w *Webhook) log(ctx context.Context, pod corev1.Pod, o corev1.PodLogOptions) (string, error) {
	o.LimitBytes = ptr.To[int64](logLimit)
	data, err := w.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &o).DoRaw(ctx)
	if err != nil {
		return "", err
	}
	return w.redactor.Text(readable(string(data))), nil
}

// readable drops what terminals interpret, and replaces what is not UTF-8.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// events returns the events in the namespace of the service that match, a line each, the oldest first.
func (w *Webhook) events(ctx context.Context, of fields.Set) ([]string, error) {
	list, err := w.client.CoreV1().Events(w.Service.Namespace).List(ctx, metav1.ListOptions{FieldSelector: of.String()})
	if err != nil {
		return nil, err
	}
	last := func(e corev1.Event) time.Time {
		at := e.CreationTimestamp.Time
		for _, other := range []time.Time{e.FirstTimestamp.Time, e.EventTime.Time, e.LastTimestamp.Time} {
			if other.After(at) {
				at = other
			}
		}
		return at
	}
	slices.SortStableFunc(list.Items, func(x, y corev1.Event) int {
		return cmp.Or(last(x).Compare(last(y)), strings.Compare(x.Name, y.Name))
	})
	var lines []string
	for _, e := range list.Items {
		line := fmt.Sprintf("  %s %s %s/%s %s: %s", last(e).UTC().Format(time.TimeOnly), e.Type, e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, strings.TrimSpace(e.Message))
		if e.Count > 1 {
			line += fmt.Sprintf(" (%d times)", e.Count)
		}
		lines = append(lines, w.redactor.Text(readable(line)))
	}
	return lines, nil
}

// Artifacts writes what explains how the webhook fares into a folder, which is created unless it is there: a log for each
// container, POD.CONTAINER.log, with .previous for what ran before it, events.txt, and objects.yaml with its pods and what
// made them. Whatever is missing is in the error; the rest is still written. Secrets are not written, and what is in those
// that the pods use is taken out of everything else.
func (w *Webhook) Artifacts(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("artifacts of the webhook: %w", err)
	}
	now, err := w.look(ctx)
	errs := []error{err}
	w.learnSecrets(ctx, now.pods)
	write := func(name, text string) {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for _, pod := range now.pods {
		for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			errs = append(errs, w.writeLogs(ctx, pod, status, write))
		}
	}
	events, err := w.events(ctx, fields.Set{})
	errs = append(errs, err)
	write("events.txt", strings.Join(events, "\n")+"\n")
	objects, err := w.objects(ctx)
	errs = append(errs, err)
	write("objects.yaml", objects)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("artifacts of the webhook: %w", err)
	}
	return nil
}

// writeLogs writes what a container wrote, and what ran before it.
func (w *Webhook) writeLogs(ctx context.Context, pod corev1.Pod, status corev1.ContainerStatus, write func(name, text string)) error {
	name := pod.Name + "." + status.Name
	if status.RestartCount > 0 {
		if log, err := w.log(ctx, pod, corev1.PodLogOptions{Container: status.Name, Previous: true}); err == nil { // nodes keep it for a while only
			write(name+".previous.log", log)
		}
	}
	log, err := w.log(ctx, pod, corev1.PodLogOptions{Container: status.Name})
	switch {
	case err == nil:
		write(name+".log", log)
	case status.State.Waiting == nil: // it has none before it was started
		return fmt.Errorf("the log of %s: %w", name, err)
	}
	return nil
}

// objects returns what is there of the run in the namespace of the service, but for Secrets, as YAML.
func (w *Webhook) objects(ctx context.Context) (string, error) {
	ours := metav1.ListOptions{LabelSelector: labels.Set{cluster.RunLabel: w.options.Run}.String()}
	var b strings.Builder
	var errs []error
	for _, kind := range [][3]string{{"", "v1", "services"}, {"apps", "v1", "deployments"}, {"apps", "v1", "statefulsets"}, {"apps", "v1", "replicasets"}, {"", "v1", "pods"}} {
		resource := schemaResource(kind)
		list, err := w.applier.owned.Client.Resource(resource).Namespace(w.Service.Namespace).List(ctx, ours)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, object := range list.Items {
			object.SetManagedFields(nil)
			hideEnvironment(object.Object)
			text, err := yaml.Marshal(object.Object)
			errs = append(errs, err)
			fmt.Fprintf(&b, "---\n%s", text)
		}
	}
	return w.redactor.Text(b.String()), errors.Join(errs...)
}

// learnSecrets has the redactor know what is in the Secrets that pods use. Where they may not be read, nothing of them is
// learnt.
func (w *Webhook) learnSecrets(ctx context.Context, pods []corev1.Pod) {
	names := map[string]bool{}
	for _, pod := range pods {
		for _, volume := range pod.Spec.Volumes {
			if volume.Secret != nil {
				names[volume.Secret.SecretName] = true
			}
			if volume.Projected != nil {
				for _, source := range volume.Projected.Sources {
					if source.Secret != nil {
						names[source.Secret.Name] = true
					}
				}
			}
		}
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, from := range container.EnvFrom {
				if from.SecretRef != nil {
					names[from.SecretRef.Name] = true
				}
			}
			for _, variable := range container.Env {
				if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
					names[variable.ValueFrom.SecretKeyRef.Name] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if secret, err := w.client.CoreV1().Secrets(w.Service.Namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			w.redactor.Secret(secret.Data)
		}
	}
}
