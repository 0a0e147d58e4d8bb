package delivery

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

	"github.com/crdconform/crdconform/internal/test/executable"
)

// strict reads a file of the folder deploy, which may have no keys that the structure does not have.
func strict(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.UnmarshalWithOptions(read(t, filepath.Join("deploy", name)), into, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
}

// fallsBack has a script show the new report by itself when the last one is refused, and only then. It never fails the job.
func fallsBack(t *testing.T, script string) {
	t.Helper()
	for code, want := range []string{"compared\n", "compared\n", "alone\n", "compared\n"} {
		said := "echo compared"
		if code == 2 { // a comparison that is refused writes to the standard error only
			said = ":"
		}
		dir := t.TempDir()
		program := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *--baseline*) %s; exit %d;; esac\necho alone\n", said, code)
		executable.Write(t, filepath.Join(dir, "crdconform"), []byte(program))
		if err := errors.Join(os.Mkdir(filepath.Join(dir, "last"), 0o755), os.WriteFile(filepath.Join(dir, "last", "report.json"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", script)
		shell.Dir, shell.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin", "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary")}
		out, err := shell.CombinedOutput()
		if summary, _ := os.ReadFile(filepath.Join(dir, "summary")); err != nil || string(out)+string(summary) != want {
			t.Errorf("exit code %d of the comparison: %v, %q, want %q", code, err, string(out)+string(summary), want)
		}
	}
}

// TestGitHubWorkflow has the keys be those of workflows.
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
	strict(t, "github-workflow.yaml", &workflow)
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if strings.Contains(step.Run, "--baseline") {
				fallsBack(t, step.Run)
			}
			if (step.Uses == "") == (step.Run == "") {
				t.Errorf("a step uses %q and runs %q", step.Uses, step.Run)
			}
		}
	}
	if len(workflow.On.Schedule) != 1 || workflow.Permissions["contents"] != "read" || len(workflow.Permissions) != 1 {
		t.Errorf("it has the schedule %v and the permissions %v", workflow.On.Schedule, workflow.Permissions)
	}
}

// TestGitLabPipeline has the keys be those of jobs.
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
	strict(t, "gitlab-ci.yaml", &pipeline)
	job := pipeline["crdconform"]
	for _, line := range job.AfterScript {
		if strings.Contains(line, "--baseline") {
			fallsBack(t, line)
		}
	}
	if job.Artifacts.Reports.JUnit != "crdconform-report/junit.xml" || job.Artifacts.When != "always" {
		t.Errorf("it keeps %+v", job.Artifacts)
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
	for document := range bytes.SplitSeq(read(t, "deploy/cronjob.yaml"), []byte("\n---\n")) {
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
	if !slices.Contains(c.Args, "--set=runTimeout=25m") || *job.Spec.JobTemplate.Spec.ActiveDeadlineSeconds <= 25*60 {
		t.Errorf("%q are killed after %d s, without a report", c.Args, *job.Spec.JobTemplate.Spec.ActiveDeadlineSeconds)
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
}
