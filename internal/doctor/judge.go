package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdconform/crdconform/internal/lint"
	"github.com/crdconform/crdconform/internal/storage"
	"github.com/crdconform/crdconform/internal/visible"
	"github.com/crdconform/crdconform/reports"
	"github.com/crdconform/crdconform/requirement"
)

// maxDeletion is how long the deletion of a definition may take.
const maxDeletion = 5 * time.Minute

// maxEstablishing is how long it may take until a definition is established whose names were accepted. API servers wait five seconds when
// there are several.
const maxEstablishing = time.Minute

// judge judges one definition.
type judge struct {
	*Definition
	now     time.Time
	flags   string // that say which cluster it is, for commands
	results []reports.Result
}

// Judge judges a cluster as it was seen, at a time. The flags say which cluster it is, for commands that mend something.
func Judge(c *Cluster, now time.Time, flags string) []reports.Result {
	var all []reports.Result
	for _, d := range c.Definitions {
		j := &judge{Definition: d, now: now, flags: flags}
		for _, one := range []func(){
			j.accepted, j.deletion, j.schema, j.none, j.needed, j.namespace, j.service, j.endpoints, j.converts, j.bundle, j.expiry, j.served,
			j.storedVersions, j.readable, j.requested,
		} {
			one()
		}
		all = append(all, j.results...)
	}
	return all
}

// add adds a result. It gives what was found and what to do about it as the reason.
func (j *judge) add(id requirement.ID, v requirement.Verdict, path, reason string) {
	r, _ := requirement.Lookup(id) // IDs are from the catalogue
	j.results = append(j.results, reports.Result{
		Requirement: r, Subject: j.Name, Verdict: v, Reason: reason, Spec: r.Statement, Location: path,
		Rerun: strings.TrimSpace("crdconform doctor " + j.Name + " " + j.flags),
		// What does not apply to a definition says nothing against it.
		Immaterial: v == requirement.NotApplicable,
	})
}

func (j *judge) passes(id requirement.ID) { j.add(id, requirement.Passed, "", "") }

// spared is for what cannot be violated here.
func (j *judge) spared(id requirement.ID, why string) { j.add(id, requirement.NotApplicable, "", why) }

// unseen is for what could not be looked at.
func (j *judge) unseen(id requirement.ID, why string) { j.add(id, requirement.Errored, "", why) }

// toFix parts what was found from what to do about it.
const toFix = "\nTo fix it: "

func (j *judge) violates(id requirement.ID, part requirement.PartName, path, reason, mend string) {
	j.add(id, requirement.SeverityOf(id, part), path, reason+toFix+mend)
}

func (j *judge) condition(sort apiextensionsv1.CustomResourceDefinitionConditionType) apiextensionsv1.CustomResourceDefinitionCondition {
	i := slices.IndexFunc(j.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == sort })
	if i < 0 {
		return apiextensionsv1.CustomResourceDefinitionCondition{Type: sort, Message: "there is no such condition"}
	}
	return j.Status.Conditions[i]
}

// rename says what to do about names that are not accepted.
func (j *judge) rename() string {
	names := j.Spec.Names
	for _, short := range names.ShortNames {
		if short == names.Singular || short == names.Plural || names.Singular == "" && short == strings.ToLower(names.Kind) {
			return fmt.Sprintf("remove %q from spec.names.shortNames: it is a name of the definition itself", short)
		}
	}
	return "change spec.names, or remove the other definition"
}

// establishing reports whether the API server is about to establish the definition, whose names it has accepted: that takes some seconds.
func (j *judge) establishing() bool {
	c := j.condition(apiextensionsv1.Established)
	return c.Reason == "Installing" && j.now.Sub(c.LastTransitionTime.Time) < maxEstablishing
}

func (j *judge) accepted() {
	id := requirement.DoctorDefinitionAccepted
	for _, sort := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted, apiextensionsv1.Established} {
		c := j.condition(sort)
		if c.Status == apiextensionsv1.ConditionTrue || sort == apiextensionsv1.Established && j.establishing() {
			continue
		}
		reason := append([]string{fmt.Sprintf("the condition %s is %s: %s", sort, cmp.Or(string(c.Status), "missing"), c.Message)}, j.Holders...)
		j.violates(id, "", "spec.names", strings.Join(reason, "; "), j.rename())
		return
	}
	if c := j.condition(apiextensionsv1.NonStructuralSchema); c.Status == apiextensionsv1.ConditionTrue {
		j.violates(id, "", "spec.versions", "its schema is not structural: "+c.Message, "give every field of the schema a type")
		return
	}
	j.passes(id)
}

func (j *judge) deletion() {
	id := requirement.DoctorDefinitionDeletion
	if j.DeletionTimestamp == nil || j.now.Sub(j.DeletionTimestamp.Time) < maxDeletion {
		j.passes(id)
		return
	}
	reason := fmt.Sprintf("it has been waiting for its deletion since %s, for %s", j.DeletionTimestamp.UTC().Format(time.RFC3339), strings.Join(j.Finalizers, ", "))
	if c := j.condition(apiextensionsv1.Terminating); c.Status == apiextensionsv1.ConditionTrue && c.Message != "" {
		reason += ": " + c.Message
	}
	j.violates(id, "", "metadata.deletionTimestamp", reason, fmt.Sprintf("kubectl get %s --all-namespaces %s shows what is left; let the controllers of its finalizers run, or the webhook", j.Spec.Names.Plural+"."+j.Spec.Group, j.flags))
}

// rules says which rules of lint other requirements than the one on schemas are about.
func rules(id requirement.ID) []lint.RuleID {
	switch id {
	case requirement.DoctorConversionNone:
		return []lint.RuleID{lint.NoneLosesFields, lint.NoneValidation, lint.NoneRequired}
	case requirement.DoctorConversionNeeded:
		return []lint.RuleID{lint.WebhookOneVersion}
	case requirement.DoctorCertificateBundle:
		return []lint.RuleID{lint.CABundleInvalid, lint.CABundleLeaf, lint.CABundleMissing, lint.InjectionMalformed, lint.InjectionLegacy}
	case requirement.DoctorCertificateExpiry:
		return []lint.RuleID{lint.CABundleExpired, lint.CABundleExpiring, lint.CABundleNotYetValid}
	default:
		return nil
	}
}

// linted returns what lint found by some rules, but for notes.
func (j *judge) linted(about func(lint.RuleID) bool) []lint.Diagnostic {
	return slices.DeleteFunc(slices.Clone(j.Lint), func(f lint.Diagnostic) bool { return f.Level == lint.Note || !about(f.Rule) })
}

// lintVerdict judges a requirement by what lint found; part is for what lint only warns of.
func (j *judge) lintVerdict(id requirement.ID, findings []lint.Diagnostic, part requirement.PartName) bool {
	if j.Unlinted != "" {
		j.unseen(id, "the definition cannot be judged: "+j.Unlinted)
		return true
	}
	if len(findings) == 0 {
		return false
	}
	worst := findings[0]
	var texts []string
	for _, f := range findings {
		if f.Level == lint.Error {
			part = ""
			if worst.Level != lint.Error {
				worst = f
			}
		}
		texts = append(texts, f.Path+": "+f.Message)
	}
	rule, _ := lint.Lookup(worst.Rule)
	j.violates(id, part, worst.Path, strings.Join(texts, "\n"), rule.Help)
	return true
}

func (j *judge) schema() {
	id := requirement.DoctorDefinitionSchema
	others := slices.Concat(rules(requirement.DoctorConversionNone), rules(requirement.DoctorConversionNeeded), rules(requirement.DoctorCertificateBundle), rules(requirement.DoctorCertificateExpiry))
	if !j.lintVerdict(id, j.linted(func(r lint.RuleID) bool { return !slices.Contains(others, r) }), requirement.PartWarning) {
		j.passes(id)
	}
}

func (j *judge) none() {
	id := requirement.DoctorConversionNone
	switch {
	case j.Webhook != nil:
		j.spared(id, "it has a conversion webhook")
	case len(j.Spec.Versions) == 1:
		j.spared(id, "it has one version")
	case !j.lintVerdict(id, j.linted(func(r lint.RuleID) bool { return slices.Contains(rules(id), r) }), requirement.PartWarning):
		j.passes(id)
	}
}

// needed finds webhooks that have nothing to convert: whatever is stored or asked for is at one version.
func (j *judge) needed() {
	id := requirement.DoctorConversionNeeded
	used := map[string]bool{}
	for _, v := range j.Spec.Versions {
		if v.Served || v.Storage {
			used[v.Name] = true
		}
	}
	for _, v := range j.Status.StoredVersions {
		used[v] = true
	}
	switch {
	case j.Webhook == nil:
		j.spared(id, noWebhook)
	case len(used) > 1:
		j.passes(id)
	default:
		j.violates(id, "", "spec.conversion", "it has a conversion webhook, but only one version is in use: nothing is stored or requested at any other", "set spec.conversion.strategy to None")
	}
}

const noWebhook = "it has no conversion webhook"

func (j *judge) storedVersions() {
	id := requirement.DoctorStorageStoredVersions
	if len(j.Status.StoredVersions) < 2 {
		j.passes(id)
		return
	}
	var done, left []string
	for _, version := range j.Status.StoredVersions {
		v := (*storage.Version)(nil)
		if j.Storage != nil {
			v = j.Storage.Version(version)
		}
		switch {
		case v == nil:
		case v.Storage:
		case v.Stored > 0:
			left = append(left, fmt.Sprintf("%s stored at %s", visible.Count(v.Stored, "object is", "objects are"), version))
		case j.Storage.Unknown == 0 && len(j.Storage.Gaps) == 0:
			done = append(done, version)
		}
	}
	reason := "status.storedVersions is " + strings.Join(j.Status.StoredVersions, ", ")
	mend := j.migrate()
	switch {
	case j.Storage == nil:
		j.unseen(id, reason+", and its objects could not be looked at: "+cmp.Or(j.Unstored, "it is being deleted"))
		return
	case len(left) > 0:
		reason += ": " + strings.Join(left, ", ")
	case len(done) > 0:
		reason += ", and nothing is stored at " + strings.Join(done, ", ") + " any more"
	default:
		reason += fmt.Sprintf(": at which versions %s stored is not known", visible.Count(j.Storage.Unknown, "object is", "objects are"))
	}
	j.violates(id, "", "status.storedVersions", reason, mend)
}

// migrate says how objects get to the storage version, which they cannot while nothing converts them.
func (j *judge) migrate() string {
	if cause := j.down(); cause != "" {
		return fmt.Sprintf("see to %s first: without the webhook, nothing can be migrated", cause)
	}
	return fmt.Sprintf("crdconform storage migrate %s %s", j.Name, j.flags)
}

func (j *judge) readable() {
	id := requirement.DoctorStorageReadable
	var wrong []string
	for _, object := range j.unnamed() {
		wrong = append(wrong, object+" is stored at a version that it no longer has")
	}
	if j.Storage != nil {
		for _, v := range j.Storage.Versions {
			if !v.Defined && v.ManagedFields > 0 {
				wrong = append(wrong, fmt.Sprintf("the managed fields of %s name %s, which it no longer has", visible.Count(v.ManagedFields, "object", ""), v.Name))
			}
			if !v.Defined && v.Stored > 0 {
				wrong = append(wrong, fmt.Sprintf("%s stored at %s, which it no longer has", visible.Count(v.Stored, "object is", "objects are"), v.Name))
			}
		}
	} else {
		for _, version := range slices.Sorted(maps.Keys(j.Foreign)) {
			wrong = append(wrong, fmt.Sprintf("the managed fields of %s name %s, which it no longer has", visible.Count(j.Foreign[version], "object", "objects"), version))
		}
	}
	switch {
	case len(wrong) > 0:
		j.violates(id, "", "spec.versions", strings.Join(wrong, "; "), "put the version back with served: false if objects are stored at it, and then "+j.migrate())
	case j.Unsampled == "" || j.Storage != nil && len(j.Storage.Gaps) == 0:
		j.passes(id)
	case j.Webhook == nil && len(j.Conversions) > 0:
		j.unseen(id, j.Unsampled) // which doctor.webhook.converts says of a webhook
	default:
		j.spared(id, "its objects were not looked at: "+j.Unsampled)
	}
}

// unnamed are the objects that could not be read since they are stored at a version that the definition does not have, which is no fault of
// the webhook.
func (j *judge) unnamed() []string {
	var objects []string
	for _, c := range j.Conversions {
		if isUnnamed(c.Err) && !slices.Contains(objects, c.Object) {
			objects = append(objects, c.Object)
		}
	}
	return objects
}

// isUnnamed reports whether an API server cannot convert an object for want of the version that it is stored at.
func isUnnamed(err error) bool {
	return err != nil && strings.Contains(err.Error(), "from an invalid group/version")
}

func (j *judge) requested() {
	id := requirement.DoctorVersionsRequested
	i := slices.IndexFunc(j.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Served && v.Deprecated })
	if i < 0 {
		j.spared(id, "it serves no version that is deprecated")
		return
	}
	if j.Storage == nil {
		j.unseen(id, "who asks for it is not known: "+cmp.Or(j.Unstored, "it is being deleted"))
		return
	}
	var asked, unknown []string
	for _, v := range j.Storage.Versions {
		switch {
		case !v.Served || !v.Deprecated:
		case len(v.Requests.Asked) > 0 || v.Requests.Total > 0:
			asked = append(asked, fmt.Sprintf("%s is deprecated and asked for (%s)", v.Name, v.Requests.Basis))
		case v.ManagedFields > 0 && !v.Requests.Known:
			asked = append(asked, fmt.Sprintf("%s is deprecated, and the managed fields of %s name it", v.Name, visible.Count(v.ManagedFields, "object", "")))
		case !v.Requests.Known:
			for _, gap := range v.Requests.Gaps {
				unknown = append(unknown, gap.Why)
			}
		}
	}
	switch {
	case len(asked) > 0:
		j.violates(id, "", fmt.Sprintf("spec.versions[%d].deprecated", i), strings.Join(asked, "; "), fmt.Sprintf("crdconform storage status %s %s --audit-log FILE names the clients", j.Name, j.flags))
	case len(unknown) > 0:
		j.unseen(id, strings.Join(unknown, "; "))
	default:
		j.passes(id)
	}
}
