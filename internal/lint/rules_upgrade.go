package lint

// The rules about what a definition breaks that replaces another.
const (
	StoredValuesDropped  RuleID = "stored-values-dropped"
	StoredObjectsRefused RuleID = "stored-objects-refused"
	ValuesRefused        RuleID = "values-refused"
	TypeChanged          RuleID = "type-changed"
	DefaultChanged       RuleID = "default-changed"
	ListTypeChanged      RuleID = "list-type-changed"
	ValuesExtended       RuleID = "values-extended"
	DifferenceUnshown    RuleID = "difference-not-shown"
	SchemasNotCompared   RuleID = "schemas-not-compared"
	SubresourceChanged   RuleID = "subresource-changed"
	SelectableRemoved    RuleID = "selectable-field-removed"
	ColumnRemoved        RuleID = "column-removed"
	NamesChanged         RuleID = "names-changed"
	ConversionRemoved    RuleID = "conversion-removed"
	WebhookMoved         RuleID = "webhook-moved"

	ChartLeavesDefinition RuleID = "chart-leaves-definition"
)

func schemaUpgradeRules() []Rule {
	return []Rule{
		{
			ID: StoredValuesDropped, Level: Error,
			Summary: "The new schema drops what the old one kept.",
			Why:     "It breaks stored objects: API servers drop the value whenever they read the object, and the next write loses it for good.",
			Help:    "Keep the field and say that it is deprecated, or remove it in a new version to which the webhook converts.",
		},
		{
			ID: StoredObjectsRefused, Level: Error,
			Summary: "An object is refused as a whole that the old schema allowed, such as one without a field that is required now.",
			Why:     "It breaks stored objects: they can be read and written back, but every real change is refused until somebody mends them. So is every manifest like them.",
			Help:    "Give a new required field a default or leave it optional; let rules hold for what the old schema allowed; or use a new version to which the webhook converts.",
		},
		{
			ID: ValuesRefused, Level: Error,
			Summary: "A value of a field is refused that the old schema allowed.",
			Why:     "It breaks clients that write, and manifests. Stored objects keep the value as long as the field does not change: API servers since 1.30 ratchet validation. It is a warning if the old schema set no limit of that kind.",
			Help:    "Allow the value still, or use a new version to which the webhook converts.",
		},
		{
			ID: TypeChanged, Level: Error,
			Summary: "A field has another type than in the old schema of the version.",
			Why:     "It breaks stored objects and clients: API servers do not convert within a version, so readers get values of the old type, and writers are refused.",
			Help:    "Keep the type, or use a new version to which the webhook converts.",
		},
		{
			ID: DefaultChanged, Level: Warning,
			Summary: "A default is another one than in the old schema of the version, or is new or gone.",
			Why:     "It changes the meaning of manifests without the field, and of objects that were stored before there was a default.",
			Help:    "Keep the default at this version, and change it in a new one.",
		},
		{
			ID: ListTypeChanged, Level: Warning,
			Summary: "The list type or its keys are others than in the old schema of the version.",
			Why:     "It changes the meaning of server-side apply: who owns which items. An atomic list is replaced as a whole, with what others applied.",
			Help:    "Keep the type at this version.",
		},
		{
			ID: ValuesExtended, Level: Note,
			Summary: "A field may have values that the old schema did not allow.",
			Why:     "Clients that read may not know them, such as a new member of an enum.",
			Help:    "Say in the description that there may be more values, and make sure that known clients cope.",
		},
		{
			ID: DifferenceUnshown, Level: Note,
			Summary: "The schema is stricter than the old one, but no object was found that shows it.",
			Why:     "There may be such objects: the search is bounded.",
			Help:    "Compare the two schemas at the place.",
		},
		{
			ID: SchemasNotCompared, Level: Warning,
			Summary: "The schemas could not be compared with the old ones.",
			Why:     "One of the definitions is incomplete, or API servers reject its schemas.",
			Help:    "Do as the message says.",
		},
	}
}

func definitionUpgradeRules() []Rule {
	return []Rule{
		{
			ID: SubresourceChanged, Level: Error,
			Summary: "The status or scale subresource of a version is gone, new, or has other paths.",
			Why:     "It breaks clients that write: requests to a subresource that is gone get a not found error, and without /status users' writes replace the status.",
			Help:    "Keep the subresources of a version.",
		},
		{
			ID: SelectableRemoved, Level: Error,
			Summary: "A field is no longer selectable.",
			Why:     "Lists and watches with that field selector fail.",
			Help:    "Keep it among the selectableFields.",
		},
		{
			ID: ColumnRemoved, Level: Note,
			Summary: "A printer column is gone, or shows another field.",
			Why:     "Scripts read the output of kubectl get.",
			Help:    "Keep the column if it costs nothing.",
		},
		{
			ID: NamesChanged, Level: Warning,
			Summary: "A short name, a category, the singular or the kind of lists is another one.",
			Why:     "Users, scripts and clients that use it fail.",
			Help:    "Keep the names; adding some is safe.",
		},
		{
			ID: ConversionRemoved, Level: Warning,
			Summary: "The old definition has a conversion webhook, and the new one has none.",
			Why:     "Objects that are stored at other versions are no longer converted. Where a controller added the caBundle, it owns that, so server-side apply leaves a stanza with nothing else, which API servers reject; this is an error.",
			Help:    "Keep the webhook for as long as an object or an installed definition may need it.",
		},
		{
			ID: WebhookMoved, Level: Warning,
			Summary: "The old definition names another service or URL for its webhook.",
			Why:     "From when the definition is applied until the new one answers, nothing is converted; and Helm leaves definitions in crds/ as they are, so that they go on naming what is gone.",
			Help:    "Keep the name, or have both answer until every installed definition names the new one.",
		},
		{
			ID: ChartLeavesDefinition, Level: Note,
			Summary: "The definition is new or has changed, and is in the folder crds of a chart.",
			Why:     "Helm installs what is in crds/ once: helm upgrade neither adds nor changes a definition there. The new program meets the old definitions.",
			Help:    "Have users apply the files before the upgrade, keep definitions in the templates or a chart of their own, and rehearse the new program with the old definitions.",
		},
	}
}
