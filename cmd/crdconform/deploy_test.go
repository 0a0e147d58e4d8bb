package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// deployedFile returns a file of the folder deploy.
func deployedFile(t *testing.T, name string) []byte {
	t.Helper()
	return read(t, filepath.Join("..", "..", "deploy", name))
}

// strict refuses keys that a structure does not have.
func strict(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
}

// usable fails when a command line is none that this program takes.
func usable(t *testing.T, words []string) {
	t.Helper()
	cmd, rest, err := newRoot(streams{}).Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil || !cmd.HasParent() {
		t.Errorf("%q: %v", words, err)
	}
}

// usableLines has the program's own commands of a script be usable, and returns how many there are.
func usableLines(t *testing.T, scripts ...string) int {
	t.Helper()
	n := 0
	for _, script := range scripts {
		for part := range strings.SplitSeq(strings.NewReplacer("; ", "\n", " && ", "\n", " || ", "\n", "then ", "\n").Replace(script), "\n") {
			words := strings.Fields(part)
			if len(words) == 0 || words[0] != "crdconform" {
				continue
			}
			if redirected := slices.Index(words, ">>"); redirected >= 0 {
				words = words[:redirected]
			}
			usable(t, words[1:])
			n++
		}
	}
	return n
}

// fallsBack has a script show the new report by itself when the last one is refused, and only then. It never fails the job.
func fallsBack(t *testing.T, script string) {
	t.Helper()
	for code, want := range map[int]string{exitConforms: "compared\n", exitViolates: "compared\n", exitUnjudged: "compared\n", exitUsage: "alone\n"} {
		said := "echo compared"
		if code == exitUsage {
			said = ":" // it writes to the standard error only
		}
		dir := folder(t, map[string]string{"crdconform": fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--baseline*) %s; exit %d;; esac\necho alone\n", said, code)})
		if err := errors.Join(os.Chmod(filepath.Join(dir, "crdconform"), 0o755), os.Mkdir(filepath.Join(dir, "last"), 0o755)); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "last", "report.json"), "")
		shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		shell.Dir, shell.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary")}
		out, err := shell.CombinedOutput()
		if summary, _ := os.ReadFile(filepath.Join(dir, "summary")); err != nil || string(out)+string(summary) != want {
			t.Errorf("exit code %d of the comparison: %v, %q, want %q", code, err, string(out)+string(summary), want)
		}
	}
}

// TestGitHubWorkflow has the keys be those of workflows, and the commands those of this program.
func TestGitHubWorkflow(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Name string
		On   struct {
			Schedule         []struct{ Cron string }
			WorkflowDispatch any `yaml:"workflow_dispatch"`
		}
		Permissions map[string]string
		Concurrency struct{ Group string }
		Jobs        map[string]struct {
			RunsOn         string `yaml:"runs-on"`
			TimeoutMinutes int    `yaml:"timeout-minutes"`
			Steps          []struct {
				Name, Uses, Run, If string
				With                map[string]string
			}
		}
	}
	strict(t, deployedFile(t, "github-workflow.yaml"), &workflow)
	n := 0
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if strings.Contains(step.Run, "--baseline") {
				fallsBack(t, step.Run)
			}
			if (step.Uses == "") == (step.Run == "") {
				t.Errorf("a step uses %q and runs %q", step.Uses, step.Run)
			}
			n += usableLines(t, step.Run)
		}
	}
	if n != 4 || len(workflow.On.Schedule) != 1 || workflow.Permissions["contents"] != "read" || len(workflow.Permissions) != 1 {
		t.Errorf("it has %d commands, the schedule %v and the permissions %v", n, workflow.On.Schedule, workflow.Permissions)
	}
}

// TestGitLabPipeline has the keys be those of jobs, and the commands those of this program.
func TestGitLabPipeline(t *testing.T) {
	t.Parallel()
	var pipeline map[string]struct {
		Image, Timeout string
		Rules          []struct{ If string }
		Variables      map[string]string
		Cache          struct {
			Key, When string
			Paths     []string
		}
		BeforeScript []string `yaml:"before_script"`
		Script       []string
		AfterScript  []string `yaml:"after_script"`
		Artifacts    struct {
			When     string
			ExpireIn string `yaml:"expire_in"`
			ExposeAs string `yaml:"expose_as"`
			Paths    []string
			Reports  struct{ JUnit string }
		}
	}
	strict(t, deployedFile(t, "gitlab-ci.yaml"), &pipeline)
	job := pipeline["crdconform"]
	for _, line := range job.AfterScript {
		if strings.Contains(line, "--baseline") {
			fallsBack(t, line)
		}
	}
	if n := usableLines(t, slices.Concat(job.BeforeScript, job.Script, job.AfterScript)...); n != 4 || job.Artifacts.Reports.JUnit != "crdconform-report/junit.xml" || job.Artifacts.When != "always" {
		t.Errorf("it has %d commands, and keeps %+v", n, job.Artifacts)
	}
}

// TestCronJob has Kubernetes' own types take the objects, and namespaces that are restricted take the pods.
func TestCronJob(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	claims := map[string]bool{}
	var job *batchv1.CronJob
	for document := range bytes.SplitSeq(deployedFile(t, "cronjob.yaml"), []byte("\n---\n")) {
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := object.(type) {
		case *corev1.PersistentVolumeClaim:
			claims[o.Namespace+"/"+o.Name] = true
		case *batchv1.CronJob:
			job = o
		}
	}
	if job == nil {
		t.Fatal("there is no CronJob")
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	s, c := pod.SecurityContext, pod.Containers[0]
	if !*s.RunAsNonRoot || *s.RunAsUser == 0 || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *pod.AutomountServiceAccountToken {
		t.Errorf("the pod may too much: %+v", s)
	}
	if own := c.SecurityContext; *own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem || !slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		t.Errorf("the container may too much: %+v", own)
	}
	mounted := map[string]string{}
	for _, mount := range c.VolumeMounts {
		mounted[mount.Name] = mount.MountPath
	}
	for _, volume := range pod.Volumes {
		if mounted[volume.Name] == "" || volume.PersistentVolumeClaim != nil && !claims[job.Namespace+"/"+volume.PersistentVolumeClaim.ClaimName] {
			t.Errorf("the volume %s is not mounted, or its claim is missing", volume.Name)
		}
	}
	if mounted["tmp"] != "/tmp" || !slices.Contains(c.Args, "--crd="+mounted["definitions"]) || !slices.Contains(c.Args, "--report-dir="+mounted["reports"]+"/last") {
		t.Errorf("%q does not go with %v", c.Args, mounted)
	}
	usable(t, c.Args)
}
