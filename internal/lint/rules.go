package lint

import (
	"slices"

	"github.com/crdconform/crdconform/requirement"
)

// RuleID names a rule. The meaning of an ID never changes.
type RuleID string

// Every rule. Rules has what they are about.
const (
	KustomizationUnbuilt  RuleID = "kustomization-not-built"
	UnknownField          RuleID = "unknown-field"
	DuplicateKey          RuleID = "duplicate-key"
	DefinitionName        RuleID = "definition-name"
	APIApproved           RuleID = "api-approved"
	StorageVersionCount   RuleID = "storage-version-count"
	StorageVersionServed  RuleID = "storage-version-served"
	NoVersionServed       RuleID = "no-version-served"
	StoredVersionMissing  RuleID = "stored-version-missing"
	PreferredDeprecated   RuleID = "preferred-version-deprecated"
	StorageDeprecated     RuleID = "storage-version-deprecated"
	WarningUnused         RuleID = "deprecation-warning-unused"
	WarningInvalid        RuleID = "deprecation-warning-invalid"
	WarningVague          RuleID = "deprecation-warning-vague"
	WebhookOneVersion     RuleID = "webhook-one-version"
	ReviewVersionsNone    RuleID = "review-versions-none-known"
	ReviewVersionsUnknown RuleID = "review-versions-unknown"
	ReviewVersionsOld     RuleID = "review-versions-old"
	URLInvalid            RuleID = "url-invalid"
	URLInCluster          RuleID = "url-in-cluster"
	URLLocalhost          RuleID = "url-localhost"
	ServiceInvalid        RuleID = "service-invalid"
	ServiceElsewhere      RuleID = "service-elsewhere"
	CABundleInvalid       RuleID = "ca-bundle-invalid"
	CABundleExpired       RuleID = "ca-bundle-expired"
	CABundleNotYetValid   RuleID = "ca-bundle-not-yet-valid"
	CABundleExpiring      RuleID = "ca-bundle-expiring"
	CABundleLeaf          RuleID = "ca-bundle-leaf"
	CABundleMissing       RuleID = "ca-bundle-missing"
	InjectionMalformed    RuleID = "injection-malformed"
	InjectionLegacy       RuleID = "injection-legacy"
	SchemaMissing         RuleID = "schema-missing"
	SchemaNotStructural   RuleID = "schema-not-structural"
	PreserveUnknown       RuleID = "preserve-unknown-fields"
	NoneLosesFields       RuleID = "none-loses-fields"
	NoneValidation        RuleID = "none-validation-differs"
	NoneRequired          RuleID = "none-required-differs"
	TypeDiffers           RuleID = "type-differs"
	DefaultDiffers        RuleID = "default-differs"
	DefaultMissing        RuleID = "default-missing"
	StatusDiffers         RuleID = "status-subresource-differs"
	ScaleDiffers          RuleID = "scale-subresource-differs"
	ScalePath             RuleID = "scale-path-missing"
	ColumnPath            RuleID = "column-path-missing"
	IdentityChanged       RuleID = "identity-changed"
	VersionRemovedStored  RuleID = "stored-version-removed"
	VersionNoLongerServed RuleID = "version-no-longer-served"
	Refused               RuleID = "refused"
)

// Rule is a kind of finding.
type Rule struct {
	ID           RuleID           `json:"id"`
	Level        Level            `json:"level"` // of its findings, unless they say otherwise
	Summary      string           `json:"summary"`
	Why          string           `json:"why"`                    // what happens to those who ignore it
	Help         string           `json:"help"`                   // what to do
	Requirements []requirement.ID `json:"requirements,omitempty"` // what the documents advise, if they do
}

// Rules returns every rule, those about the same matter together.
func Rules() []Rule {
	return slices.Concat(definitionRules(), versionRules(), conversionRules(), caBundleRules(), schemaRules(), pairRules(), serverRules(), upgradeRules(), schemaUpgradeRules(), definitionUpgradeRules())
}

// Lookup returns the rule of an ID and whether there is one.
func Lookup(id RuleID) (Rule, bool) {
	all := Rules()
	i := slices.IndexFunc(all, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}, false
	}
	return all[i], true
}

func definitionRules() []Rule {
	return []Rule{
		{
			ID: KustomizationUnbuilt, Level: Warning,
			Summary: "The kustomization that the definition belongs to cannot be built.",
			Why:     "The definition is judged as its file has it, without the patches that the kustomization adds, such as a conversion webhook.",
			Help:    "Do as the message says, or give the output of kustomize build.",
		},
		{
			ID: UnknownField, Level: Error,
			Summary: "A field does not exist in apiextensions.k8s.io/v1.",
			Why:     "kubectl rejects the definition; other clients silently drop the field, so it has no effect.",
			Help:    "Check the spelling and the indentation. Names are case-sensitive.",
		},
		{
			ID: DuplicateKey, Level: Error,
			Summary: "A mapping has a duplicate key.",
			Why:     "Only the last one counts, and kubectl rejects the definition.",
			Help:    "Remove one of them.",
		},
		{
			ID: DefinitionName, Level: Error,
			Summary: "The name of the definition is not its plural, a dot, and its group.",
			Why:     "API servers reject the definition.",
			Help:    "Name it <spec.names.plural>.<spec.group>.",
		},
		{
			ID: APIApproved, Level: Error,
			Summary: "A group under k8s.io or kubernetes.io lacks the approval annotation.",
			Why:     "These groups belong to the Kubernetes community, and API servers reject definitions in them without an approval.",
			Help:    "Use a group in a domain of your own. If the API was approved, annotate api-approved.kubernetes.io with the URL of the approval; otherwise with \"unapproved\" and the reason.",
		},
	}
}

func versionRules() []Rule {
	return []Rule{
		{
			ID: StorageVersionCount, Level: Error,
			Summary: "No version, or more than one, is the storage version.",
			Why:     "API servers reject the definition.",
			Help:    "Set storage: true for exactly one version.",
		},
		{
			ID: StorageVersionServed, Level: Warning,
			Summary: "The storage version is not served.",
			Why:     "Every request needs a conversion and fails if the conversion does, and no client can see what is stored.",
			Help:    "Serve the storage version, or make a served version the storage version.",
		},
		{
			ID: NoVersionServed, Level: Warning,
			Summary: "No version is served.",
			Why:     "API servers remove the resource from discovery, and every request for it gets a not found error.",
			Help:    "Set served: true for a version.",
		},
		{
			ID: StoredVersionMissing, Level: Error,
			Summary: "status.storedVersions names a version that is not in spec.versions.",
			Why:     "Objects in etcd may be at that version. API servers reject the update, because the objects could no longer be read.",
			Help:    "Keep the version, not served, until all objects are rewritten and status.storedVersions no longer contains it.",
		},
		{
			ID: PreferredDeprecated, Level: Warning,
			Summary: "The version that clients use when they name none is deprecated.",
			Why:     "kubectl and other clients that use discovery get the deprecated version and its warning, although another version is not deprecated. Priority follows from the names of the versions, not their order.",
			Help:    "Stop serving the deprecated version, or give the new one a name of a higher priority, such as v2 after v1.",
		},
		{
			ID: StorageDeprecated, Level: Warning,
			Summary:      "The storage version is deprecated, although another served version is not.",
			Why:          "New objects are still stored at the version to be removed, so it can never be removed.",
			Help:         "Set storage: true for the version that is to stay.",
			Requirements: []requirement.ID{requirement.LifecycleRemovalStorageOnNew},
		},
		{
			ID: WarningUnused, Level: Error,
			Summary: "A version has a deprecationWarning but is not deprecated.",
			Why:     "API servers reject the definition.",
			Help:    "Set deprecated: true, or remove the text.",
		},
		{
			ID: WarningInvalid, Level: Error,
			Summary: "A deprecationWarning is empty, longer than 256 bytes, or contains characters that cannot be printed.",
			Why:     "API servers reject the definition, because the text is sent in a header.",
			Help:    "Shorten it to one line of 256 bytes. Without a text of your own, servers generate a good one.",
		},
		{
			ID: WarningVague, Level: Warning,
			Summary:      "A deprecationWarning does not name what is deprecated, or what to use instead.",
			Why:          "Users see only the text, without the request that it is about.",
			Help:         "Name the group, the version and the kind, and the version to use instead; or leave the text out, because servers then generate one that names them.",
			Requirements: []requirement.ID{requirement.VersionsDeprecationTextContent},
		},
	}
}

func conversionRules() []Rule {
	return []Rule{
		{
			ID: WebhookOneVersion, Level: Warning,
			Summary: "A definition with one version has a conversion webhook.",
			Why:     "There is nothing to convert, but the resource still depends on the webhook, and so does the health of everything that reads the definition.",
			Help:    "Use strategy None until there is a second version.",
		},
		{
			ID: ReviewVersionsNone, Level: Error,
			Summary: "conversionReviewVersions contains no version of ConversionReview that API servers support.",
			Why:     "API servers reject the definition.",
			Help:    "List the versions of ConversionReview that the webhook supports, usually v1. The versions of the definition do not belong there.",
		},
		{
			ID: ReviewVersionsUnknown, Level: Warning,
			Summary: "conversionReviewVersions contains something that is not a version of ConversionReview.",
			Why:     "It has no effect. Often it is a version of the definition, put there by mistake.",
			Help:    "List v1, and v1beta1 only if the webhook supports it.",
		},
		{
			ID: ReviewVersionsOld, Level: Warning,
			Summary: "conversionReviewVersions contains v1beta1 but not v1.",
			Why:     "v1beta1 of ConversionReview is deprecated; the webhook fails with servers that no longer support it.",
			Help:    "Make the webhook read and write v1, and list v1 first.",
		},
		{
			ID: URLInvalid, Level: Error,
			Summary: "API servers do not accept the URL of the webhook.",
			Why:     "API servers reject the definition.",
			Help:    "Use https://host:port/path without user, query and fragment.",
		},
		{
			ID: URLInCluster, Level: Warning,
			Summary:      "The URL points to a service of the cluster.",
			Why:          "API servers need not be able to resolve names of services: many run where the cluster's DNS is not used.",
			Help:         "Use a service reference instead of a URL.",
			Requirements: []requirement.ID{requirement.ConversionClientURLInCluster, requirement.ConversionClientServicePreferred},
		},
		{
			ID: URLLocalhost, Level: Warning,
			Summary:      "The URL points to localhost.",
			Why:          "It works only while the webhook runs on the host of every API server.",
			Help:         "Use a service reference, unless that is how the cluster is built.",
			Requirements: []requirement.ID{requirement.ConversionClientURLLocalhost},
		},
		{
			ID: ServiceInvalid, Level: Error,
			Summary: "The service reference lacks its name or namespace, or has an invalid port or path.",
			Why:     "API servers reject the definition.",
			Help:    "Give name and namespace; a port from 1 to 65535, 443 when absent; and a path that begins with a slash.",
		},
		{
			ID: ServiceElsewhere, Level: Warning,
			Summary: "The manifests install the webhook's service under another name or in another namespace, or the namespace is still kubebuilder's placeholder.",
			Why:     "API servers find no service there: reads and writes at other versions fail, and so do lists of everything, such as when a namespace is deleted.",
			Help:    "Render the definition with the rest, or write the name and the namespace that users install.",
		},
	}
}

func caBundleRules() []Rule {
	return []Rule{
		{
			ID: CABundleInvalid, Level: Error,
			Summary: "The caBundle contains no certificate.",
			Why:     "Since Kubernetes 1.31 the definition is not established (InvalidCABundle); before, every conversion fails.",
			Help:    "Put the base64 of the PEM of the authority there, or leave the field out if a controller adds it.",
		},
		{
			ID: CABundleExpired, Level: Error,
			Summary: "Every certificate in the caBundle has expired.",
			Why:     "Every conversion fails, and so does every request at another version than the stored one.",
			Help:    "Renew the authority, and the certificate of the webhook.",
		},
		{
			ID: CABundleNotYetValid, Level: Error,
			Summary: "No certificate in the caBundle is valid yet.",
			Why:     "Each conversion fails until then.",
			Help:    "Check the clock of the issuer, or wait.",
		},
		{
			ID: CABundleExpiring, Level: Warning,
			Summary: "The caBundle expires within 30 days.",
			Why:     "From then on every conversion fails.",
			Help:    "Renew the authority now, and keep both in the bundle for a while.",
		},
		{
			ID: CABundleLeaf, Level: Warning,
			Summary: "The caBundle contains a server certificate instead of an authority.",
			Why:     "It works only as long as the webhook serves exactly this certificate, so every renewal causes an outage.",
			Help:    "Use the authority that signed it.",
		},
		{
			ID: CABundleMissing, Level: Note,
			Summary: "A service has neither a caBundle nor an annotation that adds one.",
			Why:     "Unless something adds one after the definition is installed, API servers verify the certificate against the roots of their system, which do not cover names of services, so every conversion fails.",
			Help:    "Add a caBundle, or the annotation of cert-manager or OpenShift. Disable the rule if a controller of your own adds it.",
		},
		{
			ID: InjectionMalformed, Level: Error,
			Summary: "The annotation that adds the caBundle has an invalid value.",
			Why:     "The controller cannot interpret it, so there is no caBundle and every conversion fails.",
			Help:    "Write namespace/name, or \"true\" for annotations that switch.",
		},
		{
			ID: InjectionLegacy, Level: Warning,
			Summary: "The annotation that adds the caBundle has an outdated name.",
			Why:     "cert-manager has not read certmanager.k8s.io since 0.11.",
			Help:    "Use cert-manager.io/inject-ca-from.",
		},
	}
}

func schemaRules() []Rule {
	return []Rule{
		{
			ID: SchemaMissing, Level: Error,
			Summary: "A version has no schema.",
			Why:     "API servers reject the definition.",
			Help:    "Give each version a schema.openAPIV3Schema; type: object with x-kubernetes-preserve-unknown-fields: true if anything is allowed.",
		},
		{
			ID: SchemaNotStructural, Level: Error,
			Summary: "A schema is not structural.",
			Why:     "API servers reject the definition.",
			Help:    "Specify the type of each field outside of allOf, anyOf, oneOf and not, and keep defaults and descriptions out of those.",
		},
		{
			ID: PreserveUnknown, Level: Error,
			Summary: "spec.preserveUnknownFields is true.",
			Why:     "API servers reject new definitions with it, webhooks cannot be used with it, and nothing is pruned.",
			Help:    "Remove it, and set x-kubernetes-preserve-unknown-fields: true in the schema where it is needed.",
		},
		{
			ID: StatusDiffers, Level: Warning,
			Summary: "One served version has the status subresource and another does not.",
			Why:     "A write at the version without it also changes the status; controllers and users overwrite each other.",
			Help:    "Give every version the same subresources.",
		},
		{
			ID: ScaleDiffers, Level: Note,
			Summary: "Served versions have different scale subresources.",
			Why:     "Autoscalers use the preferred version, so what they scale changes with it.",
			Help:    "Make sure that the paths denote the same field at each version.",
		},
		{
			ID: ScalePath, Level: Warning,
			Summary: "A path of the scale subresource does not exist in the schema.",
			Why:     "The field is pruned, so scaling has no effect and the number of replicas reads 0.",
			Help:    "Add the field to the schema of this version, or correct the path.",
		},
		{
			ID: ColumnPath, Level: Warning,
			Summary: "The path of a printer column does not exist in the schema of its version.",
			Why:     "The column is empty for every object.",
			Help:    "Correct the path; fields are often renamed in one version but not in the columns.",
		},
	}
}

func pairRules() []Rule {
	none := []requirement.ID{requirement.ConversionNoneSameSchema}
	return []Rule{
		{
			ID: NoneLosesFields, Level: Error,
			Summary:      "Versions without conversion have different fields.",
			Why:          "Strategy None changes only the apiVersion. Fields that a version lacks are silently pruned when an object is written at it.",
			Help:         "Give the versions the same fields, stop serving one of them, or use a conversion webhook.",
			Requirements: none,
		},
		{
			ID: NoneValidation, Level: Note,
			Summary:      "Versions without conversion validate the same field differently.",
			Why:          "An object that is valid at one version can be invalid at another, where it can be read but not updated.",
			Help:         "Use the same constraints at each version.",
			Requirements: none,
		},
		{
			ID: NoneRequired, Level: Warning,
			Summary:      "Without conversion, a field is required at one version, and optional without a default at another.",
			Why:          "Objects written without it at one version cannot be updated at the other.",
			Help:         "Give the field a default, or require it at neither or at both.",
			Requirements: none,
		},
		{
			ID: TypeDiffers, Level: Error,
			Summary:      "A field has different types at two versions.",
			Why:          "With strategy None, values are shown at versions whose type they do not have, and updates fail.",
			Help:         "Use a conversion webhook; with one, this is a list of what it must convert.",
			Requirements: none,
		},
		{
			ID: DefaultDiffers, Level: Warning,
			Summary: "A field has different defaults at two versions.",
			Why:     "The same manifest has a different meaning, depending on the version at which it is applied.",
			Help:    "Use the same default at each version, unless this is intended.",
		},
		{
			ID: DefaultMissing, Level: Warning,
			Summary: "A field that is required at two versions has a default at only one of them.",
			Why:     "A manifest without it is accepted at one version and rejected at the other.",
			Help:    "Give it the same default at each version.",
		},
	}
}

func upgradeRules() []Rule {
	return []Rule{
		{
			ID: IdentityChanged, Level: Error,
			Summary: "The scope, the kind, the plural or the group differs from the old definition.",
			Why:     "Scope and kind are immutable; API servers reject the update. With another plural or group it is another definition, without objects.",
			Help:    "Keep them, or create a new definition under another name and have users copy their objects.",
		},
		{
			ID: VersionRemovedStored, Level: Error,
			Summary: "A version at which the old definition stored objects is missing, or the definition is.",
			Why:     "API servers reject the update (\"must appear in spec.versions\"), because the objects could no longer be read.",
			Help:    "Keep the version with served: false. Remove it once all objects are rewritten and status.storedVersions no longer contains it.",
		},
		{
			ID: VersionNoLongerServed, Level: Warning,
			Summary: "A version that the old definition served is no longer served.",
			Why:     "Clients that use it get a not found error.",
			Help:    "Serve it, deprecated, until its clients are gone.",
		},
		{
			ID: Refused, Level: Error,
			Summary: "API servers reject the definition for another reason.",
			Why:     "This is the result of the validation of API servers, which is run here unchanged.",
			Help:    "Do as the message says.",
		},
	}
}
