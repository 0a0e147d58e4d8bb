package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/crdconform/crdconform/internal/kube"
)

const (
	// pageSize is how many objects are listed at a time.
	pageSize = 500

	// workers is how many requests about single objects are sent at a time.
	workers = 8

	// patience is how many conversions of a definition at a version may time out, each of which takes half a minute, before nothing
	// more is asked.
	patience = 3
)

// failure is an object of which a request failed.
type failure struct {
	object string
	err    error
}

// sweep reads all objects of a definition at a version: by a list, or one by one if the list fails. What reads an object calls visit, one
// call at a time. It returns why the list failed, and the objects that cannot be read.
func (a *api) sweep(ctx context.Context, k *kind, version string, visit func(*unstructured.Unstructured) error) (unlisted error, failures []failure, err error) {
	seen := make([]bool, len(k.book.names))
	mark := func(object *unstructured.Unstructured) error {
		if id, known := k.book.ids[keyOf(object)]; known {
			seen[id] = true
		}
		return visit(object)
	}
	unlisted, err = a.pages(ctx, k, version, func(objects []unstructured.Unstructured) error {
		for i := range objects {
			if failed := mark(&objects[i]); failed != nil {
				return failed
			}
		}
		return nil
	})
	if err != nil || unlisted == nil {
		return nil, nil, err
	}
	var left []string
	for id, name := range k.book.names {
		if !seen[id] {
			left = append(left, name)
		}
	}
	failures, err = a.each(ctx, left, func(ctx context.Context, object string) (func() error, error) {
		at, name := a.at(k, version, object)
		got, unread := at.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(unread) {
			return nil, nil //nolint:nilnil // somebody deleted it
		}
		if unread != nil {
			return nil, unread
		}
		return func() error { return visit(got) }, nil
	})
	return unlisted, failures, err
}

// pages reads all objects page by page. It returns what the API server says if that is about what is stored, and everything else as an
// error.
func (a *api) pages(ctx context.Context, k *kind, version string, visit func([]unstructured.Unstructured) error) (unlisted, err error) {
	all := kube.Pager[*unstructured.UnstructuredList]{List: a.resource(k, version).List, Options: metav1.ListOptions{Limit: pageSize}}
	for {
		page, more, err := all.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case isAbout(err):
			return err, nil
		case err != nil:
			return nil, fmt.Errorf("listing %s at %s: %w", k.name, version, err)
		case !more:
			return nil, nil
		}
		if err := visit(page.Items); err != nil {
			return nil, err
		}
	}
}

// batches reads some objects at a version, and calls visit with a page of them at a time. Those that cannot be listed are read one by one,
// and those that cannot be read are left out.
func (a *api) batches(ctx context.Context, k *kind, version string, objects []string, visit func([]*unstructured.Unstructured) error) error {
	left := make(map[string]struct{}, len(objects))
	for _, object := range objects {
		left[object] = struct{}{}
	}
	_, err := a.pages(ctx, k, version, func(page []unstructured.Unstructured) error {
		var wanted []*unstructured.Unstructured
		for i := range page {
			if _, is := left[keyOf(&page[i])]; is {
				delete(left, keyOf(&page[i]))
				wanted = append(wanted, &page[i])
			}
		}
		return visit(wanted)
	})
	if err != nil || len(left) == 0 {
		return err
	}
	for names := range slices.Chunk(slices.Sorted(maps.Keys(left)), pageSize) {
		var read []*unstructured.Unstructured
		_, err := a.each(ctx, names, func(ctx context.Context, object string) (func() error, error) {
			at, name := a.at(k, version, object)
			got, err := at.Get(ctx, name, metav1.GetOptions{})
			if err != nil && isAbout(err) {
				return nil, nil //nolint:nilnil // that is about reading
			}
			return func() error { read = append(read, got); return nil }, err
		})
		if err == nil {
			err = visit(read)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAbout reports whether an error is the answer of an API server to a request, and no failure to ask it.
func isAbout(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !isFull(err)
}

// noSpace is what etcd says when it has reached its quota, and API servers pass on.
const noSpace = "database space exceeded"

// isFull reports whether a request failed since etcd is full, which says nothing about the object.
func isFull(err error) bool { return err != nil && strings.Contains(err.Error(), noSpace) }

// isLate reports whether an API server waited in vain for a webhook.
func isLate(err error) bool {
	text := err.Error()
	return apierrors.IsTimeout(err) || strings.Contains(text, "context deadline exceeded") || strings.Contains(text, "Client.Timeout")
}

// isUnconverted reports whether a request failed since a webhook could not be asked, or its response was none.
func isUnconverted(err error) bool {
	return err != nil && strings.Contains(err.Error(), "conversion webhook for")
}

// isUnreached reports whether a webhook could not be asked at all.
func isUnreached(err error) bool {
	if !isUnconverted(err) {
		return false
	}
	for _, part := range []string{": Post ", "connection refused", "EOF", "no such host", "x509", "server returned", "the server is currently unable", "an error on the server"} {
		if strings.Contains(err.Error(), part) {
			return true
		}
	}
	return false
}

// each asks about objects by their names, as every does.
func (a *api) each(ctx context.Context, objects []string, ask func(ctx context.Context, object string) (func() error, error)) ([]failure, error) {
	return every(ctx, objects, func(object string) string { return object }, ask)
}

// every asks about objects, some at a time. What is returned of a request is called one call at a time, in the order of the objects. Once
// several conversions timed out, nothing more is asked.
func every[T any](ctx context.Context, objects []T, name func(T) string, ask func(context.Context, T) (func() error, error)) ([]failure, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		mu       sync.Mutex
		late     int
		failures []failure
		queue    = make(chan int) // of indexes
		running  sync.WaitGroup
		answered = map[int]func(){} // that wait for those before them
		next     int
	)
	answer := func(object T, then func() error, err error) {
		switch {
		case ctx.Err() != nil:
		case err != nil && !isAbout(err):
			cancel(fmt.Errorf("%s: %w", name(object), err))
		case err != nil:
			failures = append(failures, failure{name(object), err})
		case then != nil:
			if err := then(); err != nil {
				cancel(err)
			}
		}
	}
	one := func(i int) {
		then, err := ask(ctx, objects[i])
		mu.Lock()
		defer mu.Unlock()
		if err != nil && isLate(err) {
			late++
		}
		answered[i] = func() { answer(objects[i], then, err) }
		for call := answered[next]; call != nil; call = answered[next] {
			delete(answered, next)
			next++
			call()
		}
	}
	for range workers {
		running.Go(func() {
			for i := range queue {
				one(i)
			}
		})
	}
	tired := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return late >= patience
	}
send:
	for i := range objects {
		if tired() {
			break
		}
		select {
		case queue <- i:
		case <-ctx.Done():
			break send
		}
	}
	close(queue)
	running.Wait()
	if ctx.Err() != nil {
		return failures, context.Cause(ctx)
	}
	return failures, nil
}

// get reads objects one by one, and returns those that cannot be read.
func (a *api) get(ctx context.Context, k *kind, version string) ([]failure, error) {
	return a.each(ctx, k.book.names, func(ctx context.Context, object string) (func() error, error) {
		namespace, name := kube.SplitKey(object)
		err := a.rest.Get().AbsPath(kube.Resource{Group: k.group, Plural: k.plural, Namespace: namespace}.Path(version, name)).Do(ctx).Error()
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // somebody deleted it
		}
		return nil, err
	})
}

const (
	// watchTimeout is how long a watch may show nothing.
	watchTimeout = 30 * time.Second

	// watchEnd is how long an API server keeps a watch at most, in seconds.
	watchEnd = 1800
)

// watch watches from the beginning, until all objects were shown. It returns those that were not, and what the watch ended with if
// it ended with an error.
func (a *api) watch(ctx context.Context, k *kind, version string) (missing []string, ended, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := int64(watchEnd)
	w, err := a.resource(k, version).Watch(ctx, metav1.ListOptions{TimeoutSeconds: &end})
	if isAbout(err) {
		return k.book.names, err, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("watching %s at %s: %w", k.name, version, err)
	}
	defer w.Stop()
	left := make(map[string]struct{}, len(k.book.names))
	for _, name := range k.book.names {
		left[name] = struct{}{}
	}
	quiet := time.NewTimer(watchTimeout)
	defer quiet.Stop()
	for len(left) > 0 && ended == nil {
		select {
		case event, open := <-w.ResultChan():
			object, is := event.Object.(*unstructured.Unstructured)
			switch {
			case !open:
				ended = errors.New("the API server closed the watch")
			case event.Type == watch.Error:
				ended = apierrors.FromObject(event.Object)
			case is:
				delete(left, keyOf(object))
			}
			quiet.Reset(watchTimeout)
		case <-quiet.C:
			ended = fmt.Errorf("it showed nothing more for %s", watchTimeout)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	for _, name := range k.book.names {
		if _, not := left[name]; not {
			missing = append(missing, name)
		}
	}
	return missing, ended, nil
}

// undecodable is what API servers since 1.32 write before the reason why they cannot read what is stored.
var undecodable = regexp.MustCompile(`^.*object not decodable revision=\d+: `)

// said is what an API server says of a request that failed.
func said(err error) string {
	text := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		text = status.Status().Message
	}
	return undecodable.ReplaceAllString(text, "")
}

// isRefused reports whether an API server refused something since it is not valid.
func isRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && (status.Status().Code == http.StatusUnprocessableEntity || status.Status().Code == http.StatusBadRequest)
}
