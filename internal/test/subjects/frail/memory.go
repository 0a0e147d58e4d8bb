package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/crdconform/crdconform/internal/test/subjects/program"
)

// scarce is the memory limit, in bytes, below which it saves memory.
const scarce = 64 << 20

// convertSparingly leaves the site out when memory is scarce, as one that answers with what it has so far.
func convertSparingly(request program.Review) ([]json.RawMessage, error) {
	converted, err := convertAll(request, nil)
	if err != nil || !isScarce() {
		return converted, err
	}
	return withoutSite(converted)
}

// withoutSite leaves the site out of objects.
func withoutSite(converted []json.RawMessage) (_ []json.RawMessage, err error) {
	for i, raw := range converted {
		var object map[string]any
		if err = json.Unmarshal(raw, &object); err != nil {
			return nil, err
		}
		if spec, is := object["spec"].(map[string]any); is {
			delete(spec, "site")
		}
		if converted[i], err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

// isScarce reports whether the cgroup of this process has a low memory limit.
func isScarce() bool {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		file := ""
		switch {
		case fields[1] == "":
			file = filepath.Join("/sys/fs/cgroup", fields[2], "memory.max")
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			file = filepath.Join("/sys/fs/cgroup/memory", fields[2], "memory.limit_in_bytes")
		default:
			continue
		}
		limit, err := os.ReadFile(file) //nolint:gosec // of the kernel
		if n, wrong := strconv.ParseUint(strings.TrimSpace(string(limit)), 10, 64); err == nil && wrong == nil && n < scarce {
			return true
		}
	}
	return false
}
