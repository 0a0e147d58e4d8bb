package control

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crdconform/crdconform/internal/fixtures"
	"github.com/crdconform/crdconform/internal/suites"
	"github.com/crdconform/crdconform/requirement"
)

// migrationGroup is the API by which stored objects are upgraded.
const migrationGroup = "storagemigration.k8s.io"

// migration is about the upgrade of stored objects by the control plane.
func (c chapter) migration() {
	Describe("storage migration", Label(suites.Slow), func() {
		upgraded := c.env.With(fixtures.Webhook)

		upgraded.It(requirement.ControlMigrationRewrites,
			"migrates objects and writes each back as it is", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				migrated := c.migrate(ctx, crd, version)
				c.soon(ctx, migrated).Should(haveSucceeded(), "the migration must succeed")
				for _, name := range names() {
					Expect(c.rewrites(ctx, crd, name)).To(BeFalse(), "%s must already be stored at %s, so that writing it back changes nothing", name, newer)
				}
			})

		upgraded.It(requirement.ControlMigrationStoredVersions,
			"migrates objects, and removes the older version and the webhook", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal([]string{older, newer}))
				migrated := c.migrate(ctx, crd, version)
				c.soon(ctx, migrated).Should(haveSucceeded(), "the migration must succeed")
				c.soon(ctx, func() []string { return crd.Definition(ctx).Status.StoredVersions }).Should(Equal([]string{newer}), "the older version must be removed from status.storedVersions")
				crd.Change(ctx, fixtures.WithVersions(newer))
				crd.Webhook.Break("status-500")
				Expect(crd.At(newer).List(ctx)).To(And(HaveLen(len(names())+1), HaveEach(HaveField("Object", HaveKeyWithValue("host", "localhost")))), "the objects must be readable without the webhook")
			})

		upgraded.It(requirement.ControlMigrationFailure,
			"migrates objects that must not be written", func(ctx SpecContext, crd *suites.Resource) {
				version := c.migrations(ctx)
				c.needsPolicies(ctx)
				c.population(ctx, crd, fixtures.LocalCronTab.At(older))
				c.forbidUpdates(ctx, crd)
				both := crd.Definition(ctx).Status.StoredVersions
				Expect(both).To(Equal([]string{older, newer}))
				migrated := c.migrate(ctx, crd, version)
				c.soon(ctx, migrated).Should(haveFailed(), "the migration must fail")
				Expect(crd.Definition(ctx).Status.StoredVersions).To(Equal(both), "objects are still stored at %s, which the migration did not change", older)
			})
	})
}

// migrations returns the version of the migration API that the server has, or skips the spec where there is none.
func (c chapter) migrations(ctx SpecContext) string {
	GinkgoHelper()
	c.env.Needs(ctx, controllers)
	version := preferred(ctx, c.env, migrationGroup)
	c.env.Needs(ctx, func(ctx SpecContext, env *suites.Env) string {
		if version == "" || version == "v1alpha1" {
			return fmt.Sprintf("the API for storage migration, but this API server does not serve v1beta1 or later of %s, which must be switched on before 1.37", migrationGroup)
		}
		return served(migrationGroup+"/"+version, "storageversionmigrations", "the API for storage migration")(ctx, env)
	}, may("create", migrationGroup, "storageversionmigrations"))
	return version
}

// needsPolicies skips the spec where there are no policies that make a migration fail.
func (c chapter) needsPolicies(ctx SpecContext) {
	GinkgoHelper()
	const admission = "admissionregistration.k8s.io"
	c.env.Needs(
		ctx, served(admission+"/v1", "validatingadmissionpolicies", "a policy that makes a migration fail"),
		may("create", admission, "validatingadmissionpolicies"), may("create", admission, "validatingadmissionpolicybindings"),
	)
}

// names are those of the objects to migrate.
func names() []string { return []string{"crontab-0", "crontab-1", "crontab-2"} }

// population creates objects like one at the older version and makes the newer one the storage version.
func (c chapter) population(ctx SpecContext, crd *suites.Resource, like *unstructured.Unstructured) {
	GinkgoHelper()
	for _, name := range names() {
		object := like.DeepCopy()
		object.SetName(name)
		crd.Create(ctx, older, object)
	}
	crd.Change(ctx, fixtures.StoredAt(newer))
}

// status reads what became of a migration.
type status func(context.Context) (storagemigrationv1.StorageVersionMigrationStatus, error)

// migrate asks for a migration and returns a function that reads what became of it.
func (c chapter) migrate(ctx SpecContext, crd *suites.Resource, version string) status {
	GinkgoHelper()
	became := c.begin(ctx, crd, version)
	c.proceed(ctx, crd)
	return became
}

// begin asks for a migration that is under way when it returns, and has changed nothing yet: see proceed.
func (c chapter) begin(ctx SpecContext, crd *suites.Resource, version string) status {
	GinkgoHelper()
	migrations := c.resource(migrationGroup+"/"+version, "storageversionmigrations")
	created := c.put(ctx, crd, migrations, &unstructuredMigration{
		TypeMeta:   metav1.TypeMeta{APIVersion: migrationGroup + "/" + version, Kind: "StorageVersionMigration"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: crd.Group(), Resource: "crontabs"}},
	})
	became := func(ctx context.Context) (storagemigrationv1.StorageVersionMigrationStatus, error) {
		var read storagemigrationv1.StorageVersionMigration
		object, err := migrations.Get(ctx, created.GetName(), metav1.GetOptions{})
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read)
		}
		return read.Status, err
	}
	c.soon(ctx, became).Should(And(
		HaveField("ResourceVersion", Not(BeEmpty())), HaveField("Conditions", ContainElement(isTrue(storagemigrationv1.MigrationRunning)))), "the migration must start")
	return became
}

// proceed lets a migration proceed. The controller begins when it has seen a change of the resource that is newer than the
// migration, or else when the API server reports once a minute that there was none. So an object is created.
func (chapter) proceed(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	later := fixtures.LocalCronTab.At(newer)
	later.SetName("later")
	crd.Create(ctx, newer, later)
}

// unstructuredMigration is a StorageVersionMigration without a status.
type unstructuredMigration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec storagemigrationv1.StorageVersionMigrationSpec `json:"spec"`
}

// rewrites reports whether writing an object back as it is changes it in storage, which it does when it is stored at another
// version than the storage version.
func (c chapter) rewrites(ctx SpecContext, crd *suites.Resource, name string) bool {
	GinkgoHelper()
	object := crd.Get(ctx, newer, name)
	written, err := crd.At(newer).Update(ctx, object)
	c.env.Require(err, "writing %s back", name)
	return written.GetResourceVersion() != object.GetResourceVersion()
}

// forbidUpdates makes the API server refuse updates of the objects of a definition.
func (c chapter) forbidUpdates(ctx SpecContext, crd *suites.Resource) {
	GinkgoHelper()
	const version = "admissionregistration.k8s.io/v1"
	policy := c.put(ctx, crd, c.resource(version, "validatingadmissionpolicies"), &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{crd.Group()}, APIVersions: []string{"*"}, Resources: []string{"crontabs"}},
				},
			}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "nothing may be written", Reason: new(metav1.StatusReasonForbidden)}},
		},
	})
	c.put(ctx, crd, c.resource(version, "validatingadmissionpolicybindings"), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "crdconform-"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.GetName(), ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	})
	path := crd.Path(newer, names()[0]) + "?dryRun=All"
	c.soon(ctx, func(ctx context.Context) int {
		return c.env.Do(ctx, http.MethodPatch, path, []byte(`{"metadata": {"labels": {"tried": "out"}}}`), http.Header{"Content-Type": {"application/merge-patch+json"}}).Status
	}).Should(Equal(http.StatusForbidden), "the policy must take effect")
}

// haveSucceeded matches the status of a migration that is over and did succeed.
func haveSucceeded() gomegatypes.GomegaMatcher {
	return haveEnded(storagemigrationv1.MigrationSucceeded)
}

// haveFailed matches the status of a migration that is over and did not succeed.
func haveFailed() gomegatypes.GomegaMatcher { return haveEnded(storagemigrationv1.MigrationFailed) }

// haveEnded matches the status of a migration that has ended, successfully or not.
func haveEnded(how storagemigrationv1.MigrationConditionType) gomegatypes.GomegaMatcher {
	return HaveField("Conditions", SatisfyAll(ContainElement(isTrue(how)), Not(ContainElement(isTrue(storagemigrationv1.MigrationRunning)))))
}

// isTrue matches a condition of a migration.
func isTrue(condition storagemigrationv1.MigrationConditionType) gomegatypes.GomegaMatcher {
	return SatisfyAll(HaveField("Type", string(condition)), HaveField("Status", metav1.ConditionTrue))
}
