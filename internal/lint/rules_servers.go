package lint

// The rules about what servers and tools refuse, or do without an error.
const (
	DefinitionTooLarge RuleID = "definition-too-large"
	NeedsKubernetes    RuleID = "needs-kubernetes"
	NameTaken          RuleID = "name-taken"
	VersionOrder       RuleID = "version-order"
	ScaleType          RuleID = "scale-path-type"
	ListTypeDiffers    RuleID = "list-type-differs"
	DefaultAtOne       RuleID = "default-at-one-version"
	PreserveLeft       RuleID = "preserve-unknown-fields-left"
	FieldOmitted       RuleID = "field-left-out"
	MetadataPruned     RuleID = "embedded-metadata-dropped"
	UninstallDeletes   RuleID = "uninstall-deletes-objects"
)

func serverRules() []Rule {
	return []Rule{
		{
			ID: DefinitionTooLarge, Level: Warning,
			Summary: "The definition is larger than tools or servers take.",
			Why:     "kubectl apply keeps a copy in an annotation, and all annotations together have 262,144 bytes. Helm keeps a release in a Secret of 1 MiB. etcd refuses requests of more than 1.5 MiB, which is an error.",
			Help:    "Use server-side apply and say so where users see it; leave out descriptions of what is embedded, such as pod templates.",
		},
		{
			ID: NeedsKubernetes, Level: Note,
			Summary: "The definition uses what only newer API servers know.",
			Why:     "Older ones reject it, or silently drop or ignore what they do not know. In new definitions, an API server accepts functions of rules that the minor before it had.",
			Help:    "Say which Kubernetes the release needs (kubeVersion in a chart), or do without.",
		},
		{
			ID: NameTaken, Level: Warning,
			Summary: "A name is one that the resource itself, another definition or Kubernetes has.",
			Why:     "API servers refuse the name (NamesAccepted: False), or kubectl finds another resource by it. Two definitions of a group with the same name are an error: one is not served.",
			Help:    "Remove the short name, or choose another.",
		},
		{
			ID: VersionOrder, Level: Warning,
			Summary: "Clients that name no version get another than the storage version, whose name Kubernetes cannot order.",
			Why:     "kubectl and others take the served version of the highest priority. Names such as v1, v2beta1 and v1beta20210401 come before all others.",
			Help:    "Name versions v1, v1beta1 or v1alpha1, or stop serving the old one.",
		},
		{
			ID: ScaleType, Level: Error,
			Summary: "A path of the scale subresource leads to a field of the wrong type.",
			Why:     "API servers cannot read the scale then, and refuse writes of the status with such a value. Autoscalers do nothing.",
			Help:    "Replicas are integers, and the selector is a string: the serialized form of a label selector.",
		},
		{
			ID: ListTypeDiffers, Level: Warning,
			Summary: "Server-side apply merges a list or a map differently at two versions.",
			Why:     "Who applies at the version where it is atomic owns all of it, and removes the items that others applied at the other version, without a conflict. What is valid at one can be invalid at the other.",
			Help:    "Use the same x-kubernetes-list-type, x-kubernetes-list-map-keys and x-kubernetes-map-type at each version.",
		},
		{
			ID: DefaultAtOne, Level: Note,
			Summary: "An optional field has a default at one version and none at another.",
			Why:     "The same manifest has a different meaning, depending on the version at which it is applied.",
			Help:    "Use the same default at each version, unless this is intended.",
		},
		{
			ID: PreserveLeft, Level: Warning,
			Summary: "The old definition has preserveUnknownFields: true, and the new one does not say false.",
			Why:     "An update without the field leaves it as it is: API servers then reject webhooks and defaults, and nothing is pruned.",
			Help:    "Write preserveUnknownFields: false.",
		},
		{
			ID: FieldOmitted, Level: Note,
			Summary: "API servers leave out a field that the file has.",
			Why:     "A definition with deprecated: false or an empty list is stored without it, so GitOps tools show a difference for ever.",
			Help:    "Leave the field out of the file.",
		},
		{
			ID: MetadataPruned, Level: Note,
			Summary: "Metadata inside objects, such as that of a pod template, has no fields.",
			Why:     "API servers drop the labels, annotations and names that users write there, and kubectl calls them unknown fields.",
			Help:    "Have controller-gen generate its fields (crd:generateEmbeddedObjectMeta=true), or name those that the program reads.",
		},
		{
			ID: UninstallDeletes, Level: Note,
			Summary: "The definition is of a release of Helm, and helm uninstall deletes it.",
			Why:     "API servers delete all objects with their definition, in all namespaces. An annotation that is added to what is installed does not count: Helm reads that of the chart.",
			Help:    "Give the template the annotation helm.sh/resource-policy: keep.",
		},
	}
}
