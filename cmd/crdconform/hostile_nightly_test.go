//go:build nightly

package main

import "testing"

// TestMoreHostileWebhooks has commands meet more of the webhooks that hurt than TestHostileWebhooks.
func TestMoreHostileWebhooks(t *testing.T) {
	t.Parallel()
	withstand(t, map[string]attack{
		"check, a bomb":       {"check", "gzip bomb of lists", []string{"--objects", few}, exitViolates},
		"check, no end":       {"check", "body without end", []string{"--objects", few}, exitViolates},
		"check, nested":       {"check", "objects 9,000 deep", []string{"--objects", few}, exitViolates},
		"check, API servers":  {"check", "endless to API servers", []string{"--objects", few, "--filter", "resource,webhook.response"}, exitViolates},
		"check, deep to them": {"check", "9,000 deep to API servers", []string{"--objects", few, "--filter", "resource,webhook.response"}, exitViolates},
		"check, many values":  {"check", "objects just below the bound", []string{"--objects", few, "--filter", "webhook"}, exitViolates},
		"check, much text":    {"check", "text just below the bound", []string{"--objects", few, "--filter", "webhook"}, exitViolates},
		"load, headers":       {"load", "headers without end", []string{"--duration", "2s", "--rate", "20"}, exitViolates},
		"load, a message":     {"load", "message of 250 MB", []string{"--duration", "2s", "--rate", "20"}, exitViolates},
	})
}

// TestStarvedOfAlmostAllFiles has a system that gives fewer files than TestStarved.
func TestStarvedOfAlmostAllFiles(t *testing.T) {
	t.Parallel()
	starved(t, "-n 128", "the limit of open files is 128, and 512 are needed")
}
