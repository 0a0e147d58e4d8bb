package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crdconform/crdconform/internal/corpus"
	"github.com/crdconform/crdconform/reports"
)

// mostAmong is how many batches may be tried to learn what of one matters.
const mostAmong = 80

// because returns a dependency with what of its batch it takes, if that is found: the position, or other objects. The batch is the smallest that
// shows it.
func (dp *dependence) because(ctx context.Context, d dependency) dependency {
	if d.x.before != nil {
		d.when = "after a request for another object"
		return d
	}
	n := neighbours{p: dp, of: d}
	objects := dp.exhibits.sent(&d.x)
	if _, still := n.shows(ctx, objects, d.at); !still {
		return d
	}
	if at, is := n.position(ctx, objects); is {
		return at
	}
	objects, d = n.fewest(ctx, objects)
	if len(objects) == 2 {
		d.when = "beside " + n.other(ctx, objects, d)
	} else if len(objects) > 2 {
		d.when = fmt.Sprintf("in a request for %d objects", len(objects))
	}
	return d
}

// neighbours are what an object is converted otherwise among than alone.
type neighbours struct {
	p     *dependence
	of    dependency
	tried int
}

// shows asks for a batch, and returns the dependency of an object in that, if it has one.
func (n *neighbours) shows(ctx context.Context, objects []*unstructured.Unstructured, at int) (dependency, bool) {
	d := n.of
	if n.tried++; n.tried > mostAmong || ctx.Err() != nil || n.p.connection.isSilent() {
		return d, false
	}
	what := d.x.what
	d.at, d.x = at, n.p.talk.ask(ctx, d.x.request.ReviewVersion, d.pair, objects...)
	d.x.what = what // they may be at several versions
	isRefused := d.x.judgement.Rejected() != nil
	if d.refused || isRefused {
		return d, d.refused && isRefused
	}
	alone := n.p.byItself(ctx, d.pair, objects[at])
	d.apart = n.p.apart(d.pair, alone, d.x.judgement.Objects[at])
	slices.SortStableFunc(d.apart, func(a, b corpus.Loss) int { return cmp.Compare(ofMetadata(a), ofMetadata(b)) })
	return d, alone != nil && len(d.apart) > 0
}

// ofMetadata is 1 for what is in metadata, which says less than the rest, and 0 otherwise.
func ofMetadata(l corpus.Loss) int {
	if strings.HasPrefix(l.Path, "metadata.") {
		return 1
	}
	return 0
}

// position returns the dependency of what is at the position of the object, if that matters: another object there is converted otherwise as
// well, and the object elsewhere is not.
func (n *neighbours) position(ctx context.Context, objects []*unstructured.Unstructured) (dependency, bool) {
	at := n.of.at
	if n.of.refused {
		return n.of, false
	}
	if _, further := n.shows(ctx, slices.Insert(slices.Clone(objects), 0, n.p.talk.renamed(objects[0])), at+1); further {
		return n.of, false // it is behind others that matters
	}
	for _, elsewhere := range []int{at / 2, at / 3, at - 1} {
		if elsewhere < 0 || elsewhere == at {
			continue
		}
		swapped := slices.Clone(objects)
		swapped[at], swapped[elsewhere] = swapped[elsewhere], swapped[at]
		if _, moved := n.shows(ctx, swapped, elsewhere); moved {
			continue
		}
		d, is := n.shows(ctx, swapped, at)
		if !is {
			continue
		}
		d.when = fmt.Sprintf("at position %d of a request for %d objects, whichever object is there", at, len(objects))
		if last, still := n.shows(ctx, swapped[:at+1], at); still {
			d = last
			d.when = fmt.Sprintf("at position %d of a request, whichever object is there", at)
		}
		return d, true
	}
	return n.of, false
}

// fewest returns the smallest batch that was found to show the dependency, and that.
func (n *neighbours) fewest(ctx context.Context, objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, dependency) {
	found := n.of
	for chunk := len(objects) / 2; chunk > 0; chunk /= 2 {
		for start := 0; start < len(objects) && len(objects) > 1; {
			end, at := min(start+chunk, len(objects)), found.at
			switch {
			case found.refused:
			case start <= at && at < end && chunk > 1: // the object stays, and its neighbours go when the chunks are smaller
				start = end
				continue
			case start == at:
				start++
				continue
			case start < at:
				at -= end - start
			}
			fewer := slices.Delete(slices.Clone(objects), start, end)
			if d, still := n.shows(ctx, fewer, at); still && len(fewer) > 0 {
				objects, found = fewer, d
				continue
			}
			start = end
		}
	}
	return objects, found
}

// other says which object another one is converted otherwise beside: one with the same name, or any.
func (n *neighbours) other(ctx context.Context, objects []*unstructured.Unstructured, d dependency) string {
	if objects[0].GetName() == objects[1].GetName() {
		renamed := slices.Clone(objects)
		renamed[1-max(d.at, 0)] = n.p.talk.renamed(renamed[1-max(d.at, 0)])
		if _, still := n.shows(ctx, renamed, d.at); !still {
			return "another object with the same metadata.name"
		}
	}
	return "another object"
}

// differing returns the fields in which an object was converted otherwise, or that it was refused.
func (dp *dependence) differing(d dependency) []reports.FieldFinding {
	of := reports.FieldFinding{Effect: refused, From: d.pair.From, To: d.pair.To, When: d.when, Message: d.message()}
	if d.refused {
		of.Violates = violatedBy(d.x)
		return []reports.FieldFinding{of}
	}
	var findings []reports.FieldFinding
	for _, l := range d.apart {
		of.Field, of.Effect = dp.definition.schemaOf(d.pair.To).Pattern(l.Path), differs
		of.Message = fmt.Sprintf("%s: object %d of %d: %s", d.x.what, d.at, len(d.x.request.Objects), l)
		findings = append(findings, of)
	}
	return findings
}

// only says what of the request it takes, if that is known, as the end of a message.
func (d dependency) only() string {
	if d.when == "" {
		return ""
	}
	return "; it is so " + d.when
}

// message says how an object is converted otherwise than alone.
func (d dependency) message() string {
	n := len(d.x.request.Objects)
	switch {
	case d.refused:
		return fmt.Sprintf("%s: conversion of %d objects together failed, although it converts each of them alone: %s%s", d.x.what, n, d.x.judgement.Rejected(), d.only())
	case d.x.before != nil:
		return fmt.Sprintf("%s: object %d of %d: expected the same as before it was asked for another object, which is in request-before.json: %s", d.x.what, d.at, n, fewLines(d.apart))
	}
	return fmt.Sprintf("%s: object %d of %d: expected the same as alone: %s%s", d.x.what, d.at, n, fewLines(d.apart), d.only())
}
