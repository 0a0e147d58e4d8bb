package kube

import (
	"context"
	"errors"
	"sort"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// pageTimeout is how long a page of a list may take. API servers end requests after a minute.
	pageTimeout = 90 * time.Second

	// restarts is how often a list may expire without anything new in between.
	restarts = 3
)

// List is a page of objects.
type List interface {
	*unstructured.UnstructuredList | *metav1.PartialObjectMetadataList | *apiextensionsv1.CustomResourceDefinitionList
	metav1.ListInterface
}

// Pager lists objects page by page. API servers forget the revision of a list after some minutes. They may offer to go on with the present
// one; otherwise the list begins anew, and what was there before is left out: it is in the order of the keys.
//
// A page that an API server refuses for the moment, as while it fills a cache, is asked for again by client-go, at the server's pace.
type Pager[L List] struct {
	// List lists a page; it is that of a client.
	List func(context.Context, metav1.ListOptions) (L, error)

	// Options are those of the next page. The limit may be changed at any time.
	Options metav1.ListOptions

	// Anew is for lists that have to be of one revision: it is called before the first page of a list that begins anew, of which nothing is left
	// out then. It may be nil.
	Anew func() error

	// Repeat has what came before come once more when a list begins anew: to migrate an object twice is better than not to.
	Repeat bool

	// Ahead has Each list the next page while one is visited.
	Ahead bool

	Revision string // of the first page
	Expired  int    // how often the API server had forgotten the revision
	Last     string // the key of the object that has come furthest

	first     metav1.ListOptions
	begun     bool
	over      bool
	fruitless int // expiries since something new came
}

// IsForgotten reports whether an API server says that it no longer has the resource version that it was asked for.
func IsForgotten(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// Next returns the next page, and whether there is one. After an error it can be tried again.
func (p *Pager[L]) Next(ctx context.Context) (page L, more bool, err error) {
	page, more, _, err = p.next(ctx)
	return page, more, err
}

// next returns also whether the list begins anew with the page.
func (p *Pager[L]) next(ctx context.Context) (page L, more, anew bool, err error) {
	if !p.begun {
		p.begun, p.first = true, p.Options
		p.first.Continue = ""
	}
	for !p.over {
		if ctx.Err() != nil {
			return nil, false, anew, context.Cause(ctx)
		}
		within, cancel := context.WithTimeout(ctx, pageTimeout)
		page, err = p.List(within, p.Options)
		cancel()
		if err == nil {
			p.seen(page)
			return page, true, anew, nil
		}
		if ctx.Err() != nil {
			return nil, false, anew, context.Cause(ctx)
		}
		if !IsForgotten(err) || p.Options.Continue == "" || p.fruitless == restarts {
			return nil, false, anew, err
		}
		p.Expired++
		p.fruitless++
		p.Options.Continue = ""
		if status := apierrors.APIStatus(nil); p.Anew == nil && errors.As(err, &status) {
			p.Options.Continue = status.Status().Continue
		}
		if p.Options.Continue == "" {
			limit := p.Options.Limit
			p.Options, anew = p.first, true
			p.Options.Limit = limit
		}
	}
	return nil, false, anew, nil
}

// seen goes on behind a page, and takes out of it what has come before.
func (p *Pager[L]) seen(page L) {
	if p.Revision == "" {
		p.Revision = page.GetResourceVersion()
	}
	p.Options.Continue, p.over = page.GetContinue(), page.GetContinue() == ""
	p.Options.ResourceVersion, p.Options.ResourceVersionMatch = "", "" // the token has it
	was, last := p.Last, ""
	trim := p.Expired > 0 && p.Anew == nil && !p.Repeat
	switch list := any(page).(type) {
	case *unstructured.UnstructuredList:
		list.Items, last = after(list.Items, was, trim)
	case *apiextensionsv1.CustomResourceDefinitionList:
		list.Items, last = after(list.Items, was, trim)
	case *metav1.PartialObjectMetadataList:
		list.Items, last = after(list.Items, was, trim)
	}
	if last > was {
		p.Last, p.fruitless = last, 0
	}
}

// after returns the objects of a page, without those up to a key if it is to be trimmed, and the key of the last one.
func after[T any, O interface {
	*T
	metav1.Object
}](items []T, key string, trim bool) (left []T, last string) {
	if n := len(items); n > 0 {
		last = Key(O(&items[n-1]).GetNamespace(), O(&items[n-1]).GetName())
	}
	if trim {
		items = items[sort.Search(len(items), func(i int) bool { return Key(O(&items[i]).GetNamespace(), O(&items[i]).GetName()) > key }):]
	}
	return items, last
}

// Key returns the key of an object, by which API servers list.
func Key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitKey returns the namespace and the name in a key.
func SplitKey(key string) (namespace, name string) {
	if namespace, name, found := strings.Cut(key, "/"); found {
		return namespace, name
	}
	return "", key
}

// Each calls visit with each page.
func (p *Pager[L]) Each(ctx context.Context, visit func(L) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		page       L
		more, anew bool
		err        error
	}
	ask := func() <-chan answer {
		got := make(chan answer, 1)
		next := func() {
			page, more, anew, err := p.next(ctx)
			got <- answer{page, more, anew, err}
		}
		if p.Ahead {
			go next()
		} else {
			next()
		}
		return got
	}
	next := ask()
	for {
		a := <-next
		if a.err != nil || !a.more {
			return a.err
		}
		if p.Ahead {
			next = ask()
		}
		err := error(nil)
		if a.anew && p.Anew != nil {
			err = p.Anew()
		}
		if err == nil {
			err = visit(a.page)
		}
		if err != nil {
			if cancel(); p.Ahead {
				<-next
			}
			return err
		}
		if !p.Ahead {
			next = ask()
		}
	}
}
