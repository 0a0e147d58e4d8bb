// Code generated from catalogue.yaml by "go generate ./requirement". DO NOT EDIT.

package requirement

// Every ID of the catalogue.
const (
	// VersionsServingPathPerVersion: Each served version of a definition can be created, read, updated, listed and deleted under a REST path of its own, /apis/<group>/<version>.
	VersionsServingPathPerVersion ID = "versions.serving.path-per-version"
	// VersionsServingDiscovery: The discovery information of the API server shows a new resource at every served version.
	VersionsServingDiscovery ID = "versions.serving.discovery"
	// VersionsServingServedFlag: The served flag of a version switches that version on and off without touching the other versions.
	VersionsServingServedFlag ID = "versions.serving.served-flag"
	// VersionsServingUnservedNotFound: Requests to a version that is no longer served get a not found error, whatever the verb.
	VersionsServingUnservedNotFound ID = "versions.serving.unserved-not-found"
	// VersionsServingNoneServed: A definition that serves no version at all is unregistered; its group leaves discovery and its resource is not found.
	VersionsServingNoneServed ID = "versions.serving.none-served"
	// VersionsServingNamespacedEndpoint: A namespaced resource is served at /apis/<group>/<version>/namespaces/<namespace>/<plural>.
	VersionsServingNamespacedEndpoint ID = "versions.serving.namespaced-endpoint"
	// VersionsServingKind: Objects of the resource have the kind of spec.names.kind; another kind is refused.
	VersionsServingKind ID = "versions.serving.kind"
	// VersionsServingEstablished: The Established condition of a new definition becomes true, and the endpoint answers soon after.
	VersionsServingEstablished ID = "versions.serving.established"
	// VersionsServingMinimumVersion: The server is Kubernetes 1.16 or later.
	VersionsServingMinimumVersion ID = "versions.serving.minimum-version"
	// VersionsDefinitionNoStorageVersion: A definition in which no version is marked as the storage version is refused.
	VersionsDefinitionNoStorageVersion ID = "versions.definition.no-storage-version"
	// VersionsDefinitionTwoStorageVersions: A definition in which more than one version is marked as the storage version is refused.
	VersionsDefinitionTwoStorageVersions ID = "versions.definition.two-storage-versions"
	// VersionsDefinitionName: A definition is named <plural>.<group>; any other name is refused.
	VersionsDefinitionName ID = "versions.definition.name"
	// VersionsDefinitionDuplicateVersion: Two versions of the same name in one definition are refused.
	VersionsDefinitionDuplicateVersion ID = "versions.definition.duplicate-version"
	// VersionsDefinitionVersionLabel: A version name that is not a DNS-1035 label is refused.
	VersionsDefinitionVersionLabel ID = "versions.definition.version-label"
	// VersionsDefinitionGroupDot: A group without a dot in it is refused.
	VersionsDefinitionGroupDot ID = "versions.definition.group-dot"
	// VersionsDefinitionProtectedGroup: A definition in a group under k8s.io or kubernetes.io is refused unless it carries the API approval annotation.
	VersionsDefinitionProtectedGroup ID = "versions.definition.protected-group"
	// VersionsDefinitionScopeRequired: A definition without a scope is refused.
	VersionsDefinitionScopeRequired ID = "versions.definition.scope-required"
	// VersionsDefinitionSchemaRequired: Every version needs a schema.
	VersionsDefinitionSchemaRequired ID = "versions.definition.schema-required"
	// VersionsDefinitionSchemaPerVersion: Versions may have different schemas, and each version validates by its own.
	VersionsDefinitionSchemaPerVersion ID = "versions.definition.schema-per-version"
	// VersionsScopeNamespaced: With scope Namespaced, objects of one name can exist side by side in several namespaces, and there is no endpoint for one outside of a namespace.
	VersionsScopeNamespaced ID = "versions.scope.namespaced"
	// VersionsScopeCluster: With scope Cluster, objects live outside of namespaces and the namespaced path is not found.
	VersionsScopeCluster ID = "versions.scope.cluster"
	// VersionsScopeDefinitionsClusterWide: Definitions themselves are not namespaced, and what they define can be used in every namespace.
	VersionsScopeDefinitionsClusterWide ID = "versions.scope.definitions-cluster-wide"
	// VersionsScopeNamespaceDeletion: Deleting a namespace deletes the custom objects in it.
	VersionsScopeNamespaceDeletion ID = "versions.scope.namespace-deletion"
	// VersionsNamesPublished: The singular name and the short names of a definition are published in discovery, where clients look aliases up.
	VersionsNamesPublished ID = "versions.names.published"
	// VersionsNamesSingularDefault: A definition without a singular name gets the kind in lower case as its singular name.
	VersionsNamesSingularDefault ID = "versions.names.singular-default"
	// VersionsNamesListKindDefault: A definition without a list kind gets the kind followed by List, and lists have that kind.
	VersionsNamesListKindDefault ID = "versions.names.list-kind-default"
	// VersionsNamesKubectlAliases: kubectl takes the resource by its plural, singular or short name in any case.
	VersionsNamesKubectlAliases ID = "versions.names.kubectl-aliases"
	// VersionsNamesArbitraryJSON: Custom fields can contain arbitrary JSON.
	VersionsNamesArbitraryJSON ID = "versions.names.arbitrary-json"
	// VersionsClientsBothVersions: Some clients may use the old version while others use the new one; no update is lost and no request fails.
	VersionsClientsBothVersions ID = "versions.clients.both-versions"
	// VersionsPriorityOrderIrrelevant: The order of versions in the definition has no influence on their priority.
	VersionsPriorityOrderIrrelevant ID = "versions.priority.order-irrelevant"
	// VersionsPriorityPreferredVersion: The version of the highest priority is the preferred one, which clients use when they name none; of v1beta1 and v1 that is v1.
	VersionsPriorityPreferredVersion ID = "versions.priority.preferred-version"
	// VersionsPriorityKubernetesFirst: Versions named by the Kubernetes pattern come before all others.
	VersionsPriorityKubernetesFirst ID = "versions.priority.kubernetes-first"
	// VersionsPriorityNumbersDescending: Versions that follow the Kubernetes pattern are sorted by their number, the largest first.
	VersionsPriorityNumbersDescending ID = "versions.priority.numbers-descending"
	// VersionsPriorityStability: Stable versions come before beta versions and beta versions before alpha versions, whatever their numbers.
	VersionsPriorityStability ID = "versions.priority.stability"
	// VersionsPrioritySecondNumber: A number after beta or alpha is sorted from the largest to the smallest as well.
	VersionsPrioritySecondNumber ID = "versions.priority.second-number"
	// VersionsPriorityOthersAlphabetical: Versions of any other form are sorted alphabetically without regard to numbers in them, so that foo1 comes before foo10.
	VersionsPriorityOthersAlphabetical ID = "versions.priority.others-alphabetical"
	// VersionsPriorityDocumentedList: The ten versions of the documents' example come out in the order that the documents print.
	VersionsPriorityDocumentedList ID = "versions.priority.documented-list"
	// VersionsPriorityIncompletePatterns: A name such as v1beta, v2alpha or v9rc1 does not follow the Kubernetes pattern and sorts among the others.
	VersionsPriorityIncompletePatterns ID = "versions.priority.incomplete-patterns"
	// VersionsPriorityAnySet: Any set of versions comes out in the order that the documented algorithm gives.
	VersionsPriorityAnySet ID = "versions.priority.any-set"
	// VersionsPrioritySameEverywhere: The document of the group and aggregated discovery list the versions in the same order.
	VersionsPrioritySameEverywhere ID = "versions.priority.same-everywhere"
	// VersionsPriorityDesignOrder: Discovery lists the versions in the order of the definition, the preferred version first.
	VersionsPriorityDesignOrder ID = "versions.priority.design-order"
	// VersionsPriorityKubectlDefault: kubectl uses the version of the highest priority unless the object that it is given names another.
	VersionsPriorityKubectlDefault ID = "versions.priority.kubectl-default"
	// VersionsDeprecationReadsWarned: Get, list and watch requests to a deprecated version get a Warning header.
	VersionsDeprecationReadsWarned ID = "versions.deprecation.reads-warned"
	// VersionsDeprecationWritesWarned: Create, update, patch and apply requests to a deprecated version get a Warning header.
	VersionsDeprecationWritesWarned ID = "versions.deprecation.writes-warned"
	// VersionsDeprecationDeletesWarned: Delete and deletecollection requests to a deprecated version get a Warning header.
	VersionsDeprecationDeletesWarned ID = "versions.deprecation.deletes-warned"
	// VersionsDeprecationSubresourcesWarned: Requests to the status and scale subresources of a deprecated version get a Warning header.
	VersionsDeprecationSubresourcesWarned ID = "versions.deprecation.subresources-warned"
	// VersionsDeprecationErrorsWarned: A request to a deprecated version that fails, such as for an object that does not exist, gets a Warning header too.
	VersionsDeprecationErrorsWarned ID = "versions.deprecation.errors-warned"
	// VersionsDeprecationCustomText: deprecationWarning replaces the text of the warning.
	VersionsDeprecationCustomText ID = "versions.deprecation.custom-text"
	// VersionsDeprecationDefaultText: Without a text of its own, the warning names the deprecated group, version and kind and the ones to use instead.
	VersionsDeprecationDefaultText ID = "versions.deprecation.default-text"
	// VersionsDeprecationDefaultTextWithoutReplacement: Where no newer version is served and supported, the default warning names no replacement.
	VersionsDeprecationDefaultTextWithoutReplacement ID = "versions.deprecation.default-text-without-replacement"
	// VersionsDeprecationReplacement: The replacement that the default warning names is the served version of the highest priority that is not deprecated, if that priority is above the deprecated version's.
	VersionsDeprecationReplacement ID = "versions.deprecation.replacement"
	// VersionsDeprecationTextNeedsDeprecated: A deprecationWarning on a version that is not deprecated is refused.
	VersionsDeprecationTextNeedsDeprecated ID = "versions.deprecation.text-needs-deprecated"
	// VersionsDeprecationTextNotEmpty: An empty deprecationWarning is refused.
	VersionsDeprecationTextNotEmpty ID = "versions.deprecation.text-not-empty"
	// VersionsDeprecationTextLength: A deprecationWarning of 256 bytes is accepted, one of 257 is refused.
	VersionsDeprecationTextLength ID = "versions.deprecation.text-length"
	// VersionsDeprecationTextPrintable: A deprecationWarning with characters that cannot be printed is refused.
	VersionsDeprecationTextPrintable ID = "versions.deprecation.text-printable"
	// VersionsDeprecationSilentOtherwise: Requests to a version that is not deprecated get no deprecation warning, even where another version of the definition is deprecated.
	VersionsDeprecationSilentOtherwise ID = "versions.deprecation.silent-otherwise"
	// VersionsDeprecationTextContent: A custom warning names the deprecated group, version and kind and, if there is one, the replacement.
	VersionsDeprecationTextContent ID = "versions.deprecation.text-content"
	// VersionsManifestsInstallable: Every definition that the documents show, corrected where they err, is accepted.
	VersionsManifestsInstallable ID = "versions.manifests.installable"
	// VersionsManifestsLiteralRejected: The definitions that the documents print with mistakes in them are refused for those mistakes.
	VersionsManifestsLiteralRejected ID = "versions.manifests.literal-rejected"
	// ConversionNoneOnlyAPIVersion: With the None strategy, an object read at another version differs from the stored one in its apiVersion only.
	ConversionNoneOnlyAPIVersion ID = "conversion.none.only-api-version"
	// ConversionNoneDefault: A definition that names no conversion strategy gets None.
	ConversionNoneDefault ID = "conversion.none.default"
	// ConversionNonePrunesToSchema: With the None strategy and schemas that differ, fields that the version in hand does not know are pruned.
	ConversionNonePrunesToSchema ID = "conversion.none.prunes-to-schema"
	// ConversionNoneMovesNothing: The None strategy moves no value between fields, which is why it must not be used where versions keep the same data in different fields.
	ConversionNoneMovesNothing ID = "conversion.none.moves-nothing"
	// ConversionNoneSameSchema: The None strategy is for versions that share one schema.
	ConversionNoneSameSchema ID = "conversion.none.same-schema"
	// ConversionNoneWebhookStanzaRejected: A webhook stanza beside the None strategy is refused.
	ConversionNoneWebhookStanzaRejected ID = "conversion.none.webhook-stanza-rejected"
	// ConversionStrategyUnknownRejected: A strategy other than None and Webhook is refused.
	ConversionStrategyUnknownRejected ID = "conversion.strategy.unknown-rejected"
	// ConversionClientWebhookRequired: The Webhook strategy needs a webhook stanza.
	ConversionClientWebhookRequired ID = "conversion.client.webhook-required"
	// ConversionClientURLAndService: A webhook is reached by a URL or by a service reference; both together are refused.
	ConversionClientURLAndService ID = "conversion.client.url-and-service"
	// ConversionClientURLOrService: A webhook is reached by a URL or by a service reference; neither is refused.
	ConversionClientURLOrService ID = "conversion.client.url-or-service"
	// ConversionClientURLCalled: The webhook is called at the host, port and path of the URL.
	ConversionClientURLCalled ID = "conversion.client.url-called"
	// ConversionClientURLScheme: A URL whose scheme is not https is refused.
	ConversionClientURLScheme ID = "conversion.client.url-scheme"
	// ConversionClientURLUserinfo: A URL with a user or a password in it is refused.
	ConversionClientURLUserinfo ID = "conversion.client.url-userinfo"
	// ConversionClientURLFragment: A URL with a fragment is refused.
	ConversionClientURLFragment ID = "conversion.client.url-fragment"
	// ConversionClientURLQuery: A URL with query parameters is refused.
	ConversionClientURLQuery ID = "conversion.client.url-query"
	// ConversionClientURLInCluster: The host of a URL is not a service of the cluster.
	ConversionClientURLInCluster ID = "conversion.client.url-in-cluster"
	// ConversionClientURLDns: The host of a URL may be resolved by an external DNS.
	ConversionClientURLDns ID = "conversion.client.url-dns"
	// ConversionClientURLIP: The host of a URL may be an IP address.
	ConversionClientURLIP ID = "conversion.client.url-ip"
	// ConversionClientURLLocalhost: A URL does not point to localhost unless the webhook runs beside every API server.
	ConversionClientURLLocalhost ID = "conversion.client.url-localhost"
	// ConversionClientServicePreferred: A webhook inside of the cluster is reached by a service reference, not by a URL.
	ConversionClientServicePreferred ID = "conversion.client.service-preferred"
	// ConversionClientServiceNameRequired: A service reference without a name is refused.
	ConversionClientServiceNameRequired ID = "conversion.client.service-name-required"
	// ConversionClientServiceNamespaceRequired: A service reference without a namespace is refused.
	ConversionClientServiceNamespaceRequired ID = "conversion.client.service-namespace-required"
	// ConversionClientServicePortDefault: A service reference without a port gets port 443.
	ConversionClientServicePortDefault ID = "conversion.client.service-port-default"
	// ConversionClientServicePortRange: The port of a service reference lies between 1 and 65535.
	ConversionClientServicePortRange ID = "conversion.client.service-port-range"
	// ConversionClientServicePortUsed: A service is called on the port that the reference names, such as 1234.
	ConversionClientServicePortUsed ID = "conversion.client.service-port-used"
	// ConversionClientServicePort443: The service of a webhook must listen on port 443, or calls may fail.
	ConversionClientServicePort443 ID = "conversion.client.service-port-443"
	// ConversionClientServicePathDefault: A service reference without a path is called at "/".
	ConversionClientServicePathDefault ID = "conversion.client.service-path-default"
	// ConversionClientServicePathUsed: A service is called at the path that the reference names.
	ConversionClientServicePathUsed ID = "conversion.client.service-path-used"
	// ConversionClientServicePathSlash: The path of a service reference begins with a slash.
	ConversionClientServicePathSlash ID = "conversion.client.service-path-slash"
	// ConversionClientServerName: The certificate of a service is verified against <service>.<namespace>.svc; one for another name fails the call.
	ConversionClientServerName ID = "conversion.client.server-name"
	// ConversionClientCABundleOptional: A definition may leave the caBundle out.
	ConversionClientCABundleOptional ID = "conversion.client.ca-bundle-optional"
	// ConversionClientSystemRoots: Without a caBundle the certificate is verified against the roots of the system; one that they do not vouch for fails the call.
	ConversionClientSystemRoots ID = "conversion.client.system-roots"
	// ConversionClientWebhookUpFirst: The webhook is up before the definition that names it is applied.
	ConversionClientWebhookUpFirst ID = "conversion.client.webhook-up-first"
	// ConversionClientCABundleInvalidCreate: A new definition whose caBundle holds no certificate does not become Established; the reason is InvalidCABundle.
	ConversionClientCABundleInvalidCreate ID = "conversion.client.ca-bundle-invalid-create"
	// ConversionClientCABundleInvalidUpdate: An established definition cannot be updated to a caBundle that holds no certificate.
	ConversionClientCABundleInvalidUpdate ID = "conversion.client.ca-bundle-invalid-update"
	// ConversionClientCABundleWrong: With the certificate of another authority as its caBundle, every conversion fails on the certificate.
	ConversionClientCABundleWrong ID = "conversion.client.ca-bundle-wrong"
	// ConversionClientCABundleWrongSparesStorageVersion: With the certificate of another authority as its caBundle, objects can still be read at the version they are stored at.
	ConversionClientCABundleWrongSparesStorageVersion ID = "conversion.client.ca-bundle-wrong-spares-storage-version"
	// ConversionClientPreserveUnknownFields: The Webhook strategy is refused together with preserveUnknownFields.
	ConversionClientPreserveUnknownFields ID = "conversion.client.preserve-unknown-fields"
	// ConversionClientFeatureGate: Webhook conversion needs the feature gate CustomResourceWebhookConversion.
	ConversionClientFeatureGate ID = "conversion.client.feature-gate"
	// ConversionRequestPost: The API server calls the webhook with a POST request.
	ConversionRequestPost ID = "conversion.request.post"
	// ConversionRequestContentType: The request has the content type application/json.
	ConversionRequestContentType ID = "conversion.request.content-type"
	// ConversionRequestReview: The body of the request is a ConversionReview of the group apiextensions.k8s.io with its request filled in.
	ConversionRequestReview ID = "conversion.request.review"
	// ConversionRequestTimeout: The request tells the webhook by a query parameter that it has 30 seconds.
	ConversionRequestTimeout ID = "conversion.request.timeout"
	// ConversionRequestFirstSupportedVersion: The API server sends the first version of conversionReviewVersions that it supports.
	ConversionRequestFirstSupportedVersion ID = "conversion.request.first-supported-version"
	// ConversionRequestVersionsRequired: The Webhook strategy needs conversionReviewVersions.
	ConversionRequestVersionsRequired ID = "conversion.request.versions-required"
	// ConversionRequestVersionsUnique: A version that stands twice in conversionReviewVersions is refused.
	ConversionRequestVersionsUnique ID = "conversion.request.versions-unique"
	// ConversionRequestVersionsNoneSupported: A definition whose conversionReviewVersions holds no version that the server supports is refused.
	ConversionRequestVersionsNoneSupported ID = "conversion.request.versions-none-supported"
	// ConversionRequestVersionsNoneSupportedStored: With a stored definition whose conversionReviewVersions holds no version that the server supports, conversions fail.
	ConversionRequestVersionsNoneSupportedStored ID = "conversion.request.versions-none-supported-stored"
	// ConversionRequestUIDUnique: Every call has a request.uid of its own.
	ConversionRequestUIDUnique ID = "conversion.request.uid-unique"
	// ConversionRequestDesiredAPIVersion: request.desiredAPIVersion is the group and version that the objects are to have.
	ConversionRequestDesiredAPIVersion ID = "conversion.request.desired-api-version"
	// ConversionRequestObjectsPresent: Every request carries one object or more.
	ConversionRequestObjectsPresent ID = "conversion.request.objects-present"
	// ConversionRequestOnRead: The webhook is called when an object is requested at another version than it is stored at.
	ConversionRequestOnRead ID = "conversion.request.on-read"
	// ConversionRequestOnWatch: The webhook is called when an object changes that is stored at another version than it is watched at.
	ConversionRequestOnWatch ID = "conversion.request.on-watch"
	// ConversionRequestOnUpdate: The webhook is called when an object is put at another version than the storage version.
	ConversionRequestOnUpdate ID = "conversion.request.on-update"
	// ConversionRequestBatched: A request may contain several objects to save calls.
	ConversionRequestBatched ID = "conversion.request.batched"
	// ConversionRequestOnlyOtherVersions: Objects that are at the desired version already are not sent.
	ConversionRequestOnlyOtherVersions ID = "conversion.request.only-other-versions"
	// ConversionRequestNoEmptyObjects: Objects with nothing in them besides apiVersion and kind are not sent.
	ConversionRequestNoEmptyObjects ID = "conversion.request.no-empty-objects"
	// ConversionRequestNoUnusedVersions: While every object and every client uses the storage version, the webhook is not called for the other versions of the definition.
	ConversionRequestNoUnusedVersions ID = "conversion.request.no-unused-versions"
	// ConversionRequestNoResourceVersion: Objects sent for a read have no resourceVersion in their metadata.
	ConversionRequestNoResourceVersion ID = "conversion.request.no-resource-version"
	// ConversionRequestManagedFields: Objects sent for a read have their managedFields with them.
	ConversionRequestManagedFields ID = "conversion.request.managed-fields"
	// ConversionRequestPartialObjects: For server-side apply the server sends objects cut down to the fields of one manager, some without any field of their own.
	ConversionRequestPartialObjects ID = "conversion.request.partial-objects"
	// ConversionResponseControlsRead: With the Webhook strategy, what the webhook returns decides what the reader gets.
	ConversionResponseControlsRead ID = "conversion.response.controls-read"
	// ConversionResponseHTTPStatus: A response with an HTTP status above 206 fails the conversion, unless it is a redirect that leads to one that does not.
	ConversionResponseHTTPStatus ID = "conversion.response.http-status"
	// ConversionResponseContentTypeLenient: A response of another content type, or of none, is taken for JSON.
	ConversionResponseContentTypeLenient ID = "conversion.response.content-type-lenient"
	// ConversionResponseReviewVersion: A response in another version of ConversionReview than the request fails the conversion.
	ConversionResponseReviewVersion ID = "conversion.response.review-version"
	// ConversionResponseStanza: A ConversionReview without a response fails the conversion.
	ConversionResponseStanza ID = "conversion.response.stanza"
	// ConversionResponseUID: A response.uid that is not the request's fails the conversion.
	ConversionResponseUID ID = "conversion.response.uid"
	// ConversionResponseStatus: A result.status other than Success, written exactly so, fails the conversion.
	ConversionResponseStatus ID = "conversion.response.status"
	// ConversionResponseAllObjects: A response with more or fewer objects than the request fails the conversion.
	ConversionResponseAllObjects ID = "conversion.response.all-objects"
	// ConversionResponseAPIVersion: A converted object of another apiVersion than the desired one fails the conversion.
	ConversionResponseAPIVersion ID = "conversion.response.api-version"
	// ConversionResponseKind: A converted object of another kind fails the conversion.
	ConversionResponseKind ID = "conversion.response.kind"
	// ConversionResponseBody: An empty response or one that is not JSON fails the conversion.
	ConversionResponseBody ID = "conversion.response.body"
	// ConversionResponseExtraFieldsAccepted: A response that repeats the request or has fields that the server does not know is accepted.
	ConversionResponseExtraFieldsAccepted ID = "conversion.response.extra-fields-accepted"
	// ConversionResponseNotValidated: On reads the server hands out what the webhook returned without validating it by the schema.
	ConversionResponseNotValidated ID = "conversion.response.not-validated"
	// ConversionMetadataName: A webhook that changes the name of an object fails the request.
	ConversionMetadataName ID = "conversion.metadata.name"
	// ConversionMetadataNamespace: A webhook that changes the namespace of an object fails the request.
	ConversionMetadataNamespace ID = "conversion.metadata.namespace"
	// ConversionMetadataUID: A webhook that changes or removes the UID of an object fails the request.
	ConversionMetadataUID ID = "conversion.metadata.uid"
	// ConversionMetadataOtherChangesIgnored: All other changes to metadata are ignored; the reader gets the original values.
	ConversionMetadataOtherChangesIgnored ID = "conversion.metadata.other-changes-ignored"
	// ConversionMetadataLabelsMayChange: A webhook may change labels, and the reader sees the change.
	ConversionMetadataLabelsMayChange ID = "conversion.metadata.labels-may-change"
	// ConversionMetadataAnnotationsMayChange: A webhook may change annotations, and the reader sees the change.
	ConversionMetadataAnnotationsMayChange ID = "conversion.metadata.annotations-may-change"
	// ConversionMetadataRemovalHonoured: Labels and annotations that the webhook removes are gone for the reader.
	ConversionMetadataRemovalHonoured ID = "conversion.metadata.removal-honoured"
	// ConversionMetadataLabelsValidated: Labels that the webhook changed to something invalid fail the request.
	ConversionMetadataLabelsValidated ID = "conversion.metadata.labels-validated"
	// ConversionMetadataAnnotationsValidated: Annotations that the webhook changed to something invalid, such as more than 256 KiB, fail the request.
	ConversionMetadataAnnotationsValidated ID = "conversion.metadata.annotations-validated"
	// ConversionMetadataRequired: A converted object without metadata fails the request.
	ConversionMetadataRequired ID = "conversion.metadata.required"
	// ConversionFailureMessage: The message with which the webhook explains a failure reaches the client.
	ConversionFailureMessage ID = "conversion.failure.message"
	// ConversionFailureBlocksReads: A failing conversion makes get and list fail at versions that the object is not stored at.
	ConversionFailureBlocksReads ID = "conversion.failure.blocks-reads"
	// ConversionFailureBlocksWrites: A failing conversion makes create, update, patch and apply fail at versions other than the storage version.
	ConversionFailureBlocksWrites ID = "conversion.failure.blocks-writes"
	// ConversionFailureBlocksDeletes: A failing conversion makes delete and deletecollection fail at versions that the object is not stored at.
	ConversionFailureBlocksDeletes ID = "conversion.failure.blocks-deletes"
	// ConversionFailureBlocksSubresources: A failing conversion makes reads and writes of the status and scale subresources fail at versions that the object is not stored at.
	ConversionFailureBlocksSubresources ID = "conversion.failure.blocks-subresources"
	// ConversionFailureEndsWatch: A watch at another version reports an object that cannot be converted as an error.
	ConversionFailureEndsWatch ID = "conversion.failure.ends-watch"
	// ConversionFailureSparesStorageVersion: With a webhook that fails, objects can be created, read, updated and deleted at the version they are stored at.
	ConversionFailureSparesStorageVersion ID = "conversion.failure.spares-storage-version"
	// ConversionFailureRecovers: Once the webhook converts again, so do requests at the other version.
	ConversionFailureRecovers ID = "conversion.failure.recovers"
	// ConversionFailureRetryAfter: A response of 503 with a Retry-After header is retried after that time.
	ConversionFailureRetryAfter ID = "conversion.failure.retry-after"
	// ConversionFailureNoOtherRetry: A dropped connection and a 429 or 503 without a Retry-After header are not retried.
	ConversionFailureNoOtherRetry ID = "conversion.failure.no-other-retry"
	// ConversionFailureClientDeadline: While the webhook does not answer, a client that set a timeout gets a gateway timeout when its time is over.
	ConversionFailureClientDeadline ID = "conversion.failure.client-deadline"
	// WebhookRequestReviewVersions: The webhook supports at least one version of ConversionReview that the current and the previous API server understand.
	WebhookRequestReviewVersions ID = "webhook.request.review-versions"
	// WebhookRequestResponseStub: The webhook copes with the empty response that API servers put beside the request.
	WebhookRequestResponseStub ID = "webhook.request.response-stub"
	// WebhookRequestWithoutResourceVersion: The webhook converts objects that have no resourceVersion.
	WebhookRequestWithoutResourceVersion ID = "webhook.request.without-resource-version"
	// WebhookRequestPartialObjects: The webhook answers properly for the partial objects of server-side apply, which may lack every field besides metadata.
	WebhookRequestPartialObjects ID = "webhook.request.partial-objects"
	// WebhookRequestClientCertificate: A webhook may leave its clients unauthenticated.
	WebhookRequestClientCertificate ID = "webhook.request.client-certificate"
	// WebhookRequestConversionReviewVersions: The webhook converts in every version of ConversionReview that the definition lists and API servers know.
	WebhookRequestConversionReviewVersions ID = "webhook.request.conversion-review-versions"
	// WebhookRequestUnknownReviewVersion: A ConversionReview of a version that the webhook does not know is answered with an error.
	WebhookRequestUnknownReviewVersion ID = "webhook.request.unknown-review-version"
	// WebhookRequestMalformed: What is not a ConversionReview with a request is answered with an error.
	WebhookRequestMalformed ID = "webhook.request.malformed"
	// WebhookRequestSurvival: After malformed requests the webhook converts as before.
	WebhookRequestSurvival ID = "webhook.request.survival"
	// WebhookTransportCertificate: The certificate of the webhook is valid, for the name that API servers call, and signed by an authority in the caBundle.
	WebhookTransportCertificate ID = "webhook.transport.certificate"
	// WebhookTransportCertificateLifetime: The certificate of the webhook is renewed well before it expires.
	WebhookTransportCertificateLifetime ID = "webhook.transport.certificate-lifetime"
	// WebhookTransportTlsVersion: The webhook speaks TLS 1.2 or later.
	WebhookTransportTlsVersion ID = "webhook.transport.tls-version"
	// WebhookTransportHttp1: The webhook converts over HTTP/1.1.
	WebhookTransportHttp1 ID = "webhook.transport.http1"
	// WebhookTransportHttp2: A webhook that agrees to HTTP/2 converts over it.
	WebhookTransportHttp2 ID = "webhook.transport.http2"
	// WebhookResponseInTime: The webhook answers each request, and within the 30 seconds that the API server waits.
	WebhookResponseInTime ID = "webhook.response.in-time"
	// WebhookResponseHTTPStatus: The webhook responds with HTTP status 200.
	WebhookResponseHTTPStatus ID = "webhook.response.http-status"
	// WebhookResponseContentType: The response has the content type application/json.
	WebhookResponseContentType ID = "webhook.response.content-type"
	// WebhookResponseBody: The body of the response is JSON.
	WebhookResponseBody ID = "webhook.response.body"
	// WebhookResponseReviewKind: The body of the response is a ConversionReview.
	WebhookResponseReviewKind ID = "webhook.response.review-kind"
	// WebhookResponseReviewVersion: The ConversionReview of the response has the version of the one in the request.
	WebhookResponseReviewVersion ID = "webhook.response.review-version"
	// WebhookResponseStanza: The ConversionReview of the response has its response filled in.
	WebhookResponseStanza ID = "webhook.response.stanza"
	// WebhookResponseUID: response.uid is a copy of request.uid.
	WebhookResponseUID ID = "webhook.response.uid"
	// WebhookResponseStatus: After a conversion that succeeded, response.result.status is Success.
	WebhookResponseStatus ID = "webhook.response.status"
	// WebhookResponseAllObjects: response.convertedObjects has as many objects as the request.
	WebhookResponseAllObjects ID = "webhook.response.all-objects"
	// WebhookResponseOrder: The converted objects stand in the order of the request.
	WebhookResponseOrder ID = "webhook.response.order"
	// WebhookResponseAPIVersion: Each converted object has the desired apiVersion.
	WebhookResponseAPIVersion ID = "webhook.response.api-version"
	// WebhookResponseKind: Each converted object keeps its kind.
	WebhookResponseKind ID = "webhook.response.kind"
	// WebhookResponseLean: The response does not repeat the request.
	WebhookResponseLean ID = "webhook.response.lean"
	// WebhookMetadataPresent: Each converted object has metadata.
	WebhookMetadataPresent ID = "webhook.metadata.present"
	// WebhookMetadataName: The webhook does not change metadata.name.
	WebhookMetadataName ID = "webhook.metadata.name"
	// WebhookMetadataNamespace: The webhook does not change metadata.namespace.
	WebhookMetadataNamespace ID = "webhook.metadata.namespace"
	// WebhookMetadataUID: The webhook does not change metadata.uid.
	WebhookMetadataUID ID = "webhook.metadata.uid"
	// WebhookMetadataUnchanged: The webhook changes nothing else in metadata except for labels and annotations.
	WebhookMetadataUnchanged ID = "webhook.metadata.unchanged"
	// WebhookMetadataLabelsValid: Labels and annotations that the webhook changes are valid ones.
	WebhookMetadataLabelsValid ID = "webhook.metadata.labels-valid"
	// WebhookBatchIndependent: The webhook converts the objects of a request independently of each other.
	WebhookBatchIndependent ID = "webhook.batch.independent"
	// WebhookBatchMixedVersions: The webhook converts a request whose objects are at several versions.
	WebhookBatchMixedVersions ID = "webhook.batch.mixed-versions"
	// WebhookBatchSizes: The webhook converts requests of 1, 2, 500 and 1500 objects.
	WebhookBatchSizes ID = "webhook.batch.sizes"
	// WebhookBatchEmpty: A request without objects is answered with success and no objects.
	WebhookBatchEmpty ID = "webhook.batch.empty"
	// WebhookBatchBadObject: A request with one object that cannot be converted fails as a whole, with a ConversionReview that says so.
	WebhookBatchBadObject ID = "webhook.batch.bad-object"
	// WebhookConversionDocumentedExample: The documents' request is converted to the objects of the documents' response, hostPort becoming host and port.
	WebhookConversionDocumentedExample ID = "webhook.conversion.documented-example"
	// WebhookConversionRoundTrip: An object that is converted to another version and back is the object that it was, but for what is declared lossy.
	WebhookConversionRoundTrip ID = "webhook.conversion.round-trip"
	// WebhookConversionSchema: Converted objects satisfy the schema of the version that they were converted to.
	WebhookConversionSchema ID = "webhook.conversion.schema"
	// WebhookConversionIntegers: Integers keep their value, up to the largest that 64 bits hold.
	WebhookConversionIntegers ID = "webhook.conversion.integers"
	// WebhookConversionAdditions: The way to another version and back adds no values to an object, besides defaults of the schema.
	WebhookConversionAdditions ID = "webhook.conversion.additions"
	// WebhookConversionPath: Converting to a third version by way of a second gives what converting directly gives.
	WebhookConversionPath ID = "webhook.conversion.path"
	// WebhookConversionIdentity: An object that is at the desired version already comes back as it is.
	WebhookConversionIdentity ID = "webhook.conversion.identity"
	// WebhookConversionPure: The same object converts to the same object each time, and however many are asked for at a time.
	WebhookConversionPure ID = "webhook.conversion.pure"
	// WebhookConversionGrowth: Objects do not grow when they are converted there and back many times.
	WebhookConversionGrowth ID = "webhook.conversion.growth"
	// WebhookConversionEdits: What a client of the other version has changed is still changed after the way back and forth.
	WebhookConversionEdits ID = "webhook.conversion.edits"
	// WebhookConversionValidation: Converted objects satisfy the limits, patterns, required fields and rules of the version that they were converted to.
	WebhookConversionValidation ID = "webhook.conversion.validation"
	// WebhookConversionStrings: Text keeps every character.
	WebhookConversionStrings ID = "webhook.conversion.strings"
	// WebhookConversionZeroValues: false, 0 and the empty string stay what they are where their absence would mean something else.
	WebhookConversionZeroValues ID = "webhook.conversion.zero-values"
	// WebhookConversionNulls: Objects with null in fields that allow it are converted.
	WebhookConversionNulls ID = "webhook.conversion.nulls"
	// WebhookConversionHuge: Objects as big as API servers store them are converted.
	WebhookConversionHuge ID = "webhook.conversion.huge"
	// WebhookFailureStatus: A conversion that cannot be done is answered with a ConversionReview whose response.result.status is Failed.
	WebhookFailureStatus ID = "webhook.failure.status"
	// WebhookFailureUID: The response to a conversion that failed copies request.uid too.
	WebhookFailureUID ID = "webhook.failure.uid"
	// WebhookFailureAvoided: The webhook fails no conversion of a valid object.
	WebhookFailureAvoided ID = "webhook.failure.avoided"
	// StorageWriteInitialVersion: All objects of a definition with one version are stored at that version.
	StorageWriteInitialVersion ID = "storage.write.initial-version"
	// StorageWriteStorageVersion: An object is stored at the version that is the storage version at the time of the write, whichever version it is written at.
	StorageWriteStorageVersion ID = "storage.write.storage-version"
	// StorageChangeKeepsExisting: A change of the storage version does not convert objects that exist already.
	StorageChangeKeepsExisting ID = "storage.change.keeps-existing"
	// StorageChangeNewObjects: Objects created after a change of the storage version are stored at the new one.
	StorageChangeNewObjects ID = "storage.change.new-objects"
	// StorageChangeUpdatedObjects: Objects updated after a change of the storage version are stored at the new one.
	StorageChangeUpdatedObjects ID = "storage.change.updated-objects"
	// StorageReadUnserved: An object that is stored at a version no longer served can be read at the versions that are.
	StorageReadUnserved ID = "storage.read.unserved"
	// StorageReadRequestedVersion: A reader gets an object at the version that the path of the request names.
	StorageReadRequestedVersion ID = "storage.read.requested-version"
	// StorageReadUnchangedOnDisk: Reading an object at another version changes nothing in storage.
	StorageReadUnchangedOnDisk ID = "storage.read.unchanged-on-disk"
	// StorageReadAnyServed: An object can be read at every version that is served.
	StorageReadAnyServed ID = "storage.read.any-served"
	// StorageReadNotConverted: A read converts an object in no way other than by its apiVersion.
	StorageReadNotConverted ID = "storage.read.not-converted"
	// StorageUpdateRewrites: Updating an object, even with the content that it has, rewrites it at the current storage version.
	StorageUpdateRewrites ID = "storage.update.rewrites"
	// StorageUpdateEmptyPatch: A patch that changes nothing rewrites an object of an old version at the current storage version.
	StorageUpdateEmptyPatch ID = "storage.update.empty-patch"
	// StorageUpdateGenerationKept: Rewriting an object unchanged at the current storage version gives it a new resourceVersion and keeps its generation.
	StorageUpdateGenerationKept ID = "storage.update.generation-kept"
	// StorageUpdateIdempotent: Once an object is at the current storage version, writing it unchanged writes nothing.
	StorageUpdateIdempotent ID = "storage.update.idempotent"
	// StorageUpdateOnlyWay: Reads, lists, watches and changes of the definition never move an object to another version in storage.
	StorageUpdateOnlyWay ID = "storage.update.only-way"
	// StorageSequenceFiveSteps: The five events of the documents' example leave both objects in storage at the versions that the documents say.
	StorageSequenceFiveSteps ID = "storage.sequence.five-steps"
	// StorageSequenceIdenticalReads: In the documents' example the object reads the same at both versions but for its apiVersion.
	StorageSequenceIdenticalReads ID = "storage.sequence.identical-reads"
	// StorageStoredVersionsRecorded: status.storedVersions lists every version that was ever the storage version.
	StorageStoredVersionsRecorded ID = "storage.stored-versions.recorded"
	// StorageStoredVersionsUserValueIgnored: A status.storedVersions given at creation is ignored.
	StorageStoredVersionsUserValueIgnored ID = "storage.stored-versions.user-value-ignored"
	// StorageStoredVersionsNoOtherInStorage: No object is in storage at a version that was never the storage version.
	StorageStoredVersionsNoOtherInStorage ID = "storage.stored-versions.no-other-in-storage"
	// StorageStoredVersionsCurrentDropped: The current storage version can be dropped from status.storedVersions and comes back with the next change of the definition.
	StorageStoredVersionsCurrentDropped ID = "storage.stored-versions.current-dropped"
	// StorageStoredVersionsUnknownBlocks: A version in status.storedVersions that the definition does not have blocks every change of the definition.
	StorageStoredVersionsUnknownBlocks ID = "storage.stored-versions.unknown-blocks"
	// LifecycleUpgradeStoredVersions: When v1 takes over from v1beta1 as the storage version, status.storedVersions is v1beta1, v1.
	LifecycleUpgradeStoredVersions ID = "lifecycle.upgrade.stored-versions"
	// LifecycleUpgradeRewrite: Listing all objects and writing each with the same content brings all of them to the storage version.
	LifecycleUpgradeRewrite ID = "lifecycle.upgrade.rewrite"
	// LifecycleUpgradeConcurrent: An upgrade by list and write, page by page, succeeds while clients create, update and delete objects, and loses none of their writes.
	LifecycleUpgradeConcurrent ID = "lifecycle.upgrade.concurrent"
	// LifecycleUpgradeClientsUnaffected: Clients may use both versions before, during and after the upgrade of the stored objects.
	LifecycleUpgradeClientsUnaffected ID = "lifecycle.upgrade.clients-unaffected"
	// LifecycleUpgradeTrimStatus: After the upgrade the old version can be removed from status.storedVersions.
	LifecycleUpgradeTrimStatus ID = "lifecycle.upgrade.trim-status"
	// LifecycleUpgradeIdempotent: A second upgrade writes nothing.
	LifecycleUpgradeIdempotent ID = "lifecycle.upgrade.idempotent"
	// LifecycleUpgradeWebhookNotNeeded: With every object at the storage version and every client on it, nothing needs the webhook any more.
	LifecycleUpgradeWebhookNotNeeded ID = "lifecycle.upgrade.webhook-not-needed"
	// LifecycleUpgradeMigrator: The Storage Version Migrator upgrades the stored objects.
	LifecycleUpgradeMigrator ID = "lifecycle.upgrade.migrator"
	// LifecycleUpgradeMigrationAPI: A StorageVersionMigration of storagemigration.k8s.io upgrades the stored objects.
	LifecycleUpgradeMigrationAPI ID = "lifecycle.upgrade.migration-api"
	// LifecycleUpgradeMigrationCondition: A StorageVersionMigration that succeeded resets status.storedVersions to the storage version, unless the definition changed meanwhile.
	LifecycleUpgradeMigrationCondition ID = "lifecycle.upgrade.migration-condition"
	// LifecycleUpgradeMigrationFailure: A StorageVersionMigration that failed leaves status.storedVersions as it was.
	LifecycleUpgradeMigrationFailure ID = "lifecycle.upgrade.migration-failure"
	// LifecycleRemovalStoredVersionKept: A version cannot be dropped from the definition while it is in status.storedVersions.
	LifecycleRemovalStoredVersionKept ID = "lifecycle.removal.stored-version-kept"
	// LifecycleRemovalStatusSubresource: A version is removed from status.storedVersions by an update of the status.
	LifecycleRemovalStatusSubresource ID = "lifecycle.removal.status-subresource"
	// LifecycleRemovalMainResourceIgnored: An update of the definition itself leaves status.storedVersions as it is.
	LifecycleRemovalMainResourceIgnored ID = "lifecycle.removal.main-resource-ignored"
	// LifecycleRemovalServedReversible: A version that clients turn out to need can be served again, and their objects are there as before.
	LifecycleRemovalServedReversible ID = "lifecycle.removal.served-reversible"
	// LifecycleRemovalProcedure: The documented procedure, taken step by step, removes an old version and loses no object.
	LifecycleRemovalProcedure ID = "lifecycle.removal.procedure"
	// LifecycleRemovalTooEarly: An object left at a version that was removed all the same cannot be read or deleted any more.
	LifecycleRemovalTooEarly ID = "lifecycle.removal.too-early"
	// LifecycleRemovalStorageOnNew: The new served version is the storage version.
	LifecycleRemovalStorageOnNew ID = "lifecycle.removal.storage-on-new"
	// LifecycleRemovalStoredField: Before a version is removed, the field stored of the new version is true.
	LifecycleRemovalStoredField ID = "lifecycle.removal.stored-field"
	// LifecycleRemovalWebhookSupportLast: The webhook keeps its support of a version until the definition has dropped it.
	LifecycleRemovalWebhookSupportLast ID = "lifecycle.removal.webhook-support-last"
	// LifecycleFinalizersSupported: Custom objects keep the finalizers that they are given.
	LifecycleFinalizersSupported ID = "lifecycle.finalizers.supported"
	// LifecycleFinalizersQualifiedNames: The name of a finalizer is a domain, a slash and a name; the server warns of others.
	LifecycleFinalizersQualifiedNames ID = "lifecycle.finalizers.qualified-names"
	// LifecycleFinalizersFirstDeleteMarks: The first delete request on an object with finalizers sets its deletionTimestamp and leaves the object in place.
	LifecycleFinalizersFirstDeleteMarks ID = "lifecycle.finalizers.first-delete-marks"
	// LifecycleFinalizersOnlyRemoved: Once the deletionTimestamp is set, finalizers can be removed but not added.
	LifecycleFinalizersOnlyRemoved ID = "lifecycle.finalizers.only-removed"
	// LifecycleFinalizersNoForce: While a finalizer remains, no delete request removes the object.
	LifecycleFinalizersNoForce ID = "lifecycle.finalizers.no-force"
	// LifecycleFinalizersEmptiedDeletes: When the last finalizer goes, the object goes.
	LifecycleFinalizersEmptiedDeletes ID = "lifecycle.finalizers.emptied-deletes"
	// LifecycleFinalizersGracePeriod: metadata.deletionGracePeriodSeconds controls how often an object is polled for the end of its finalizers.
	LifecycleFinalizersGracePeriod ID = "lifecycle.finalizers.grace-period"
	// LifecycleDeletionEndpoint: Deleting a definition takes its resource off the API and out of discovery.
	LifecycleDeletionEndpoint ID = "lifecycle.deletion.endpoint"
	// LifecycleDeletionObjects: Deleting a definition deletes all of its objects from storage.
	LifecycleDeletionObjects ID = "lifecycle.deletion.objects"
	// LifecycleDeletionNotFound: Requests for the resource of a deleted definition get a not found error.
	LifecycleDeletionNotFound ID = "lifecycle.deletion.not-found"
	// LifecycleDeletionRecreatedEmpty: A definition created again starts without objects.
	LifecycleDeletionRecreatedEmpty ID = "lifecycle.deletion.recreated-empty"
	// LifecycleDeletionBlockedByWebhook: While objects are in storage at several versions and the webhook fails, the definition stays, Terminating, with the reason InstanceDeletionFailed.
	LifecycleDeletionBlockedByWebhook ID = "lifecycle.deletion.blocked-by-webhook"
	// LifecycleDeletionRecovers: A deletion that a failing webhook held up completes when the webhook is back.
	LifecycleDeletionRecovers ID = "lifecycle.deletion.recovers"
	// LifecycleDeletionWithoutWebhook: With all objects at the storage version, a definition can be deleted although the webhook fails.
	LifecycleDeletionWithoutWebhook ID = "lifecycle.deletion.without-webhook"
	// LifecycleLegacyV1beta1Endpoint: apiextensions.k8s.io/v1beta1 is not served any more.
	LifecycleLegacyV1beta1Endpoint ID = "lifecycle.legacy.v1beta1-endpoint"
	// LifecycleLegacyV1beta1Manifest: A definition of apiextensions.k8s.io/v1beta1 sent to the v1 endpoint is refused.
	LifecycleLegacyV1beta1Manifest ID = "lifecycle.legacy.v1beta1-manifest"
	// LifecycleLegacyOneSchema: All versions of a definition use the same schema and nothing is converted.
	LifecycleLegacyOneSchema ID = "lifecycle.legacy.one-schema"
	// LifecycleLegacyVersionField: spec.version, where it is set, is the first of spec.versions and one of the served ones.
	LifecycleLegacyVersionField ID = "lifecycle.legacy.version-field"
	// LifecycleLegacyVersionPrepopulates: spec.version fills spec.versions where that is missing, and may change.
	LifecycleLegacyVersionPrepopulates ID = "lifecycle.legacy.version-prepopulates"
	// LifecycleLegacyReviewVersionsDefault: conversionReviewVersions defaults to v1beta1.
	LifecycleLegacyReviewVersionsDefault ID = "lifecycle.legacy.review-versions-default"
	// LifecycleLegacyOptionalSchema: A definition may have no schema, or preserve unknown fields everywhere.
	LifecycleLegacyOptionalSchema ID = "lifecycle.legacy.optional-schema"
	// LifecycleLegacyVersionsList: A definition lists its versions; they share one schema, and their order is that of discovery.
	LifecycleLegacyVersionsList ID = "lifecycle.legacy.versions-list"
	// ResourceCreateEveryVersion: Objects can be created at every served version, and the response has what was sent.
	ResourceCreateEveryVersion ID = "resource.create.every-version"
	// ResourceReadEveryVersion: An object can be read at every served version, and at the one that it was written at it has what was written.
	ResourceReadEveryVersion ID = "resource.read.every-version"
	// ResourceUpdateEveryVersion: An update at any version has its effect at all of them and takes nothing else away.
	ResourceUpdateEveryVersion ID = "resource.update.every-version"
	// ResourcePatchJSON: A JSON patch at any version has its effect at all of them and takes nothing else away.
	ResourcePatchJSON ID = "resource.patch.json"
	// ResourcePatchMerge: A merge patch at any version has its effect at all of them and takes nothing else away.
	ResourcePatchMerge ID = "resource.patch.merge"
	// ResourceApplyTwoManagers: Two managers that apply different fields at different versions do not disturb each other, applying the same again changes nothing, and what one gives up is gone while the other's stays.
	ResourceApplyTwoManagers ID = "resource.apply.two-managers"
	// ResourceApplyManagedFields: The record of who manages which fields survives writes at other versions, and a manager that moves to another version has one entry, at that one.
	ResourceApplyManagedFields ID = "resource.apply.managed-fields"
	// ResourceStatusEveryVersion: A status that is written at any version is read there as it was written, and no write of the spec at another version takes it away.
	ResourceStatusEveryVersion ID = "resource.status.every-version"
	// ResourceScaleEveryVersion: Replicas that are set by the scale subresource of one version are read by that of every other.
	ResourceScaleEveryVersion ID = "resource.scale.every-version"
	// ResourceWatchEveryVersion: A watch at any version sees each creation, change and deletion, with the object as a read at that version has it.
	ResourceWatchEveryVersion ID = "resource.watch.every-version"
	// ResourceListMixedStorage: Objects that are stored at different versions are listed together at every version, each with what was written.
	ResourceListMixedStorage ID = "resource.list.mixed-storage"
	// ResourceDeleteEveryVersion: Objects can be deleted at every version, and those with a finalizer are kept, readable everywhere, until it is removed at any version.
	ResourceDeleteEveryVersion ID = "resource.delete.every-version"
	// ResourceDeleteCollection: A request to delete all objects with a label, at any version, deletes all of them.
	ResourceDeleteCollection ID = "resource.delete.collection"
	// ResourceWriteNoOp: Writing back what was read, at any version, changes nothing that is stored.
	ResourceWriteNoOp ID = "resource.write.no-op"
	// ResourceWriteValidatedRead: An object that was read at any version can be written back as it is, and created anew.
	ResourceWriteValidatedRead ID = "resource.write.validated-read"
	// ControlNamespacesMissing: An object cannot be created in a namespace that does not exist; the request gets a not found error.
	ControlNamespacesMissing ID = "control.namespaces.missing"
	// ControlNamespacesTerminating: While a namespace is being deleted nothing can be created in it, at any version; the request is forbidden with the cause NamespaceTerminating.
	ControlNamespacesTerminating ID = "control.namespaces.terminating"
	// ControlNamespacesObjects: Deleting a namespace deletes the objects in it, whichever version they are stored at, and no others.
	ControlNamespacesObjects ID = "control.namespaces.objects"
	// ControlNamespacesFinalizers: An object with a finalizer holds up the deletion of its namespace, which says so in the condition NamespaceFinalizersRemaining and ends when the finalizer is gone.
	ControlNamespacesFinalizers ID = "control.namespaces.finalizers"
	// ControlNamespacesBlockedByWebhook: When objects in a namespace have to be converted and the webhook fails, the deletion of the namespace hangs, the objects stay, and the condition NamespaceDeletionContentFailure says why.
	ControlNamespacesBlockedByWebhook ID = "control.namespaces.blocked-by-webhook"
	// ControlNamespacesRecover: The deletion of a namespace that a webhook held up goes through once the webhook is mended.
	ControlNamespacesRecover ID = "control.namespaces.recover"
	// ControlNamespacesPreferredVersion: Deleting a namespace needs no webhook for objects that are stored at the version that discovery prefers.
	ControlNamespacesPreferredVersion ID = "control.namespaces.preferred-version"
	// ControlGarbageOwners: What a custom object owns is deleted after it, whichever served version the owner reference names.
	ControlGarbageOwners ID = "control.garbage.owners"
	// ControlGarbageDependents: A custom object whose owner is gone is deleted, whichever version it was created at, and one without an owner stays.
	ControlGarbageDependents ID = "control.garbage.dependents"
	// ControlGarbageForeground: A custom object that is deleted in the foreground is marked at every version and stays until what it owns is gone.
	ControlGarbageForeground ID = "control.garbage.foreground"
	// ControlGarbageOrphan: A custom object that is deleted with the propagation Orphan leaves what it owned, without the owner reference.
	ControlGarbageOrphan ID = "control.garbage.orphan"
	// ControlKubectlCreate: kubectl create creates an object from a manifest at any served version.
	ControlKubectlCreate ID = "control.kubectl.create"
	// ControlKubectlValidation: kubectl refuses a manifest with a field that the schema does not have, names the field, and creates nothing.
	ControlKubectlValidation ID = "control.kubectl.validation"
	// ControlKubectlApply: kubectl apply creates an object, brings over what changed in the manifest, writes nothing when nothing did, and takes the next manifest at another version.
	ControlKubectlApply ID = "control.kubectl.apply"
	// ControlKubectlServerSideApply: kubectl apply --server-side does the same.
	ControlKubectlServerSideApply ID = "control.kubectl.server-side-apply"
	// ControlKubectlNames: kubectl takes a resource by its plural or singular name, in any case, with and without the group and a version, and by its short names.
	ControlKubectlNames ID = "control.kubectl.names"
	// ControlKubectlCategory: kubectl get with the name of a category lists the objects of the resources in it.
	ControlKubectlCategory ID = "control.kubectl.category"
	// ControlKubectlPreferredVersion: kubectl get prints an object at the version of the highest priority, whatever the storage version is, unless it is asked for another.
	ControlKubectlPreferredVersion ID = "control.kubectl.preferred-version"
	// ControlKubectlManifestVersion: kubectl uses the version that a manifest names.
	ControlKubectlManifestVersion ID = "control.kubectl.manifest-version"
	// ControlKubectlExplain: kubectl explain shows the fields of the version of the highest priority, and those of another version on request.
	ControlKubectlExplain ID = "control.kubectl.explain"
	// ControlKubectlColumns: kubectl get shows the name and the printer columns of priority 0, with their values.
	ControlKubectlColumns ID = "control.kubectl.columns"
	// ControlKubectlWideColumns: Printer columns with a priority greater than 0 are shown by kubectl get -o wide, after the others.
	ControlKubectlWideColumns ID = "control.kubectl.wide-columns"
	// ControlKubectlScale: kubectl scale sets the replicas of a custom object with the scale subresource.
	ControlKubectlScale ID = "control.kubectl.scale"
	// ControlKubectlPatchSubresource: kubectl patch --subresource status changes the status of an object and nothing else.
	ControlKubectlPatchSubresource ID = "control.kubectl.patch-subresource"
	// ControlAggregatorAPIServices: Each served version has an APIService, which is local and available.
	ControlAggregatorAPIServices ID = "control.aggregator.api-services"
	// ControlAggregatorDiscovery: Aggregated discovery shows the group among those of all API servers, its versions by priority and current, each with the resource and its subresources.
	ControlAggregatorDiscovery ID = "control.aggregator.discovery"
	// ControlAggregatorOpenapiV2: The OpenAPI v2 document of the whole API has the paths and the schema of every served version.
	ControlAggregatorOpenapiV2 ID = "control.aggregator.openapi-v2"
	// ControlAggregatorOpenapiV3: The index of OpenAPI v3 has a document for every served version, with the schema of that version.
	ControlAggregatorOpenapiV3 ID = "control.aggregator.openapi-v3"
	// ControlAggregatorUnserved: A version that is no longer served loses its APIService and leaves aggregated discovery and OpenAPI v2.
	ControlAggregatorUnserved ID = "control.aggregator.unserved"
	// ControlAccessGroup: A rule of RBAC allows a verb for a resource of a group at every served version, and no other verb.
	ControlAccessGroup ID = "control.access.group"
	// ControlAccessNoVersions: Rules of RBAC cannot be limited to a version; one that names a version in its group or its resource allows nothing.
	ControlAccessNoVersions ID = "control.access.no-versions"
	// ControlAccessSubresources: A right to objects is none to their status and scale, which have rights of their own, the same at every version.
	ControlAccessSubresources ID = "control.access.subresources"
	// ControlScalingDisruptionBudget: A PodDisruptionBudget counts the replicas that the scale of a pod's controlling custom object asks for, whichever served version the owner reference names.
	ControlScalingDisruptionBudget ID = "control.scaling.disruption-budget"
	// ControlScalingAutoscaler: A HorizontalPodAutoscaler reads and sets the replicas of a custom object by its scale, and every version has them.
	ControlScalingAutoscaler ID = "control.scaling.autoscaler"
	// ControlMigrationRewrites: When a StorageVersionMigration has succeeded, every object is stored at the storage version.
	ControlMigrationRewrites ID = "control.migration.rewrites"
	// ControlMigrationStoredVersions: After a StorageVersionMigration that succeeded, status.storedVersions has the storage version only, and neither the older version nor the webhook is needed any more.
	ControlMigrationStoredVersions ID = "control.migration.stored-versions"
	// ControlMigrationFailure: A StorageVersionMigration that failed leaves status.storedVersions as it was, since objects may still be stored at any version in it.
	ControlMigrationFailure ID = "control.migration.failure"
)
