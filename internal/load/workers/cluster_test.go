package workers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

const (
	namespace = "load"
	image     = "example.org/crdconform:test"
)

// cluster is as much of Kubernetes as the workers need: an API server, a Job controller, and a kubelet whose containers are
// functions of this process. Bodies are decoded strictly.
type cluster struct {
	t      *testing.T
	config *rest.Config

	refuse func(r *http.Request) *apierrors.StatusError // what a request is refused with, if it is
	lose   func(r *http.Request) bool                   // whether the response to a request is lost; may be nil

	// container is what runs in the pod of an index, instead of a worker, if there is something.
	container map[int]func(ctx context.Context, p *pod) int

	changed *sync.Cond // of everything below
	job     *batchv1.Job
	secrets map[string]*corev1.Secret
	pods    map[string]*pod
	running sync.WaitGroup
	asked   []string // method and path
}

// pod is a pod with its log and its files.
type pod struct {
	corev1.Pod

	c      *cluster
	dir    string // in place of the mount
	log    bytes.Buffer
	broken int // how often reading its log is still to break off
	stop   context.CancelFunc
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{
		t: t, changed: sync.NewCond(new(sync.Mutex)), container: map[int]func(context.Context, *pod) int{},
		secrets: map[string]*corev1.Secret{}, pods: map[string]*pod{},
	}
	mux := http.NewServeMux()
	jobs, core := "/apis/batch/v1/namespaces/"+namespace+"/jobs", "/api/v1/namespaces/"+namespace
	mux.HandleFunc("POST "+jobs, c.createJob)
	mux.HandleFunc("GET "+jobs+"/{name}", c.getJob)
	mux.HandleFunc("DELETE "+jobs+"/{name}", c.deleteJob)
	mux.HandleFunc("POST "+core+"/secrets", c.createSecret)
	mux.HandleFunc("DELETE "+core+"/secrets/{name}", c.deleteSecret)
	mux.HandleFunc("GET "+core+"/pods", c.listPods)
	mux.HandleFunc("PATCH "+core+"/pods/{name}", c.patchPod)
	mux.HandleFunc("DELETE "+core+"/pods/{name}", c.deletePod)
	mux.HandleFunc("GET "+core+"/pods/{name}/log", c.readLog)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.changed.L.Lock()
		c.asked = append(c.asked, r.Method+" "+r.URL.Path)
		c.changed.L.Unlock()
		if c.refuse != nil {
			if err := c.refuse(r); err != nil {
				c.answer(w, int(err.ErrStatus.Code), err.ErrStatus)
				return
			}
		}
		if c.lose != nil && c.lose(r) {
			mux.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	}))
	c.config = &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	t.Cleanup(func() {
		c.changed.L.Lock()
		for _, p := range c.pods {
			p.stop()
		}
		c.changed.L.Unlock()
		c.running.Wait()
		server.Close()
	})
	return c
}

// launcher is one in the cluster, with less patience.
func (c *cluster) launcher(o JobOptions) *Job {
	c.t.Helper()
	o.Namespace, o.Image = namespace, image
	f, err := NewJob(c.config, o)
	if err != nil {
		c.t.Fatal(err)
	}
	f.lead, f.polling, f.pulling = time.Second, 50*time.Millisecond, time.Second
	return f
}

func (c *cluster) answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		c.t.Error(err)
	}
}

func (c *cluster) fail(w http.ResponseWriter, err *apierrors.StatusError) {
	c.answer(w, int(err.ErrStatus.Code), err.ErrStatus)
}

func notFound(r *http.Request) *apierrors.StatusError {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, r.PathValue("name"))
}

func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// patched applies the merge patch of a request.
func patched[T any](t *testing.T, r *http.Request, original T) T {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/merge-patch+json" {
		t.Errorf("%s %s with a %s", r.Method, r.URL, got)
	}
	encoded, err := json.Marshal(original)
	if err != nil {
		t.Error(err)
	}
	var patch, whole map[string]any
	if err := errors.Join(json.NewDecoder(r.Body).Decode(&patch), json.Unmarshal(encoded, &whole)); err != nil {
		t.Error(err)
	}
	mergePatch(whole, patch)
	if encoded, err = json.Marshal(whole); err != nil {
		t.Error(err)
	}
	var result T
	if err := json.Unmarshal(encoded, &result); err != nil {
		t.Error(err)
	}
	return result
}

// mergePatch applies a merge patch that removes nothing.
func mergePatch(to, patch map[string]any) {
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		if into, has := to[key].(map[string]any); isMap && has {
			mergePatch(into, inner)
		} else {
			to[key] = value
		}
	}
}

func (c *cluster) createJob(w http.ResponseWriter, r *http.Request) {
	j := new(batchv1.Job)
	if err := decode(r, j); err != nil {
		c.fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	j.UID, j.CreationTimestamp = "job-uid", metav1.Now()
	c.job = j
	for index := range int(*j.Spec.Completions) {
		c.create(index) //nolint:contextcheck // pods outlive the request
	}
	c.answer(w, http.StatusCreated, j)
}

func (c *cluster) getJob(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	if c.job == nil || c.job.Name != r.PathValue("name") {
		c.fail(w, notFound(r))
		return
	}
	c.answer(w, http.StatusOK, c.job)
}

func (c *cluster) deleteJob(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	if c.job == nil || c.job.Name != r.PathValue("name") {
		c.fail(w, notFound(r))
		return
	}
	if options := new(metav1.DeleteOptions); decode(r, options) != nil || options.PropagationPolicy == nil || *options.PropagationPolicy != metav1.DeletePropagationForeground {
		c.t.Errorf("the Job is deleted with %+v", options)
	}
	for _, p := range c.pods {
		p.stop()
	}
	c.job = nil
	c.answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
}

func (c *cluster) createSecret(w http.ResponseWriter, r *http.Request) {
	s := new(corev1.Secret)
	if err := decode(r, s); err != nil {
		c.fail(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	size := 0
	for _, data := range s.Data {
		size += len(data)
	}
	if owner := s.OwnerReferences; size > corev1.MaxSecretSize || len(owner) != 1 || owner[0].UID != c.job.UID || owner[0].Name != c.job.Name {
		c.t.Errorf("a Secret of %d bytes belongs to %+v", size, owner)
	}
	c.secrets[s.Name] = s
	c.changed.Broadcast()
	c.answer(w, http.StatusCreated, s)
}

func (c *cluster) deleteSecret(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	if c.secrets[r.PathValue("name")] == nil {
		c.fail(w, notFound(r))
		return
	}
	delete(c.secrets, r.PathValue("name"))
	c.answer(w, http.StatusOK, metav1.Status{Status: metav1.StatusSuccess})
}

func (c *cluster) listPods(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	list := corev1.PodList{}
	if c.job != nil && r.URL.Query().Get("labelSelector") != "batch.kubernetes.io/job-name="+c.job.Name {
		c.t.Errorf("pods are listed by %s", r.URL)
	}
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		list.Items = append(list.Items, c.pods[name].Pod)
	}
	c.answer(w, http.StatusOK, list)
}

func (c *cluster) patchPod(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	p := c.pods[r.PathValue("name")]
	if p == nil {
		c.fail(w, notFound(r))
		return
	}
	p.Pod = patched(c.t, r, p.Pod)
	p.project()
	c.answer(w, http.StatusOK, p.Pod)
}

// deletePod has a pod be gone at once.
func (c *cluster) deletePod(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	p := c.pods[r.PathValue("name")]
	if p == nil {
		c.fail(w, notFound(r))
		return
	}
	p.stop()
	delete(c.pods, p.Name)
	c.changed.Broadcast()
	c.answer(w, http.StatusOK, p.Pod)
}

// readLog follows the log of a pod.
func (c *cluster) readLog(w http.ResponseWriter, r *http.Request) {
	c.changed.L.Lock()
	defer c.changed.L.Unlock()
	p := c.pods[r.PathValue("name")]
	if p == nil {
		c.fail(w, notFound(r))
		return
	}
	if q := r.URL.Query(); q.Get("follow") != "true" || q.Get("container") != p.Spec.Containers[0].Name {
		c.t.Errorf("a log is read by %s", r.URL)
	}
	stop := context.AfterFunc(r.Context(), c.changed.Broadcast)
	defer stop()
	for sent := 0; r.Context().Err() == nil; {
		if text := p.log.Bytes()[sent:]; len(text) > 0 {
			if p.broken > 0 {
				p.broken--
				w.Write(text[:len(text)/2])
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
			sent += len(text)
			w.Write(text)
			http.NewResponseController(w).Flush()
		}
		if status := p.Status.ContainerStatuses; len(status) > 0 && status[0].State.Terminated != nil {
			return
		}
		c.changed.Wait()
	}
}

// create creates a pod as the Job controller does, and runs it as a kubelet does. The caller holds the lock.
func (c *cluster) create(index int) {
	template := c.job.Spec.Template
	ctx, stop := context.WithCancel(context.Background())
	p := &pod{c: c, stop: stop, dir: c.t.TempDir(), Pod: corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d-abcde", c.job.Name, index), Namespace: namespace, Labels: maps.Clone(template.Labels),
			Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: strconv.Itoa(index)},
		},
		Spec:   *template.Spec.DeepCopy(),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}}
	c.pods[p.Name] = p
	run := c.container[index]
	if run == nil {
		run = podWorker
	}
	c.running.Go(func() {
		code := run(ctx, p)
		stop()
		p.set(func() {
			if p.Status.Phase == corev1.PodRunning {
				p.terminated(code, "")
			}
		})
	})
}

// set changes a pod.
func (p *pod) set(change func()) {
	p.c.changed.L.Lock()
	defer p.c.changed.L.Unlock()
	change()
	p.c.changed.Broadcast()
}

// Write adds to the log of the pod, while it runs.
func (p *pod) Write(text []byte) (int, error) {
	p.set(func() {
		if p.Status.Phase == corev1.PodRunning {
			p.log.Write(text)
		}
	})
	return len(text), nil
}

func (p *pod) terminated(code int, reason string) {
	p.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		p.Status.Phase = corev1.PodFailed
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: reason}},
	}}
}

func (p *pod) waiting(reason, message string) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}
}

// project writes the files of the pod's volume, as its sources are now. It returns false when a source is missing. The caller
// holds the lock.
func (p *pod) project() bool {
	write := func(name string, content []byte) {
		path := filepath.Join(p.dir, name)
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			p.c.t.Error(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			p.c.t.Error(err)
		}
	}
	for _, source := range p.Spec.Volumes[len(p.Spec.Volumes)-1].Projected.Sources {
		if source.Secret != nil {
			secret := p.c.secrets[source.Secret.Name]
			if secret == nil {
				return false
			}
			for name, content := range secret.Data {
				write(name, content)
			}
			continue
		}
		for _, item := range source.DownwardAPI.Items {
			key := strings.TrimSuffix(strings.TrimPrefix(item.FieldRef.FieldPath, "metadata.annotations['"), "']")
			write(item.Path, []byte(p.Annotations[key]))
		}
	}
	return true
}

// mounted waits until the pod's volume is complete. It returns false when the pod is deleted before.
func (p *pod) mounted(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, p.c.changed.Broadcast)
	defer stop()
	p.c.changed.L.Lock()
	defer p.c.changed.L.Unlock()
	for ctx.Err() == nil {
		if p.project() {
			p.Status.Phase = corev1.PodRunning
			p.c.changed.Broadcast()
			return true
		}
		p.c.changed.Wait()
	}
	return false
}

// podWorker is what runs in a container: the command worker, as far as its arguments matter.
func podWorker(ctx context.Context, p *pod) int {
	if !p.mounted(ctx) {
		return 0 // it is never started
	}
	container := p.Spec.Containers[0]
	var specs []string
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(p)
	flags.Func("spec", "", func(path string) error { specs = append(specs, path); return nil })
	orders, index := flags.String("orders", "", ""), flags.Int("index", -1, "")
	var arguments []string
	for _, argument := range container.Args[1:] {
		argument = strings.ReplaceAll(argument, "$(JOB_COMPLETION_INDEX)", p.Annotations[batchv1.JobCompletionIndexAnnotation])
		arguments = append(arguments, strings.ReplaceAll(argument, container.VolumeMounts[len(container.VolumeMounts)-1].MountPath, p.dir))
	}
	if container.Args[0] != "worker" || flags.Parse(arguments) != nil {
		return 2
	}
	in, err := FromFiles(ctx, specs, *orders)
	if err == nil {
		err = Work(ctx, *index, in, p)
	}
	if err != nil {
		fmt.Fprintf(p, "crdconform: %v\n", err)
		return 3
	}
	return 0
}
