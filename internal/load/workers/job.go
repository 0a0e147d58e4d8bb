package workers

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedbatchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const (
	// lead is how long an order takes to reach all pods, at most. The kubelet writes a changed annotation into the file as
	// soon as it hears of it, which was seen to take up to 1.2 s with Kubernetes 1.36 on a busy machine. Seven of 460 changes were
	// not seen before there was another one; so there is time for an order to be given again.
	lead = 5 * time.Second

	// looking is how often the pods are looked at, all of them at once.
	looking = time.Second

	// starting is how long it may take to create the Job and its Secrets, and ending to remove them when that went wrong.
	starting = 30 * time.Second
	ending   = time.Minute

	// chunk is how many bytes of the spec are in a Secret, at most. API servers allow 1 MiB.
	chunk = 768 << 10

	// orderAnnotation has the latest order for a worker.
	orderAnnotation = "crdconform.dev/order"

	// Where the spec and the orders are in a pod.
	volume = "input"
	mount  = "/var/run/crdconform.dev"
	orders = "orders"
)

//go:embed job.yaml
var template []byte

// JobOptions say what Job to create.
type JobOptions struct {
	Namespace string // has to be there
	Image     string // whose entry point is crdconform, of the same release as this program
}

// Job has workers run as pods of an Indexed Job in a Kubernetes cluster.
//
// The spec is in Secrets, compressed. Orders are an annotation of each pod, which the kubelet puts into a file in the pod, so
// workers need no access to the API server, and no port is opened. What workers write is read from the logs of their pods.
//
// A Job whose coordinator was killed ends by itself: workers that hear nothing from it for a while stop, those that get no
// order to start give up, and a Job has a deadline and is deleted some minutes after its end.
type Job struct {
	jobs      typedbatchv1.JobInterface
	secrets   typedcorev1.SecretInterface
	pods      typedcorev1.PodInterface
	namespace string
	template  *batchv1.Job
	image     string
	lead      time.Duration
	polling   time.Duration
	pulling   time.Duration
}

var _ Launcher = (*Job)(nil)

// NewJob returns a launcher in a cluster. It fails for options that make no sense; nothing is asked of the cluster yet.
func NewJob(config *rest.Config, o JobOptions) (*Job, error) {
	if o.Image == "" {
		return nil, errors.New("workers in a cluster need an image with crdconform as its entry point")
	}
	if o.Namespace == "" {
		return nil, errors.New("workers in a cluster need a namespace")
	}
	j := new(batchv1.Job)
	if err := yaml.UnmarshalStrict(template, j); err != nil {
		return nil, fmt.Errorf("job.yaml: %w", err)
	}
	// Each worker has a log that is followed, and orders that have to arrive in time. The API server says itself when that is
	// too much for it; by default, clients ask five times a second.
	config = rest.CopyConfig(config)
	config.QPS = -1
	batch, err1 := typedbatchv1.NewForConfig(config)
	core, err2 := typedcorev1.NewForConfig(config)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &Job{
		jobs: batch.Jobs(o.Namespace), secrets: core.Secrets(o.Namespace), pods: core.Pods(o.Namespace),
		namespace: o.Namespace, template: j, image: o.Image,
		lead: lead, polling: looking, pulling: pulling,
	}, nil
}

// Lead is five seconds: the kubelets of all nodes have to hear of the order.
func (f *Job) Lead() time.Duration { return f.lead }

// Remote is true.
func (f *Job) Remote() bool { return true }

// Start creates the Job and the Secrets with the spec, which belong to it, so that they go when it goes. Its pods wait for them.
func (f *Job) Start(ctx context.Context, task Task) (Workers, error) {
	parts, err := parts(task.Spec)
	if err != nil {
		return nil, err
	}
	apart := context.WithoutCancel(ctx)
	c := &workerPods{Job: f, name: "crdconform-load-" + uuid.NewString()[:8], names: make([]string, task.Workers)}
	// This cannot be interrupted: it would be unknown what exists.
	creating, cancel := context.WithTimeout(apart, starting)
	defer cancel()
	if err := c.create(creating, task, parts); err != nil {
		within, cancel := context.WithTimeout(apart, ending)
		defer cancel()
		return nil, errors.Join(err, c.End(within))
	}
	return c, nil
}

// create creates the Job and the Secrets. It records what may exist afterwards, whatever the API server answered.
func (c *workerPods) create(ctx context.Context, task Task, parts [][]byte) error {
	j, err := c.jobs.Create(ctx, c.job(c.name, task, len(parts)), metav1.CreateOptions{})
	c.created = !refused(err)
	if err != nil {
		return c.explain("create the Job", err)
	}
	for n, part := range parts {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: secretName(c.name, n), Labels: j.Labels,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID}},
			},
			Immutable: new(true),
			Data:      map[string][]byte{specFile(n): part},
		}
		_, err := c.Job.secrets.Create(ctx, secret, metav1.CreateOptions{})
		if !refused(err) {
			c.secrets = append(c.secrets, secret.Name)
		}
		if err != nil {
			return c.explain("create the Secret "+secret.Name, err)
		}
	}
	return nil
}

// refused reports whether an error says that the API server did not do what was asked: it answered so, or could not be reached.
// Of all others nobody knows.
func refused(err error) bool {
	if operation, is := errors.AsType[*net.OpError](err); is && operation.Op == "dial" {
		return true
	}
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}

// explain says what could not be done, and what to do about it. It returns nil for nil.
func (f *Job) explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%s in namespace %s: %w; workers in a cluster need the verbs create, get and delete for jobs, create and delete for secrets, list, patch and delete for pods, and get for pods/log", what, f.namespace, err)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%s in namespace %s: %w; if the namespace is what was not found, create it first", what, f.namespace, err)
	}
	return fmt.Errorf("%s in namespace %s: %w", what, f.namespace, err)
}

// parts compresses the spec and cuts it into what Secrets hold.
func parts(spec []byte) ([][]byte, error) {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(spec); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	var all [][]byte
	for compressed.Len() > 0 {
		all = append(all, bytes.Clone(compressed.Next(chunk)))
	}
	return all, nil
}

func secretName(job string, n int) string { return fmt.Sprintf("%s-%d", job, n) }

func specFile(n int) string { return fmt.Sprintf("spec-%d", n) }

// job is the Job to create, for a spec in so many parts.
func (f *Job) job(name string, task Task, parts int) *batchv1.Job {
	j := f.template.DeepCopy()
	count := int32(min(task.Workers, 1<<20)) //nolint:gosec // it was just bounded
	indexed := batchv1.IndexedCompletion
	j.Name, j.GenerateName, j.Namespace = name, "", f.namespace
	j.Spec.CompletionMode, j.Spec.Completions, j.Spec.Parallelism = &indexed, &count, &count
	j.Spec.ActiveDeadlineSeconds = new(int64(task.Limit.Seconds()) + 1)
	pod := &j.Spec.Template.Spec
	input := &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
		DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
			Path: orders, FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.annotations['%s']", orderAnnotation)},
		}}},
	}}}
	arguments := []string{"worker"}
	for n := range parts {
		input.Sources = append(input.Sources, corev1.VolumeProjection{
			Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: secretName(name, n)}},
		})
		arguments = append(arguments, "--spec", mount+"/"+specFile(n))
	}
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Projected: input}})
	worker := &pod.Containers[0]
	worker.Image = f.image
	// The Job controller gives each pod its index in the environment, and the kubelet puts it in here.
	worker.Args = append(arguments, "--orders", mount+"/"+orders, "--index", "$(JOB_COMPLETION_INDEX)")
	worker.VolumeMounts = append(worker.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: mount, ReadOnly: true})
	return j
}

// End deletes the Job, and with it the pods and the Secrets, and waits until it is gone.
func (c *workerPods) End(ctx context.Context) error {
	if !c.created {
		return nil
	}
	var errs []error
	for _, name := range c.secrets {
		errs = append(errs, gone(c.Job.secrets.Delete(ctx, name, metav1.DeleteOptions{})))
	}
	errs = append(errs, gone(c.jobs.Delete(ctx, c.name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)})))
	for errors.Join(errs...) == nil {
		_, err := c.jobs.Get(ctx, c.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if !c.wait(ctx) {
			errs = append(errs, fmt.Errorf("it is still there: %w", context.Cause(ctx)))
		}
	}
	return fmt.Errorf("delete the workers: %w; run kubectl delete job,secret -n %s %s", errors.Join(errs...), c.namespace, strings.Join(append(c.secrets, c.name), " "))
}

// gone takes what is not there for deleted.
func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
