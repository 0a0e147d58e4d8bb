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
	// VersionsServingEstablished: The Established condition of a new definition becomes true, and the endpoint responds soon after.
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
	// VersionsNamesKubectlAliases: kubectl accepts the resource by its plural, singular or short name in any case.
	VersionsNamesKubectlAliases ID = "versions.names.kubectl-aliases"
	// VersionsNamesArbitraryJSON: Custom fields can contain arbitrary JSON.
	VersionsNamesArbitraryJSON ID = "versions.names.arbitrary-json"
	// VersionsClientsBothVersions: Some clients may use the old version while others use the new one; no update is lost and no request fails.
	VersionsClientsBothVersions ID = "versions.clients.both-versions"
	// VersionsPriorityOrderIrrelevant: The order of versions in the definition has no influence on their priority.
	VersionsPriorityOrderIrrelevant ID = "versions.priority.order-irrelevant"
	// VersionsPriorityPreferredVersion: The version of the highest priority is the preferred one, which clients use when they name none; of v1beta1 and v1 that is v1.
	VersionsPriorityPreferredVersion ID = "versions.priority.preferred-version"
	// VersionsPriorityKubernetesFirst: Versions whose names follow the Kubernetes pattern come before all others.
	VersionsPriorityKubernetesFirst ID = "versions.priority.kubernetes-first"
	// VersionsPriorityNumbersDescending: Versions that follow the Kubernetes pattern are sorted by their number, the largest first.
	VersionsPriorityNumbersDescending ID = "versions.priority.numbers-descending"
	// VersionsPriorityStability: Stable versions come before beta versions and beta versions before alpha versions, whatever their numbers.
	VersionsPriorityStability ID = "versions.priority.stability"
	// VersionsPrioritySecondNumber: A number after beta or alpha is also sorted from the largest to the smallest.
	VersionsPrioritySecondNumber ID = "versions.priority.second-number"
	// VersionsPriorityOthersAlphabetical: Versions of any other form are sorted alphabetically, without regard to numbers in them, so foo1 comes before foo10.
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
	// VersionsManifestsErrorTexts: An object that violates the schema is refused with the text that the documents print.
	VersionsManifestsErrorTexts ID = "versions.manifests.error-texts"
	// ConversionNoneOnlyAPIVersion: With the None strategy, an object read at another version differs from the stored one in its apiVersion only.
	ConversionNoneOnlyAPIVersion ID = "conversion.none.only-api-version"
	// ConversionNoneDefault: A definition that names no conversion strategy gets None.
	ConversionNoneDefault ID = "conversion.none.default"
	// ConversionNonePrunesToSchema: With the None strategy and schemas that differ, fields that the version does not know are pruned.
	ConversionNonePrunesToSchema ID = "conversion.none.prunes-to-schema"
	// ConversionNoneMovesNothing: The None strategy moves no value between fields, which is why it must not be used where versions keep the same data in different fields.
	ConversionNoneMovesNothing ID = "conversion.none.moves-nothing"
	// ConversionNoneSameSchema: The None strategy is for versions that share one schema.
	ConversionNoneSameSchema ID = "conversion.none.same-schema"
	// ConversionNoneWebhookStanzaRejected: A webhook stanza together with the None strategy is refused.
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
	// ConversionClientSystemRoots: Without a caBundle the certificate is verified against the roots of the system; one that they do not cover fails the call.
	ConversionClientSystemRoots ID = "conversion.client.system-roots"
	// ConversionClientWebhookUpFirst: The webhook is up before the definition that names it is applied.
	ConversionClientWebhookUpFirst ID = "conversion.client.webhook-up-first"
	// ConversionClientCABundleInvalidCreate: A new definition whose caBundle contains no certificate does not become Established; the reason is InvalidCABundle.
	ConversionClientCABundleInvalidCreate ID = "conversion.client.ca-bundle-invalid-create"
	// ConversionClientCABundleInvalidUpdate: An established definition cannot be updated to a caBundle that contains no certificate.
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
	// ConversionRequestTimeout: A query parameter of the request tells the webhook that it has 30 seconds.
	ConversionRequestTimeout ID = "conversion.request.timeout"
	// ConversionRequestFirstSupportedVersion: The API server sends the first version of conversionReviewVersions that it supports.
	ConversionRequestFirstSupportedVersion ID = "conversion.request.first-supported-version"
	// ConversionRequestVersionsRequired: The Webhook strategy needs conversionReviewVersions.
	ConversionRequestVersionsRequired ID = "conversion.request.versions-required"
	// ConversionRequestVersionsUnique: A version that is listed twice in conversionReviewVersions is refused.
	ConversionRequestVersionsUnique ID = "conversion.request.versions-unique"
	// ConversionRequestVersionsNoneSupported: A definition whose conversionReviewVersions holds no version that the server supports is refused.
	ConversionRequestVersionsNoneSupported ID = "conversion.request.versions-none-supported"
	// ConversionRequestVersionsNoneSupportedStored: With a stored definition whose conversionReviewVersions holds no version that the server supports, conversions fail.
	ConversionRequestVersionsNoneSupportedStored ID = "conversion.request.versions-none-supported-stored"
	// ConversionRequestUIDUnique: Every call has a request.uid of its own.
	ConversionRequestUIDUnique ID = "conversion.request.uid-unique"
	// ConversionRequestDesiredAPIVersion: request.desiredAPIVersion is the group and version that the objects are to have.
	ConversionRequestDesiredAPIVersion ID = "conversion.request.desired-api-version"
	// ConversionRequestObjectsPresent: Every request contains at least one object.
	ConversionRequestObjectsPresent ID = "conversion.request.objects-present"
	// ConversionRequestOnRead: The webhook is called when an object is requested at another version than it is stored at.
	ConversionRequestOnRead ID = "conversion.request.on-read"
	// ConversionRequestOnWatch: The webhook is called when an object changes that is stored at another version than it is watched at.
	ConversionRequestOnWatch ID = "conversion.request.on-watch"
	// ConversionRequestOnUpdate: The webhook is called when an object is put at another version than the storage version.
	ConversionRequestOnUpdate ID = "conversion.request.on-update"
	// ConversionRequestBatched: A request may contain several objects to save calls.
	ConversionRequestBatched ID = "conversion.request.batched"
	// ConversionRequestOnlyOtherVersions: Objects that already have the desired version are not sent.
	ConversionRequestOnlyOtherVersions ID = "conversion.request.only-other-versions"
	// ConversionRequestNoEmptyObjects: Objects that contain only apiVersion and kind are not sent.
	ConversionRequestNoEmptyObjects ID = "conversion.request.no-empty-objects"
	// ConversionRequestNoUnusedVersions: While every object and every client uses the storage version, the webhook is not called for the other versions of the definition.
	ConversionRequestNoUnusedVersions ID = "conversion.request.no-unused-versions"
	// ConversionRequestNamespace: Objects of a namespaced resource are sent with their namespace.
	ConversionRequestNamespace ID = "conversion.request.namespace"
	// ConversionRequestNoResourceVersion: Objects sent for a read have no resourceVersion in their metadata.
	ConversionRequestNoResourceVersion ID = "conversion.request.no-resource-version"
	// ConversionRequestManagedFields: Objects sent for a read have their managedFields with them.
	ConversionRequestManagedFields ID = "conversion.request.managed-fields"
	// ConversionRequestPartialObjects: For server-side apply the server sends objects that contain only the fields of one manager, some without any field of their own.
	ConversionRequestPartialObjects ID = "conversion.request.partial-objects"
	// ConversionResponseControlsRead: With the Webhook strategy, what the webhook returns decides what the reader gets.
	ConversionResponseControlsRead ID = "conversion.response.controls-read"
	// ConversionResponseHTTPStatus: A response with an HTTP status above 206 fails the conversion, unless it is a redirect that leads to one that does not.
	ConversionResponseHTTPStatus ID = "conversion.response.http-status"
	// ConversionResponseContentTypeLenient: A response with another content type, or without one, is treated as JSON.
	ConversionResponseContentTypeLenient ID = "conversion.response.content-type-lenient"
	// ConversionResponseReviewVersion: A response in another version of ConversionReview than the request fails the conversion.
	ConversionResponseReviewVersion ID = "conversion.response.review-version"
	// ConversionResponseStanza: A ConversionReview without a response fails the conversion.
	ConversionResponseStanza ID = "conversion.response.stanza"
	// ConversionResponseUID: A response.uid that is not the request's fails the conversion.
	ConversionResponseUID ID = "conversion.response.uid"
	// ConversionResponseStatus: A result.status other than Success, written exactly so, fails the conversion.
	ConversionResponseStatus ID = "conversion.response.status"
	// ConversionResponseDocumentedStatus: A webhook that answers as the documents print their v1beta1 example of a success, with a result.status of Failed, fails the conversion; with Success in its place it converts.
	ConversionResponseDocumentedStatus ID = "conversion.response.documented-status"
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
	// ConversionMetadataRemovalHonoured: Labels and annotations that the webhook removes are removed for the reader.
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
	// WebhookRequestResponseStub: The webhook accepts the empty response that API servers send with the request.
	WebhookRequestResponseStub ID = "webhook.request.response-stub"
	// WebhookRequestWithoutResourceVersion: The webhook converts objects that have no resourceVersion.
	WebhookRequestWithoutResourceVersion ID = "webhook.request.without-resource-version"
	// WebhookRequestPartialObjects: The webhook converts the partial objects of server-side apply, which may lack every field except metadata, or reports a failure properly.
	WebhookRequestPartialObjects ID = "webhook.request.partial-objects"
	// WebhookRequestClientCertificate: A webhook need not authenticate its clients.
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
	// WebhookTransportTlsVersion: The webhook supports TLS 1.2 or later.
	WebhookTransportTlsVersion ID = "webhook.transport.tls-version"
	// WebhookTransportHttp1: The webhook converts over HTTP/1.1.
	WebhookTransportHttp1 ID = "webhook.transport.http1"
	// WebhookTransportHttp2: A webhook that negotiates HTTP/2 converts over it.
	WebhookTransportHttp2 ID = "webhook.transport.http2"
	// WebhookResponseInTime: The webhook answers each request within the 30 seconds that the API server waits.
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
	// WebhookResponseStatus: After a successful conversion, response.result.status is Success.
	WebhookResponseStatus ID = "webhook.response.status"
	// WebhookResponseAllObjects: response.convertedObjects has as many objects as the request.
	WebhookResponseAllObjects ID = "webhook.response.all-objects"
	// WebhookResponseOrder: The converted objects are in the order of the request.
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
	// WebhookMetadataLabelsValid: Labels and annotations that the webhook changes are valid.
	WebhookMetadataLabelsValid ID = "webhook.metadata.labels-valid"
	// WebhookBatchIndependent: The webhook converts the objects of a request independently of each other.
	WebhookBatchIndependent ID = "webhook.batch.independent"
	// WebhookBatchMixedVersions: The webhook converts a request whose objects have several versions.
	WebhookBatchMixedVersions ID = "webhook.batch.mixed-versions"
	// WebhookBatchSizes: The webhook converts requests of 1, 2, 500 and 1500 objects.
	WebhookBatchSizes ID = "webhook.batch.sizes"
	// WebhookBatchEmpty: A request without objects is answered with success and no objects.
	WebhookBatchEmpty ID = "webhook.batch.empty"
	// WebhookBatchBadObject: A request with one object that cannot be converted fails as a whole, with a ConversionReview that says so.
	WebhookBatchBadObject ID = "webhook.batch.bad-object"
	// WebhookConversionDocumentedExample: The documents' request is converted to the objects of the documents' response, hostPort becoming host and port.
	WebhookConversionDocumentedExample ID = "webhook.conversion.documented-example"
	// WebhookConversionRoundTrip: An object that is converted to another version and back equals the original, except for fields declared lossy.
	WebhookConversionRoundTrip ID = "webhook.conversion.round-trip"
	// WebhookConversionSchema: Converted objects satisfy the schema of the version that they were converted to.
	WebhookConversionSchema ID = "webhook.conversion.schema"
	// WebhookConversionIntegers: Integers keep their value, up to the 64-bit maximum.
	WebhookConversionIntegers ID = "webhook.conversion.integers"
	// WebhookConversionAdditions: A round trip to another version adds no values to an object, except defaults of the schema.
	WebhookConversionAdditions ID = "webhook.conversion.additions"
	// WebhookConversionPath: Converting to a third version through a second gives the same result as converting directly.
	WebhookConversionPath ID = "webhook.conversion.path"
	// WebhookConversionIdentity: An object that already has the desired version is returned unchanged.
	WebhookConversionIdentity ID = "webhook.conversion.identity"
	// WebhookConversionPure: The same object always converts to the same object, regardless of how many are requested at once.
	WebhookConversionPure ID = "webhook.conversion.pure"
	// WebhookConversionGrowth: Objects do not grow when they are converted back and forth many times.
	WebhookConversionGrowth ID = "webhook.conversion.growth"
	// WebhookConversionEdits: A change by a client of the other version survives a round trip.
	WebhookConversionEdits ID = "webhook.conversion.edits"
	// WebhookConversionValidation: Converted objects satisfy the limits, patterns, required fields and rules of the version that they were converted to.
	WebhookConversionValidation ID = "webhook.conversion.validation"
	// WebhookConversionStrings: Text keeps every character.
	WebhookConversionStrings ID = "webhook.conversion.strings"
	// WebhookConversionZeroValues: false, 0 and the empty string are kept where their absence would have another meaning.
	WebhookConversionZeroValues ID = "webhook.conversion.zero-values"
	// WebhookConversionNulls: Objects with null in fields that allow it are converted.
	WebhookConversionNulls ID = "webhook.conversion.nulls"
	// WebhookConversionHuge: Objects as large as API servers can store are converted.
	WebhookConversionHuge ID = "webhook.conversion.huge"
	// WebhookFailureStatus: A conversion that cannot be done is answered with a ConversionReview whose response.result.status is Failed.
	WebhookFailureStatus ID = "webhook.failure.status"
	// WebhookFailureUID: The response to a conversion that failed also copies request.uid.
	WebhookFailureUID ID = "webhook.failure.uid"
	// WebhookFailureAvoided: The webhook fails no conversion of a valid object.
	WebhookFailureAvoided ID = "webhook.failure.avoided"
	// SchemaStructuralMandatory: A schema must be structural; a definition with another one can neither be created nor be changed to have it.
	SchemaStructuralMandatory ID = "schema.structural.mandatory"
	// SchemaStructuralTypeOfRoot: The root of a schema has a type.
	SchemaStructuralTypeOfRoot ID = "schema.structural.type-of-root"
	// SchemaStructuralTypeOfFields: Every field of an object that a schema specifies has a type, whether specified by properties or by additionalProperties.
	SchemaStructuralTypeOfFields ID = "schema.structural.type-of-fields"
	// SchemaStructuralTypeOfItems: The items of a list have a type.
	SchemaStructuralTypeOfItems ID = "schema.structural.type-of-items"
	// SchemaStructuralTypeExceptions: Where x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, no type is needed.
	SchemaStructuralTypeExceptions ID = "schema.structural.type-exceptions"
	// SchemaStructuralJunctorFields: Fields that are specified within allOf, anyOf, oneOf or not are specified outside of it too, or the schema is refused.
	SchemaStructuralJunctorFields ID = "schema.structural.junctor-fields"
	// SchemaStructuralJunctorItems: Items of lists that are specified within allOf, anyOf, oneOf or not are specified outside of it too, or the schema is refused.
	SchemaStructuralJunctorItems ID = "schema.structural.junctor-items"
	// SchemaStructuralJunctorKeywords: Within allOf, anyOf, oneOf and not there is no description, no type, no default, no additionalProperties and no nullable.
	SchemaStructuralJunctorKeywords ID = "schema.structural.junctor-keywords"
	// SchemaStructuralMetadata: A schema that restricts anything of the metadata besides name and generateName is refused.
	SchemaStructuralMetadata ID = "schema.structural.metadata"
	// SchemaStructuralMetadataName: A schema may restrict metadata.name, and objects of other names are refused then.
	SchemaStructuralMetadataName ID = "schema.structural.metadata-name"
	// SchemaStructuralExampleViolations: All six violations of the documents' third example are named at once.
	SchemaStructuralExampleViolations ID = "schema.structural.example-violations"
	// SchemaStructuralExampleCounterpart: The structural schema that corresponds to the documents' third example is accepted.
	SchemaStructuralExampleCounterpart ID = "schema.structural.example-counterpart"
	// SchemaStructuralSetOfObjects: Objects that are items of a list of type set are compared as a whole, so their x-kubernetes-map-type must be atomic.
	SchemaStructuralSetOfObjects ID = "schema.structural.set-of-objects"
	// SchemaStructuralCondition: The condition NonStructural of a definition says why its schema is not structural.
	SchemaStructuralCondition ID = "schema.structural.condition"
	// SchemaStructuralNoCondition: A definition with a structural schema has no condition NonStructural.
	SchemaStructuralNoCondition ID = "schema.structural.no-condition"
	// SchemaRootObject: The root of a schema is of type object; any other type is refused.
	SchemaRootObject ID = "schema.root.object"
	// SchemaRootNullable: The root of a schema is not nullable.
	SchemaRootNullable ID = "schema.root.nullable"
	// SchemaRootAdditionalProperties: The root of a schema has no additionalProperties.
	SchemaRootAdditionalProperties ID = "schema.root.additional-properties"
	// SchemaRootUnknownFormat: A schema with a format that the API server does not know is accepted, and values are not validated by that format.
	SchemaRootUnknownFormat ID = "schema.root.unknown-format"
	// SchemaRootUnknownFormatWarned: Whoever writes a schema with a format that the API server does not know gets a warning that names the format.
	SchemaRootUnknownFormatWarned ID = "schema.root.unknown-format-warned"
	// SchemaPruningDocumented: The documents' object with someRandomField is created without that field, and with all others.
	SchemaPruningDocumented ID = "schema.pruning.documented"
	// SchemaPruningPersisted: An unknown field is removed before an object is stored, so that it does not come back once a schema knows it.
	SchemaPruningPersisted ID = "schema.pruning.persisted"
	// SchemaPruningWrites: Unknown fields are removed whether written by put, a merge patch, a JSON patch or an applied object.
	SchemaPruningWrites ID = "schema.pruning.writes"
	// SchemaPruningStatus: Unknown fields of the status are removed when it is written by its subresource.
	SchemaPruningStatus ID = "schema.pruning.status"
	// SchemaPruningRead: A field that the schema no longer contains is not shown for objects that have it in storage.
	SchemaPruningRead ID = "schema.pruning.read"
	// SchemaPruningReadKeepsStorage: A field that is removed only on reading stays in storage, and is shown again once the schema contains it again.
	SchemaPruningReadKeepsStorage ID = "schema.pruning.read-keeps-storage"
	// SchemaPruningFlagRejected: A definition with spec.preserveUnknownFields is refused.
	SchemaPruningFlagRejected ID = "schema.pruning.flag-rejected"
	// SchemaPruningLegacy: Nothing is pruned of objects whose definition has spec.preserveUnknownFields.
	SchemaPruningLegacy ID = "schema.pruning.legacy"
	// SchemaPruningLegacyUpdate: A definition from the days of v1beta1 gets a structural schema and preserveUnknownFields false.
	SchemaPruningLegacyUpdate ID = "schema.pruning.legacy-update"
	// SchemaPruningOptedOut: Below x-kubernetes-preserve-unknown-fields nothing is pruned, and any JSON value is kept.
	SchemaPruningOptedOut ID = "schema.pruning.opted-out"
	// SchemaPruningOptedOutSiblings: Where one field is marked with x-kubernetes-preserve-unknown-fields, unknown fields next to it are still pruned.
	SchemaPruningOptedOutSiblings ID = "schema.pruning.opted-out-siblings"
	// SchemaPruningOptedOutObjects: With type object and x-kubernetes-preserve-unknown-fields, only objects are allowed.
	SchemaPruningOptedOutObjects ID = "schema.pruning.opted-out-objects"
	// SchemaPruningSpecifiedProperties: Below x-kubernetes-preserve-unknown-fields, each property that is specified is pruned again; the documents' example comes out as they print it.
	SchemaPruningSpecifiedProperties ID = "schema.pruning.specified-properties"
	// SchemaPruningSpecifiedAdditionalProperties: Below x-kubernetes-preserve-unknown-fields, values that additionalProperties specifies are pruned again.
	SchemaPruningSpecifiedAdditionalProperties ID = "schema.pruning.specified-additional-properties"
	// SchemaPruningStrict: With fieldValidation Strict an object with unknown fields is refused, and the error names them.
	SchemaPruningStrict ID = "schema.pruning.strict"
	// SchemaPruningStrictMetadata: With fieldValidation Strict an object with an unknown field in its metadata is refused, and the error names the field.
	SchemaPruningStrictMetadata ID = "schema.pruning.strict-metadata"
	// SchemaPruningStrictDuplicates: With fieldValidation Strict an object with a duplicate field is refused, and the error names it; otherwise the last one counts.
	SchemaPruningStrictDuplicates ID = "schema.pruning.strict-duplicates"
	// SchemaPruningWarn: With fieldValidation Warn, and without any, an object with unknown fields is accepted and a warning names them.
	SchemaPruningWarn ID = "schema.pruning.warn"
	// SchemaPruningIgnore: With fieldValidation Ignore an object with unknown fields is accepted without a warning.
	SchemaPruningIgnore ID = "schema.pruning.ignore"
	// SchemaIntOrStringValues: Where x-kubernetes-int-or-string is true, integers and strings are allowed and keep their type.
	SchemaIntOrStringValues ID = "schema.int-or-string.values"
	// SchemaIntOrStringOtherValues: Where x-kubernetes-int-or-string is true, anything but integers and strings is refused.
	SchemaIntOrStringOtherValues ID = "schema.int-or-string.other-values"
	// SchemaIntOrStringPatterns: Beside x-kubernetes-int-or-string, the two forms of the documents may name the types integer and string.
	SchemaIntOrStringPatterns ID = "schema.int-or-string.patterns"
	// SchemaIntOrStringVariations: Any variation of the two forms is refused, such as the types in the other order or with another field.
	SchemaIntOrStringVariations ID = "schema.int-or-string.variations"
	// SchemaIntOrStringRestrictions: Further members of allOf beside the documented form restrict what is allowed.
	SchemaIntOrStringRestrictions ID = "schema.int-or-string.restrictions"
	// SchemaIntOrStringPublished: The OpenAPI v3 document has x-kubernetes-int-or-string spelled out as one of the two forms.
	SchemaIntOrStringPublished ID = "schema.int-or-string.published"
	// SchemaIntOrStringPublishedV2: The OpenAPI v2 document has x-kubernetes-int-or-string as it is, and neither a type nor anyOf or allOf beside it.
	SchemaIntOrStringPublishedV2 ID = "schema.int-or-string.published-v2"
	// SchemaEmbeddedType: What x-kubernetes-embedded-resource marks is of type object; without the type it is refused.
	SchemaEmbeddedType ID = "schema.embedded.type"
	// SchemaEmbeddedWhole: With x-kubernetes-embedded-resource and x-kubernetes-preserve-unknown-fields a field holds a whole object, of which nothing is pruned.
	SchemaEmbeddedWhole ID = "schema.embedded.whole"
	// SchemaEmbeddedSpecified: Without x-kubernetes-preserve-unknown-fields an embedded object keeps what is specified of it and its apiVersion, kind and metadata.
	SchemaEmbeddedSpecified ID = "schema.embedded.specified"
	// SchemaEmbeddedNothingSpecified: An embedded object of which nothing is specified and nothing is preserved is refused.
	SchemaEmbeddedNothingSpecified ID = "schema.embedded.nothing-specified"
	// SchemaEmbeddedTypeMeta: The apiVersion and the kind of an embedded object are required and validated.
	SchemaEmbeddedTypeMeta ID = "schema.embedded.type-meta"
	// SchemaEmbeddedMetadata: The metadata of an embedded object is validated, and unknown metadata fields are pruned.
	SchemaEmbeddedMetadata ID = "schema.embedded.metadata"
	// SchemaNoneEveryVersion: The schemas of all versions must be structural, whether a version is served and stored or not.
	SchemaNoneEveryVersion ID = "schema.none.every-version"
	// SchemaNonePrunedAtRequest: With the None strategy an object is pruned by the schema of the version that it is written at, even of fields that the storage version knows.
	SchemaNonePrunedAtRequest ID = "schema.none.pruned-at-request"
	// SchemaNonePrunedForStorage: With the None strategy a field that the storage version does not know is lost, although the version that it is written at knows it.
	SchemaNonePrunedForStorage ID = "schema.none.pruned-for-storage"
	// SchemaNonePreservedAtOne: With the None strategy a field that is preserved at one version only is shown whole there, and pruned at the other without being lost.
	SchemaNonePreservedAtOne ID = "schema.none.preserved-at-one"
	// SchemaNonePreservedLostByUpdate: With the None strategy an update at the version that prunes removes from storage what the other version preserves.
	SchemaNonePreservedLostByUpdate ID = "schema.none.preserved-lost-by-update"
	// SchemaNoneIntOrString: With the None strategy an integer stays an integer and a string a string at every version.
	SchemaNoneIntOrString ID = "schema.none.int-or-string"
	// SchemaNoneEmbedded: With the None strategy the apiVersion of an object changes with the version, and that of an object embedded in it does not.
	SchemaNoneEmbedded ID = "schema.none.embedded"
	// SchemaNoneStorageChanged: With the None strategy, once another version is the storage version, fields that it does not know are still shown at the version that objects were stored at before, until an update removes them.
	SchemaNoneStorageChanged ID = "schema.none.storage-changed"
	// SchemaWebhookPrunedBeforeConversion: An object is pruned by the schema of the version that it is written at before a webhook converts it.
	SchemaWebhookPrunedBeforeConversion ID = "schema.webhook.pruned-before-conversion"
	// SchemaWebhookResultPruned: What a webhook returns is pruned by the schema of the version that it was asked for.
	SchemaWebhookResultPruned ID = "schema.webhook.result-pruned"
	// SchemaWebhookResultPrunedForStorage: Fields that the storage version does not know and a webhook returns are removed before the object is stored.
	SchemaWebhookResultPrunedForStorage ID = "schema.webhook.result-pruned-for-storage"
	// SchemaWebhookPreserved: What is preserved at both versions goes to a webhook whole, and comes back whole.
	SchemaWebhookPreserved ID = "schema.webhook.preserved"
	// SchemaWebhookIntOrString: Integers and strings are sent to a webhook with their type, and are shown at the other version as the webhook returns them.
	SchemaWebhookIntOrString ID = "schema.webhook.int-or-string"
	// SchemaWebhookEmbedded: An object that is embedded in one that a webhook converts keeps its apiVersion, and the webhook is not asked to convert it.
	SchemaWebhookEmbedded ID = "schema.webhook.embedded"
	// SchemaWebhookStrict: Field validation uses the version that is written, so a field of the other version is unknown.
	SchemaWebhookStrict ID = "schema.webhook.strict"
	// ValidationRestrictionsDefinitions: A schema with definitions is refused.
	ValidationRestrictionsDefinitions ID = "validation.restrictions.definitions"
	// ValidationRestrictionsDependencies: A schema with dependencies is refused.
	ValidationRestrictionsDependencies ID = "validation.restrictions.dependencies"
	// ValidationRestrictionsID: A schema with id is refused.
	ValidationRestrictionsID ID = "validation.restrictions.id"
	// ValidationRestrictionsPatternProperties: A schema with patternProperties is refused.
	ValidationRestrictionsPatternProperties ID = "validation.restrictions.pattern-properties"
	// ValidationRestrictionsRef: A schema with $ref is refused.
	ValidationRestrictionsRef ID = "validation.restrictions.ref"
	// ValidationRestrictionsUnknownKeywords: The keywords deprecated, discriminator, readOnly, writeOnly and xml do not get into a schema; they are left out of it, and a warning names them.
	ValidationRestrictionsUnknownKeywords ID = "validation.restrictions.unknown-keywords"
	// ValidationRestrictionsUnknownKeywordsStrict: With fieldValidation Strict a definition with one of these keywords is refused.
	ValidationRestrictionsUnknownKeywordsStrict ID = "validation.restrictions.unknown-keywords-strict"
	// ValidationRestrictionsUniqueItems: A schema with uniqueItems true is refused.
	ValidationRestrictionsUniqueItems ID = "validation.restrictions.unique-items"
	// ValidationRestrictionsAdditionalPropertiesFalse: A schema with additionalProperties false is refused.
	ValidationRestrictionsAdditionalPropertiesFalse ID = "validation.restrictions.additional-properties-false"
	// ValidationRestrictionsAdditionalPropertiesNone: Where additionalProperties is false and there are no properties, objects with any field are refused.
	ValidationRestrictionsAdditionalPropertiesNone ID = "validation.restrictions.additional-properties-none"
	// ValidationRestrictionsAdditionalPropertiesExclusive: A schema with both properties and additionalProperties at one place is refused.
	ValidationRestrictionsAdditionalPropertiesExclusive ID = "validation.restrictions.additional-properties-exclusive"
	// ValidationRestrictionsAdditionalItems: A schema with additionalItems is refused.
	ValidationRestrictionsAdditionalItems ID = "validation.restrictions.additional-items"
	// ValidationFieldsDocumentedInvalid: The documents' object with a cronSpec that does not match the pattern and too many replicas is refused for both.
	ValidationFieldsDocumentedInvalid ID = "validation.fields.documented-invalid"
	// ValidationFieldsBounds: The minimum and the maximum themselves are allowed, and what is beyond is refused.
	ValidationFieldsBounds ID = "validation.fields.bounds"
	// ValidationFieldsDocumentedValid: The documents' object with valid fields is accepted.
	ValidationFieldsDocumentedValid ID = "validation.fields.documented-valid"
	// ValidationFieldsUpdate: An object is validated when it is put, patched and applied, as when it is created.
	ValidationFieldsUpdate ID = "validation.fields.update"
	// ValidationFieldsRefusedUpdateChangesNothing: An update that is refused leaves the object as it was.
	ValidationFieldsRefusedUpdateChangesNothing ID = "validation.fields.refused-update-changes-nothing"
	// ValidationFieldsTightened: Once a schema becomes stricter, objects that it no longer allows can still be read.
	ValidationFieldsTightened ID = "validation.fields.tightened"
	// ValidationFieldsRatcheting: An update that leaves an invalid field as it was is accepted, so that other fields of objects that a schema once allowed can be changed.
	ValidationFieldsRatcheting ID = "validation.fields.ratcheting"
	// ValidationFieldsRatchetingChanged: An update that changes an invalid field to another invalid value is refused.
	ValidationFieldsRatchetingChanged ID = "validation.fields.ratcheting-changed"
	// ValidationFieldsRatchetingLists: An update of a list that is a set or atomic is refused while an item is invalid, even if it was there before.
	ValidationFieldsRatchetingLists ID = "validation.fields.ratcheting-lists"
	// ValidationRulesGate: The feature gate CustomResourceValidationExpressions switches rules off.
	ValidationRulesGate ID = "validation.rules.gate"
	// ValidationRulesOutsideJunctors: Rules are part of the structure of a schema; within allOf, anyOf, oneOf and not they are refused.
	ValidationRulesOutsideJunctors ID = "validation.rules.outside-junctors"
	// ValidationRulesScope: In a rule, self is the value at the place of the rule, and what is around it cannot be reached.
	ValidationRulesScope ID = "validation.rules.scope"
	// ValidationRulesCurrentObject: A rule can refer only to the object itself; any other name does not compile.
	ValidationRulesCurrentObject ID = "validation.rules.current-object"
	// ValidationRulesDocumented: The documents' object whose replicas are not between minReplicas and maxReplicas is refused at the place of the rule.
	ValidationRulesDocumented ID = "validation.rules.documented"
	// ValidationRulesMessage: The error contains the message of the rule.
	ValidationRulesMessage ID = "validation.rules.message"
	// ValidationRulesDefaultMessage: The error of a rule without a message contains the rule itself.
	ValidationRulesDefaultMessage ID = "validation.rules.default-message"
	// ValidationRulesSeveral: Several rules at one place are evaluated and reported separately.
	ValidationRulesSeveral ID = "validation.rules.several"
	// ValidationRulesRatcheting: An update that leaves a field as it was is accepted although a rule that was added since forbids its value; one that changes it to another such value is refused.
	ValidationRulesRatcheting ID = "validation.rules.ratcheting"
	// ValidationRulesCompiledOnCreate: A definition with a rule that does not compile cannot be created.
	ValidationRulesCompiledOnCreate ID = "validation.rules.compiled-on-create"
	// ValidationRulesCompiledOnUpdate: A definition cannot be changed to have a rule that does not compile.
	ValidationRulesCompiledOnUpdate ID = "validation.rules.compiled-on-update"
	// ValidationRulesNoOverload: A rule with a function that does not fit the types of its arguments is refused, and the error says that there is no matching overload.
	ValidationRulesNoOverload ID = "validation.rules.no-overload"
	// ValidationRulesUndefinedField: A rule with a field that the schema does not have is refused, and the error names the field.
	ValidationRulesUndefinedField ID = "validation.rules.undefined-field"
	// ValidationRulesInvalidArgument: A rule with a wrong argument to a macro is refused, and the error says so.
	ValidationRulesInvalidArgument ID = "validation.rules.invalid-argument"
	// ValidationRulesMetadataAccessible: A rule at the root of an object and one at an embedded object can use apiVersion, kind, metadata.name and metadata.generateName.
	ValidationRulesMetadataAccessible ID = "validation.rules.metadata-accessible"
	// ValidationRulesOtherMetadata: A rule that uses any other part of the metadata is refused.
	ValidationRulesOtherMetadata ID = "validation.rules.other-metadata"
	// ValidationRulesNullAbsent: A field that is null is absent to rules.
	ValidationRulesNullAbsent ID = "validation.rules.null-absent"
	// ValidationRulesPreservedUnknown: Fields that are preserved without being specified cannot be used in rules.
	ValidationRulesPreservedUnknown ID = "validation.rules.preserved-unknown"
	// ValidationRulesUnknownTypes: Fields of an unknown type cannot be used in rules, nor can lists and maps of such values.
	ValidationRulesUnknownTypes ID = "validation.rules.unknown-types"
	// ValidationRulesUnrepresentableNames: Fields whose names do not consist of letters, digits, underscores, dots, dashes and slashes cannot be used in rules.
	ValidationRulesUnrepresentableNames ID = "validation.rules.unrepresentable-names"
	// ValidationExamplesOrdered: The example rule that three fields are ordered distinguishes objects that satisfy it from those that do not.
	ValidationExamplesOrdered ID = "validation.examples.ordered"
	// ValidationExamplesEntry: The example rule that a map has an entry of a key distinguishes objects that satisfy it from those that do not.
	ValidationExamplesEntry ID = "validation.examples.entry"
	// ValidationExamplesOneOfTwo: The example rule that one of two lists is empty and the other is not distinguishes objects that satisfy it from those that do not.
	ValidationExamplesOneOfTwo ID = "validation.examples.one-of-two"
	// ValidationExamplesKey: The example rule on the value of one key of a map distinguishes objects that satisfy it from those that do not.
	ValidationExamplesKey ID = "validation.examples.key"
	// ValidationExamplesKeyMisprinted: The example rule on the value of one key of a map does not compile as it is printed, where self is the object that has the map.
	ValidationExamplesKeyMisprinted ID = "validation.examples.key-misprinted"
	// ValidationExamplesListMapEntry: The example rule on the value of one entry of a list of type map distinguishes objects that satisfy it from those that do not.
	ValidationExamplesListMapEntry ID = "validation.examples.list-map-entry"
	// ValidationExamplesDates: The example rule on two dates and a duration distinguishes objects that satisfy it from those that do not.
	ValidationExamplesDates ID = "validation.examples.dates"
	// ValidationExamplesPrefix: The example rule that a string has a prefix distinguishes objects that satisfy it from those that do not.
	ValidationExamplesPrefix ID = "validation.examples.prefix"
	// ValidationExamplesExists: The example rule that a list of type map has an item with a small value distinguishes objects that satisfy it from those that do not.
	ValidationExamplesExists ID = "validation.examples.exists"
	// ValidationExamplesIntOrString: The example rule on a field that is an integer or a string distinguishes objects that satisfy it from those that do not, in both cases.
	ValidationExamplesIntOrString ID = "validation.examples.int-or-string"
	// ValidationExamplesNamePrefix: The example rule that an object's name begins with the value of a field distinguishes objects that satisfy it from those that do not.
	ValidationExamplesNamePrefix ID = "validation.examples.name-prefix"
	// ValidationExamplesDisjoint: The example rule that two sets are disjoint distinguishes objects that satisfy it from those that do not.
	ValidationExamplesDisjoint ID = "validation.examples.disjoint"
	// ValidationExamplesKeyed: The example rule that the keys of a map are the items of a set distinguishes objects that satisfy it from those that do not.
	ValidationExamplesKeyed ID = "validation.examples.keyed"
	// ValidationExamplesOccurrence: The example rule that one value occurs once in a list of type map distinguishes objects that satisfy it from those that do not.
	ValidationExamplesOccurrence ID = "validation.examples.occurrence"
	// ValidationScopesRoot: A rule at the root can use fields of spec and of status in one expression.
	ValidationScopesRoot ID = "validation.scopes.root"
	// ValidationScopesObject: A rule at an object can select its fields, and test with has() whether they exist.
	ValidationScopesObject ID = "validation.scopes.object"
	// ValidationScopesMap: A rule at a map can select values by their keys.
	ValidationScopesMap ID = "validation.scopes.map"
	// ValidationScopesArray: A rule at a list can use its size and its items.
	ValidationScopesArray ID = "validation.scopes.array"
	// ValidationScopesScalar: A rule at a scalar has the value as self.
	ValidationScopesScalar ID = "validation.scopes.scalar"
	// ValidationScopesRootObject: The example of a rule at the root object distinguishes objects that satisfy it from those that do not.
	ValidationScopesRootObject ID = "validation.scopes.root-object"
	// ValidationScopesMapOfObjects: The example of a rule on a map of objects distinguishes objects that satisfy it from those that do not.
	ValidationScopesMapOfObjects ID = "validation.scopes.map-of-objects"
	// ValidationScopesListOfIntegers: The example of a rule on a list of integers distinguishes objects that satisfy it from those that do not.
	ValidationScopesListOfIntegers ID = "validation.scopes.list-of-integers"
	// ValidationScopesString: The example of a rule at a string distinguishes objects that satisfy it from those that do not.
	ValidationScopesString ID = "validation.scopes.string"
	// ValidationNamesKeyword: A field that is named by a reserved word of CEL, such as namespace, is reached with two underscores before and after the name.
	ValidationNamesKeyword ID = "validation.names.keyword"
	// ValidationNamesDash: A dash in the name of a field is written __dash__ in rules.
	ValidationNamesDash ID = "validation.names.dash"
	// ValidationNamesUnderscores: Two underscores in the name of a field are written __underscores__ in rules.
	ValidationNamesUnderscores ID = "validation.names.underscores"
	// ValidationNamesPlain: A field of another name, such as string, is reached by its name.
	ValidationNamesPlain ID = "validation.names.plain"
	// ValidationNamesDot: A dot in the name of a field is written __dot__ in rules.
	ValidationNamesDot ID = "validation.names.dot"
	// ValidationNamesSlash: A slash in the name of a field is written __slash__ in rules.
	ValidationNamesSlash ID = "validation.names.slash"
	// ValidationNamesWholeKeyword: A name is escaped only if it is a reserved word as a whole, not if it contains one.
	ValidationNamesWholeKeyword ID = "validation.names.whole-keyword"
	// ValidationListsSetEquality: Two lists of type set are equal regardless of the order of their items.
	ValidationListsSetEquality ID = "validation.lists.set-equality"
	// ValidationListsMapEquality: Two lists of type map are equal regardless of the order of their items.
	ValidationListsMapEquality ID = "validation.lists.map-equality"
	// ValidationListsAtomicEquality: Two lists without a type are equal when their items are in the same order.
	ValidationListsAtomicEquality ID = "validation.lists.atomic-equality"
	// ValidationListsSetConcatenation: The sum of two sets has the items of the first in their order, followed by those of the second that the first lacks.
	ValidationListsSetConcatenation ID = "validation.lists.set-concatenation"
	// ValidationListsMapConcatenation: The sum of two lists of type map has the keys of the first in their order, with the values of the second, followed by the items whose keys the first lacks.
	ValidationListsMapConcatenation ID = "validation.lists.map-concatenation"
	// ValidationTypesObject: An object with properties is an object with fields in rules.
	ValidationTypesObject ID = "validation.types.object"
	// ValidationTypesMap: An object with additionalProperties is a map in rules.
	ValidationTypesMap ID = "validation.types.map"
	// ValidationTypesEmbedded: An embedded object has apiVersion, kind, metadata.name and metadata.generateName in rules without having them specified.
	ValidationTypesEmbedded ID = "validation.types.embedded"
	// ValidationTypesPreserved: An object of which unknown fields are preserved is an object with the fields that are specified in rules.
	ValidationTypesPreserved ID = "validation.types.preserved"
	// ValidationTypesIntOrString: A field that is an integer or a string is of the type that its value has in rules.
	ValidationTypesIntOrString ID = "validation.types.int-or-string"
	// ValidationTypesList: An array is a list in rules.
	ValidationTypesList ID = "validation.types.list"
	// ValidationTypesListMap: An array of list type map is a list in rules, of which no two items have the same key.
	ValidationTypesListMap ID = "validation.types.list-map"
	// ValidationTypesSet: An array of list type set is a list in rules, of which no two items are equal.
	ValidationTypesSet ID = "validation.types.set"
	// ValidationTypesBoolean: A boolean is a bool in rules.
	ValidationTypesBoolean ID = "validation.types.boolean"
	// ValidationTypesNumber: A number of any format is a double in rules, even where its value is whole.
	ValidationTypesNumber ID = "validation.types.number"
	// ValidationTypesInteger: An integer of any format is an int of 64 bits in rules.
	ValidationTypesInteger ID = "validation.types.integer"
	// ValidationTypesNull: A field that is null is of no other type in rules; it is absent.
	ValidationTypesNull ID = "validation.types.null"
	// ValidationTypesString: A string is a string in rules.
	ValidationTypesString ID = "validation.types.string"
	// ValidationTypesByte: A string of format byte is bytes in rules, decoded.
	ValidationTypesByte ID = "validation.types.byte"
	// ValidationTypesDate: A string of format date is a timestamp in rules.
	ValidationTypesDate ID = "validation.types.date"
	// ValidationTypesDateTime: A string of format date-time is a timestamp in rules.
	ValidationTypesDateTime ID = "validation.types.date-time"
	// ValidationTypesDuration: A string of format duration is a duration in rules.
	ValidationTypesDuration ID = "validation.types.duration"
	// ValidationTransitionOldSelf: In a rule, oldSelf is the value before an update, and an update that breaks the rule is refused with its message.
	ValidationTransitionOldSelf ID = "validation.transition.old-self"
	// ValidationTransitionNeverOnCreate: A rule that uses oldSelf does not apply to the creation of an object.
	ValidationTransitionNeverOnCreate ID = "validation.transition.never-on-create"
	// ValidationTransitionSetOrUnset: A rule that uses oldSelf does not apply to updates that set or unset its field.
	ValidationTransitionSetOrUnset ID = "validation.transition.set-or-unset"
	// ValidationTransitionParent: A rule at the parent sees what is added to it or removed from it.
	ValidationTransitionParent ID = "validation.transition.parent"
	// ValidationTransitionListMap: Below a list of type map, each item is compared with the one that had its key before, regardless of their order.
	ValidationTransitionListMap ID = "validation.transition.list-map"
	// ValidationTransitionSetRefused: A rule that uses oldSelf is refused below lists of type set and below atomic ones.
	ValidationTransitionSetRefused ID = "validation.transition.set-refused"
	// ValidationTransitionImmutable: The example of a field that cannot be changed is enforced.
	ValidationTransitionImmutable ID = "validation.transition.immutable"
	// ValidationTransitionAssigned: The example of a value that cannot be changed once it is assigned is enforced.
	ValidationTransitionAssigned ID = "validation.transition.assigned"
	// ValidationTransitionAssignedField: The example of a field that cannot be removed once it exists is enforced.
	ValidationTransitionAssignedField ID = "validation.transition.assigned-field"
	// ValidationTransitionSet: The example rule on a set allows no item that was not there before.
	ValidationTransitionSet ID = "validation.transition.set"
	// ValidationTransitionNext: The example of a value that only certain others can follow is enforced.
	ValidationTransitionNext ID = "validation.transition.next"
	// ValidationTransitionCounter: The example of a counter that never decreases is enforced.
	ValidationTransitionCounter ID = "validation.transition.counter"
	// ValidationTransitionNotRatcheted: A rule that uses oldSelf also applies to updates that leave its field unchanged.
	ValidationTransitionNotRatcheted ID = "validation.transition.not-ratcheted"
	// ValidationTransitionOptionalOldSelf: With optionalOldSelf a rule also applies to creations, where oldSelf has no value.
	ValidationTransitionOptionalOldSelf ID = "validation.transition.optional-old-self"
	// ValidationCostUnbounded: The documents' rule on a list without limits is refused for its cost, and the error says that limits would help.
	ValidationCostUnbounded ID = "validation.cost.unbounded"
	// ValidationCostLimited: The same rule is accepted with limits on the list and on its items.
	ValidationCostLimited ID = "validation.cost.limited"
	// ValidationCostPerItem: A rule on each item of a list costs as much as one that goes through the list; with the documents' limits it is accepted, and without them refused.
	ValidationCostPerItem ID = "validation.cost.per-item"
	// ValidationCostFlatList: The documents' rule on a flat list of integers is accepted without limits.
	ValidationCostFlatList ID = "validation.cost.flat-list"
	// ValidationCostNestedList: The same rule on lists in a list is refused without limits.
	ValidationCostNestedList ID = "validation.cost.nested-list"
	// ValidationCostTotal: Rules that are accepted individually are refused if they cost too much together.
	ValidationCostTotal ID = "validation.cost.total"
	// ValidationCostRunTime: A rule that costs too much for an object is halted, and the object is refused.
	ValidationCostRunTime ID = "validation.cost.run-time"
	// ValidationNoneWrittenVersion: With the None strategy an object is validated by the schema of the version that it is written at.
	ValidationNoneWrittenVersion ID = "validation.none.written-version"
	// ValidationNoneOtherVersions: With the None strategy an object that another version forbids is accepted, stored and shown at that version, even if that is the storage version.
	ValidationNoneOtherVersions ID = "validation.none.other-versions"
	// ValidationNoneUpdate: With the None strategy an update is validated by the schema of the version that it is made at, whatever version the object was written at.
	ValidationNoneUpdate ID = "validation.none.update"
	// ValidationNoneRatcheting: With the None strategy an update at a version that forbids a field is accepted if the field is unchanged.
	ValidationNoneRatcheting ID = "validation.none.ratcheting"
	// ValidationNoneRules: With the None strategy a rule of one version applies only to what is written at that version.
	ValidationNoneRules ID = "validation.none.rules"
	// ValidationNoneTransition: With the None strategy a transition rule of one version applies only to updates at that version.
	ValidationNoneTransition ID = "validation.none.transition"
	// ValidationNoneCompiled: Rules of all versions are compiled, whether a version is served and stored or not.
	ValidationNoneCompiled ID = "validation.none.compiled"
	// ValidationWebhookWrittenVersion: An object is validated by the schema of the version that it is written at, before a webhook converts it for storage.
	ValidationWebhookWrittenVersion ID = "validation.webhook.written-version"
	// ValidationWebhookStored: What a webhook returns for storage is not validated by the schema of the storage version.
	ValidationWebhookStored ID = "validation.webhook.stored"
	// ValidationWebhookUpdate: An update is validated by the schema of the version that it is made at, with the rest of the object converted to that.
	ValidationWebhookUpdate ID = "validation.webhook.update"
	// ValidationWebhookRatcheting: An update at a version that forbids a field is accepted where the field stays as the webhook converts it.
	ValidationWebhookRatcheting ID = "validation.webhook.ratcheting"
	// ValidationWebhookRules: A rule sees objects as they are at its own version, and applies only to what is written at that version.
	ValidationWebhookRules ID = "validation.webhook.rules"
	// ValidationWebhookOldSelf: In a transition rule oldSelf is the object in storage, converted to the version of the rule.
	ValidationWebhookOldSelf ID = "validation.webhook.old-self"
	// ValidationWebhookTransition: A transition rule of one version does not apply to updates at another.
	ValidationWebhookTransition ID = "validation.webhook.transition"
	// DefaultingRequestDocumented: The documents' object with only an image gets the defaults of cronSpec and replicas.
	DefaultingRequestDocumented ID = "defaulting.request.documented"
	// DefaultingRequestWrites: Defaults are filled in whether an object is written by put, a patch or an applied object.
	DefaultingRequestWrites ID = "defaulting.request.writes"
	// DefaultingRequestKept: A value that is given is kept, even if it is false, 0, or empty.
	DefaultingRequestKept ID = "defaulting.request.kept"
	// DefaultingRequestParents: A default is filled in only if the object that has the field exists, possibly through a default of its own.
	DefaultingRequestParents ID = "defaulting.request.parents"
	// DefaultingRequestItems: Defaults are filled in in each item of a list and in each value of a map.
	DefaultingRequestItems ID = "defaulting.request.items"
	// DefaultingRequestBeforeValidation: Defaults are filled in before an object is validated, so that a required field may be left out where it has one.
	DefaultingRequestBeforeValidation ID = "defaulting.request.before-validation"
	// DefaultingRequestNotChanged: An object that was stored with a default keeps that value when the default changes.
	DefaultingRequestNotChanged ID = "defaulting.request.not-changed"
	// DefaultingReadFilledIn: An object that was stored before a default existed is shown with it by get, list and watch.
	DefaultingReadFilledIn ID = "defaulting.read.filled-in"
	// DefaultingReadNotWritten: A default that is filled in on reading is not written; without the default the object is shown without the value again.
	DefaultingReadNotWritten ID = "defaulting.read.not-written"
	// DefaultingReadPersisted: An update writes the default that was filled in on reading.
	DefaultingReadPersisted ID = "defaulting.read.persisted"
	// DefaultingValuesPruned: A default with fields that the schema does not have is refused.
	DefaultingValuesPruned ID = "defaulting.values.pruned"
	// DefaultingValuesValid: A default that the schema does not allow is refused.
	DefaultingValuesValid ID = "defaulting.values.valid"
	// DefaultingValuesRules: A default that breaks a rule is refused.
	DefaultingValuesRules ID = "defaulting.values.rules"
	// DefaultingValuesMetadata: A default for the metadata of an embedded object may have fields that metadata do not have; they are pruned when it is filled in.
	DefaultingValuesMetadata ID = "defaulting.values.metadata"
	// DefaultingNullableDefaulted: A null for a field that is not nullable is removed, and replaced by the default, however it is written.
	DefaultingNullableDefaulted ID = "defaulting.nullable.defaulted"
	// DefaultingNullableRemoved: A null for a field that is not nullable and has no default is removed.
	DefaultingNullableRemoved ID = "defaulting.nullable.removed"
	// DefaultingNullableKept: A null for a field that is nullable is kept, even if there is a default.
	DefaultingNullableKept ID = "defaulting.nullable.kept"
	// DefaultingNullableDocumented: The documents' object with null for foo, bar and baz is stored as they print it.
	DefaultingNullableDocumented ID = "defaulting.nullable.documented"
	// DefaultingNoneRequestVersion: With the None strategy an object gets the defaults of the version that it is written at, and is shown with them at every version.
	DefaultingNoneRequestVersion ID = "defaulting.none.request-version"
	// DefaultingNoneUnknownToStorage: With the None strategy a default of a field that the storage version does not know is lost.
	DefaultingNoneUnknownToStorage ID = "defaulting.none.unknown-to-storage"
	// DefaultingNoneStorageVersionOnRead: With the None strategy an object that is read gets the defaults of the version that it is stored at, whatever version it is read at.
	DefaultingNoneStorageVersionOnRead ID = "defaulting.none.storage-version-on-read"
	// DefaultingNoneOtherVersionsOnRead: With the None strategy an object that is read does not get defaults that only the version it is read at has.
	DefaultingNoneOtherVersionsOnRead ID = "defaulting.none.other-versions-on-read"
	// DefaultingNoneStoredBefore: With the None strategy, once another version is the storage version, objects that were stored before get the defaults of the version at which they are stored.
	DefaultingNoneStoredBefore ID = "defaulting.none.stored-before"
	// DefaultingNoneUpdateOtherVersion: With the None strategy an update at another version writes the defaults of that version in addition to those that were filled in on reading.
	DefaultingNoneUpdateOtherVersion ID = "defaulting.none.update-other-version"
	// DefaultingWebhookBeforeConversion: An object gets the defaults of the version that it is written at before a webhook converts it.
	DefaultingWebhookBeforeConversion ID = "defaulting.webhook.before-conversion"
	// DefaultingWebhookRequestVersion: An object that a webhook converts is shown at every version with the defaults of the version that it was written at.
	DefaultingWebhookRequestVersion ID = "defaulting.webhook.request-version"
	// DefaultingWebhookStorageVersionOnRead: An object that is read gets the defaults of the version that it is stored at before a webhook converts it.
	DefaultingWebhookStorageVersionOnRead ID = "defaulting.webhook.storage-version-on-read"
	// DefaultingWebhookResult: What a webhook returns on reading gets no defaults of the version that it was asked for.
	DefaultingWebhookResult ID = "defaulting.webhook.result"
	// DefaultingWebhookNull: A null is sent to a webhook if it is kept at the version that the object is written at, but not if it is removed there.
	DefaultingWebhookNull ID = "defaulting.webhook.null"
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
	// StorageReadNotConverted: A read changes nothing of an object except its apiVersion.
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
	// LifecycleUpgradeWebhookNotNeeded: With every object at the storage version and every client on it, nothing needs the webhook.
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
	// LifecycleRemovalServedReversible: A version that clients turn out to need can be served again, with all objects as before.
	LifecycleRemovalServedReversible ID = "lifecycle.removal.served-reversible"
	// LifecycleRemovalProcedure: The documented procedure, taken step by step, removes an old version and loses no object.
	LifecycleRemovalProcedure ID = "lifecycle.removal.procedure"
	// LifecycleRemovalTooEarly: An object left at a version that was nevertheless removed can no longer be read or deleted.
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
	// LifecycleFinalizersEmptiedDeletes: When the last finalizer is removed, the object is deleted.
	LifecycleFinalizersEmptiedDeletes ID = "lifecycle.finalizers.emptied-deletes"
	// LifecycleFinalizersGracePeriod: metadata.deletionGracePeriodSeconds controls how often an object is polled for the end of its finalizers.
	LifecycleFinalizersGracePeriod ID = "lifecycle.finalizers.grace-period"
	// LifecycleDeletionEndpoint: Deleting a definition removes its resource from the API and from discovery.
	LifecycleDeletionEndpoint ID = "lifecycle.deletion.endpoint"
	// LifecycleDeletionObjects: Deleting a definition deletes all of its objects from storage.
	LifecycleDeletionObjects ID = "lifecycle.deletion.objects"
	// LifecycleDeletionNotFound: Requests for the resource of a deleted definition get a not found error.
	LifecycleDeletionNotFound ID = "lifecycle.deletion.not-found"
	// LifecycleDeletionRecreatedEmpty: A definition created again starts without objects.
	LifecycleDeletionRecreatedEmpty ID = "lifecycle.deletion.recreated-empty"
	// LifecycleDeletionBlockedByWebhook: While objects are in storage at several versions and the webhook fails, the definition stays, Terminating, with the reason InstanceDeletionFailed.
	LifecycleDeletionBlockedByWebhook ID = "lifecycle.deletion.blocked-by-webhook"
	// LifecycleDeletionRecovers: A deletion that a failing webhook blocked completes when the webhook works again.
	LifecycleDeletionRecovers ID = "lifecycle.deletion.recovers"
	// LifecycleDeletionWithoutWebhook: With all objects at the storage version, a definition can be deleted although the webhook fails.
	LifecycleDeletionWithoutWebhook ID = "lifecycle.deletion.without-webhook"
	// LifecycleLegacyV1beta1Endpoint: apiextensions.k8s.io/v1beta1 is no longer served.
	LifecycleLegacyV1beta1Endpoint ID = "lifecycle.legacy.v1beta1-endpoint"
	// LifecycleLegacyV1beta1Manifest: A definition of apiextensions.k8s.io/v1beta1 sent to the v1 endpoint is refused.
	LifecycleLegacyV1beta1Manifest ID = "lifecycle.legacy.v1beta1-manifest"
	// LifecycleLegacyOneSchema: All versions of a definition use the same schema and nothing is converted.
	LifecycleLegacyOneSchema ID = "lifecycle.legacy.one-schema"
	// LifecycleLegacyVersionField: spec.version, if set, must be the first of spec.versions.
	LifecycleLegacyVersionField ID = "lifecycle.legacy.version-field"
	// LifecycleLegacyVersionPrepopulates: spec.version fills spec.versions where that is missing.
	LifecycleLegacyVersionPrepopulates ID = "lifecycle.legacy.version-prepopulates"
	// LifecycleLegacyReviewVersionsDefault: conversionReviewVersions defaults to v1beta1.
	LifecycleLegacyReviewVersionsDefault ID = "lifecycle.legacy.review-versions-default"
	// LifecycleLegacyOptionalSchema: A definition may have no schema and preserve unknown fields everywhere.
	LifecycleLegacyOptionalSchema ID = "lifecycle.legacy.optional-schema"
	// LifecycleLegacyScopeDefault: A definition without a scope is namespaced.
	LifecycleLegacyScopeDefault ID = "lifecycle.legacy.scope-default"
	// LifecycleLegacyV1beta1Tabs: The documents' definitions of apiextensions.k8s.io/v1beta1 are installed, once a name, a schema in place of dots, and a bundle are filled in.
	LifecycleLegacyV1beta1Tabs ID = "lifecycle.legacy.v1beta1-tabs"
	// LifecycleLegacyStoredDefinition: A definition that an older API server left in storage at apiextensions.k8s.io/v1beta1, without a schema and with preserveUnknownFields, is shown at v1, and its objects are served and keep unknown fields.
	LifecycleLegacyStoredDefinition ID = "lifecycle.legacy.stored-definition"
	// LifecycleLegacyNotStructural: A definition that an older API server left in storage with a schema that is not structural says so in its condition NonStructuralSchema, until it gets a structural one.
	LifecycleLegacyNotStructural ID = "lifecycle.legacy.not-structural"
	// LifecycleLegacyVersionsList: A definition lists its versions; they share one schema, and their order is that of discovery.
	LifecycleLegacyVersionsList ID = "lifecycle.legacy.versions-list"
	// PublishingOpenapiSchema: The OpenAPI v2 document of the API server has the schema of a definition among its definitions, with the fields, types and descriptions.
	PublishingOpenapiSchema ID = "publishing.openapi.schema"
	// PublishingOpenapiPaths: The paths of the OpenAPI v2 document have those of the resource and of its subresources.
	PublishingOpenapiPaths ID = "publishing.openapi.paths"
	// PublishingOpenapiCombinations: allOf, anyOf, oneOf and not are left out of the OpenAPI v2 document.
	PublishingOpenapiCombinations ID = "publishing.openapi.combinations"
	// PublishingOpenapiNullable: A field that may be null has no type, nullable, items or properties in the OpenAPI v2 document.
	PublishingOpenapiNullable ID = "publishing.openapi.nullable"
	// PublishingOpenapiPreservedFields: A field that keeps unknown fields has no type, items or properties in the OpenAPI v2 document, and a schema that keeps them at its root has no properties there.
	PublishingOpenapiPreservedFields ID = "publishing.openapi.preserved-fields"
	// PublishingOpenapiDefinitionKept: What is left out of the OpenAPI v2 document stays in the definition, and objects are validated by it.
	PublishingOpenapiDefinitionKept ID = "publishing.openapi.definition-kept"
	// PublishingOpenapiV3: The OpenAPI v3 document of a version has its schema as the definition has it, with allOf, anyOf, oneOf, not and nullable.
	PublishingOpenapiV3 ID = "publishing.openapi.v3"
	// PublishingOpenapiChanged: A change of the schema of a definition shows in the OpenAPI v2 document.
	PublishingOpenapiChanged ID = "publishing.openapi.changed"
	// PublishingOpenapiKinds: Two kinds of one group and version are both in the OpenAPI v2 document, each with its own schema.
	PublishingOpenapiKinds ID = "publishing.openapi.kinds"
	// PublishingOpenapiKindsV3: Two kinds of one group and version are both in the OpenAPI v3 document of that version, each with its own schema.
	PublishingOpenapiKindsV3 ID = "publishing.openapi.kinds-v3"
	// PublishingOpenapiGroups: Two definitions that differ in nothing but their groups and their schemas are both in the OpenAPI v2 document, each with its own schema.
	PublishingOpenapiGroups ID = "publishing.openapi.groups"
	// PublishingOpenapiWithdrawn: When a definition is deleted, its schema and its paths leave the OpenAPI v2 document.
	PublishingOpenapiWithdrawn ID = "publishing.openapi.withdrawn"
	// PublishingColumnsTable: A read of an object or of a list as a table has the name and then the columns of the definition, in its order, with the values of the object.
	PublishingColumnsTable ID = "publishing.columns.table"
	// PublishingColumnsDefault: Without columns in the definition, a table has the name and the age.
	PublishingColumnsDefault ID = "publishing.columns.default"
	// PublishingColumnsDescription: A column of a table has the description of the definition, or one that names its path if there is none.
	PublishingColumnsDescription ID = "publishing.columns.description"
	// PublishingColumnsNameRequired: A column without a name is refused.
	PublishingColumnsNameRequired ID = "publishing.columns.name-required"
	// PublishingColumnsPathRequired: A column without a JSONPath is refused.
	PublishingColumnsPathRequired ID = "publishing.columns.path-required"
	// PublishingColumnsPathForm: A column whose JSONPath does not begin with a dot is refused.
	PublishingColumnsPathForm ID = "publishing.columns.path-form"
	// PublishingColumnsChanged: Columns that are added to or removed from a definition are added to or removed from tables, also for existing objects.
	PublishingColumnsChanged ID = "publishing.columns.changed"
	// PublishingColumnsPriority: A column of a table has the priority of the definition, 0 by default, so that clients always show those of priority 0 and show others only in the wide view.
	PublishingColumnsPriority ID = "publishing.columns.priority"
	// PublishingColumnsInteger: A column of type integer shows whole numbers.
	PublishingColumnsInteger ID = "publishing.columns.integer"
	// PublishingColumnsNumber: A column of type number shows floating-point numbers.
	PublishingColumnsNumber ID = "publishing.columns.number"
	// PublishingColumnsString: A column of type string shows strings.
	PublishingColumnsString ID = "publishing.columns.string"
	// PublishingColumnsBoolean: A column of type boolean shows true or false.
	PublishingColumnsBoolean ID = "publishing.columns.boolean"
	// PublishingColumnsDate: A column of type date shows the time since the timestamp.
	PublishingColumnsDate ID = "publishing.columns.date"
	// PublishingColumnsTypeRequired: A column without a type is refused.
	PublishingColumnsTypeRequired ID = "publishing.columns.type-required"
	// PublishingColumnsTypeUnknown: A column of another type than integer, number, string, boolean and date is refused.
	PublishingColumnsTypeUnknown ID = "publishing.columns.type-unknown"
	// PublishingColumnsMismatch: If the value does not have the type of the column, the cell is empty and the object is still shown.
	PublishingColumnsMismatch ID = "publishing.columns.mismatch"
	// PublishingColumnsMissing: Where the object has no value at the path of a column, the cell is empty.
	PublishingColumnsMissing ID = "publishing.columns.missing"
	// PublishingColumnsStructured: A column of type string shows lists and objects as JSON.
	PublishingColumnsStructured ID = "publishing.columns.structured"
	// PublishingColumnsFormats: A column may have the format int32, int64, float, double, byte, date, date-time or password, and tables have it too.
	PublishingColumnsFormats ID = "publishing.columns.formats"
	// PublishingColumnsFormatUnknown: A column of another format is refused.
	PublishingColumnsFormatUnknown ID = "publishing.columns.format-unknown"
	// PublishingColumnsFormatStyle: The format of a column controls the style in which kubectl prints values.
	PublishingColumnsFormatStyle ID = "publishing.columns.format-style"
	// PublishingCategoriesDiscovery: Discovery shows the categories of a definition at every served version, by which clients find the resources of a category.
	PublishingCategoriesDiscovery ID = "publishing.categories.discovery"
	// PublishingCategoriesForm: A category that is not a DNS label is refused.
	PublishingCategoriesForm ID = "publishing.categories.form"
	// PublishingVersionsSchemas: The OpenAPI v2 document has a schema for each served version, that version's own, and for no others.
	PublishingVersionsSchemas ID = "publishing.versions.schemas"
	// PublishingVersionsSchemasV3: Each served version has an OpenAPI v3 document of its own, with its own schema.
	PublishingVersionsSchemasV3 ID = "publishing.versions.schemas-v3"
	// PublishingVersionsRenamed: When a version is renamed, the OpenAPI v2 document has its schema under the new name instead of the old one, and those of other versions as before.
	PublishingVersionsRenamed ID = "publishing.versions.renamed"
	// PublishingVersionsUnserved: A version that is no longer served leaves the OpenAPI v2 document, and returns when it is served again.
	PublishingVersionsUnserved ID = "publishing.versions.unserved"
	// PublishingVersionsColumns: Each version has printer columns of its own, which show the object as the webhook converts it to that version.
	PublishingVersionsColumns ID = "publishing.versions.columns"
	// PublishingVersionsColumnsNone: With the strategy None, each version also has printer columns of its own, and a version without any shows the age.
	PublishingVersionsColumnsNone ID = "publishing.versions.columns-none"
	// PublishingVersionsMixedStorage: A list of objects that are stored at different versions is one table at each version, with the columns and the values of that version in every row.
	PublishingVersionsMixedStorage ID = "publishing.versions.mixed-storage"
	// PublishingVersionsFailure: A table of objects that the webhook fails to convert is an error, not a table with empty cells; at the version that they are stored at there is a table.
	PublishingVersionsFailure ID = "publishing.versions.failure"
	// SubresourcesStatusExposed: With the status subresource, an object can be read at the path of the object followed by /status.
	SubresourcesStatusExposed ID = "subresources.status.exposed"
	// SubresourcesStatusOptional: Without the status subresource in the definition discovery does not show it, and requests for it get a not found error.
	SubresourcesStatusOptional ID = "subresources.status.optional"
	// SubresourcesStatusDiscovery: Discovery shows the status subresource with the kind of the resource and with the verbs get, patch and update.
	SubresourcesStatusDiscovery ID = "subresources.status.discovery"
	// SubresourcesStatusPath: The status subresource comes after the name of the object; without one, /status is the path of an object with that name.
	SubresourcesStatusPath ID = "subresources.status.path"
	// SubresourcesStatusPutStores: A PUT of an object to /status stores its status or its absence, and both paths show it.
	SubresourcesStatusPutStores ID = "subresources.status.put-stores"
	// SubresourcesStatusPutIgnoresSpec: A PUT to /status leaves the spec and all other fields except the status as they are.
	SubresourcesStatusPutIgnoresSpec ID = "subresources.status.put-ignores-spec"
	// SubresourcesStatusPutIgnoresMetadata: A PUT to /status leaves labels, annotations and finalizers as they are.
	SubresourcesStatusPutIgnoresMetadata ID = "subresources.status.put-ignores-metadata"
	// SubresourcesStatusPutValidated: A PUT to /status with a status that violates the schema is refused.
	SubresourcesStatusPutValidated ID = "subresources.status.put-validated"
	// SubresourcesStatusPutSpecUnvalidated: A PUT to /status is accepted even if the spec that it contains violates the schema.
	SubresourcesStatusPutSpecUnvalidated ID = "subresources.status.put-spec-unvalidated"
	// SubresourcesStatusStoredSpecUnvalidated: The status of an object can be changed even if its spec violates the current schema of the definition.
	SubresourcesStatusStoredSpecUnvalidated ID = "subresources.status.stored-spec-unvalidated"
	// SubresourcesStatusRules: Rules of x-kubernetes-validations on the whole object also apply to a PUT to /status.
	SubresourcesStatusRules ID = "subresources.status.rules"
	// SubresourcesStatusCreateIgnores: With the status subresource, an object is created without the status that it is sent with.
	SubresourcesStatusCreateIgnores ID = "subresources.status.create-ignores"
	// SubresourcesStatusUpdateIgnores: With the status subresource, a PUT of an object leaves the status as it is, whether it contains another one or none.
	SubresourcesStatusUpdateIgnores ID = "subresources.status.update-ignores"
	// SubresourcesStatusPatchIgnores: With the status subresource, merge patches, JSON patches and applied objects leave the status as it is.
	SubresourcesStatusPatchIgnores ID = "subresources.status.patch-ignores"
	// SubresourcesStatusGenerationSpec: metadata.generation is 1 at first and counts every change of the spec, and of other fields beside metadata and status.
	SubresourcesStatusGenerationSpec ID = "subresources.status.generation-spec"
	// SubresourcesStatusGenerationMetadata: A change of metadata alone leaves metadata.generation as it is.
	SubresourcesStatusGenerationMetadata ID = "subresources.status.generation-metadata"
	// SubresourcesStatusGenerationStatus: A change of the status by the status subresource leaves metadata.generation as it is.
	SubresourcesStatusGenerationStatus ID = "subresources.status.generation-status"
	// SubresourcesStatusGenerationWithout: Without the status subresource, metadata.generation counts changes of the status as those of any other field.
	SubresourcesStatusGenerationWithout ID = "subresources.status.generation-without"
	// SubresourcesStatusRootConstructs: With the status subresource, the root of the schema may have any of the listed constructs, description to uniqueItems.
	SubresourcesStatusRootConstructs ID = "subresources.status.root-constructs"
	// SubresourcesStatusRootOthers: With the status subresource, a schema with other constructs at its root is refused, such as oneOf, enum, default or maxProperties.
	SubresourcesStatusRootOthers ID = "subresources.status.root-others"
	// SubresourcesStatusRootExtensions: With the status subresource, the root of the schema may keep unknown fields, and may have rules of x-kubernetes-validations.
	SubresourcesStatusRootExtensions ID = "subresources.status.root-extensions"
	// SubresourcesStatusPatched: A merge patch and a JSON patch of /status change the status and nothing else.
	SubresourcesStatusPatched ID = "subresources.status.patched"
	// SubresourcesStatusApplied: Applying an object to /status changes the status and nothing else, and the manager is recorded for that subresource.
	SubresourcesStatusApplied ID = "subresources.status.applied"
	// SubresourcesStatusConflict: A PUT to /status with a resource version that is not the last one is a conflict.
	SubresourcesStatusConflict ID = "subresources.status.conflict"
	// SubresourcesStatusVerbs: The status subresource can be neither created nor deleted; such methods are not allowed.
	SubresourcesStatusVerbs ID = "subresources.status.verbs"
	// SubresourcesStatusYaml: The status and scale subresources can be read and written as YAML.
	SubresourcesStatusYaml ID = "subresources.status.yaml"
	// SubresourcesScaleExposed: With the scale subresource, the path of an object followed by /scale has a Scale of autoscaling/v1, with the name and the namespace of the object, its replicas and its selector.
	SubresourcesScaleExposed ID = "subresources.scale.exposed"
	// SubresourcesScaleOptional: Without the scale subresource in the definition discovery does not show it, and requests for it get a not found error.
	SubresourcesScaleOptional ID = "subresources.scale.optional"
	// SubresourcesScaleWithoutStatus: A definition may have the scale subresource without the status subresource.
	SubresourcesScaleWithoutStatus ID = "subresources.scale.without-status"
	// SubresourcesScaleDiscovery: Discovery shows the scale subresource with the kind Scale of autoscaling/v1 and with the verbs get, patch and update.
	SubresourcesScaleDiscovery ID = "subresources.scale.discovery"
	// SubresourcesScalePath: The scale subresource comes after the name of the object; without one, /scale is the path of an object with that name.
	SubresourcesScalePath ID = "subresources.scale.path"
	// SubresourcesScaleSpecPath: The replicas of the spec of the Scale are what the object has at specReplicasPath.
	SubresourcesScaleSpecPath ID = "subresources.scale.spec-path"
	// SubresourcesScaleSpecPathRequired: A scale subresource without specReplicasPath is refused.
	SubresourcesScaleSpecPathRequired ID = "subresources.scale.spec-path-required"
	// SubresourcesScaleSpecPathUnder: A specReplicasPath that is not under .spec is refused.
	SubresourcesScaleSpecPathUnder ID = "subresources.scale.spec-path-under"
	// SubresourcesScalePathNotation: The paths of a scale subresource are in the dot notation.
	SubresourcesScalePathNotation ID = "subresources.scale.path-notation"
	// SubresourcesScalePathDot: A path of a scale subresource that does not begin with a dot is refused.
	SubresourcesScalePathDot ID = "subresources.scale.path-dot"
	// SubresourcesScaleSpecValueRequired: A GET of the scale of an object without a value at specReplicasPath is an error.
	SubresourcesScaleSpecValueRequired ID = "subresources.scale.spec-value-required"
	// SubresourcesScaleStatusPath: The replicas of the status of the Scale are what the object has at statusReplicasPath.
	SubresourcesScaleStatusPath ID = "subresources.scale.status-path"
	// SubresourcesScaleStatusPathRequired: A scale subresource without statusReplicasPath is refused.
	SubresourcesScaleStatusPathRequired ID = "subresources.scale.status-path-required"
	// SubresourcesScaleStatusPathUnder: A statusReplicasPath that is not under .status is refused.
	SubresourcesScaleStatusPathUnder ID = "subresources.scale.status-path-under"
	// SubresourcesScaleStatusDefault: Without a value at statusReplicasPath, the replicas of the status of the Scale are 0.
	SubresourcesScaleStatusDefault ID = "subresources.scale.status-default"
	// SubresourcesScaleSelectorPath: The selector of the Scale is the string that the object has at labelSelectorPath, which may be under .status or .spec.
	SubresourcesScaleSelectorPath ID = "subresources.scale.selector-path"
	// SubresourcesScaleSelectorPathOptional: A scale subresource needs no labelSelectorPath; without one, the selector of the Scale is empty.
	SubresourcesScaleSelectorPathOptional ID = "subresources.scale.selector-path-optional"
	// SubresourcesScaleSelectorPathUnder: A labelSelectorPath that is under neither .status nor .spec is refused.
	SubresourcesScaleSelectorPathUnder ID = "subresources.scale.selector-path-under"
	// SubresourcesScaleSelectorDefault: Without a value at labelSelectorPath, the selector of the Scale is empty.
	SubresourcesScaleSelectorDefault ID = "subresources.scale.selector-default"
	// SubresourcesScaleSelectorString: A value at labelSelectorPath that is not a string is refused, even where the schema has it so.
	SubresourcesScaleSelectorString ID = "subresources.scale.selector-string"
	// SubresourcesScaleSelectorForAutoscalers: labelSelectorPath is set where a HorizontalPodAutoscaler is to work.
	SubresourcesScaleSelectorForAutoscalers ID = "subresources.scale.selector-for-autoscalers"
	// SubresourcesScaleWritten: A PUT or a patch of /scale sets the replicas at specReplicasPath.
	SubresourcesScaleWritten ID = "subresources.scale.written"
	// SubresourcesScaleWrittenAlone: A PUT to /scale leaves everything else of the object as it is, even if the Scale has other labels or another status.
	SubresourcesScaleWrittenAlone ID = "subresources.scale.written-alone"
	// SubresourcesScaleCreated: A PUT to /scale gives replicas to an object that has none.
	SubresourcesScaleCreated ID = "subresources.scale.created"
	// SubresourcesScaleValidated: A PUT to /scale with replicas that violate the schema of the object is refused.
	SubresourcesScaleValidated ID = "subresources.scale.validated"
	// SubresourcesScaleNegative: A PUT to /scale with negative replicas is refused, whatever the schema says.
	SubresourcesScaleNegative ID = "subresources.scale.negative"
	// SubresourcesScaleGeneration: Scaling increments metadata.generation, like a change of the spec.
	SubresourcesScaleGeneration ID = "subresources.scale.generation"
	// SubresourcesScaleConflict: A PUT to /scale with a resource version that is not the last one is a conflict.
	SubresourcesScaleConflict ID = "subresources.scale.conflict"
	// SubresourcesScaleApplied: A client that sets the replicas by /scale is recorded as their manager, so that applying other replicas to the object is a conflict.
	SubresourcesScaleApplied ID = "subresources.scale.applied"
	// SubresourcesVersionsStatusOfOne: Each version independently has the status subresource or not; at a version without it, writes of the object change the status.
	SubresourcesVersionsStatusOfOne ID = "subresources.versions.status-of-one"
	// SubresourcesVersionsScaleOfOne: Each version independently has the scale subresource or not.
	SubresourcesVersionsScaleOfOne ID = "subresources.versions.scale-of-one"
	// SubresourcesVersionsStatusNone: With the strategy None, a status that is written at one version is the status at the other, and the spec stays.
	SubresourcesVersionsStatusNone ID = "subresources.versions.status-none"
	// SubresourcesVersionsStatusWebhook: With a conversion webhook, a status that is written at one version is the status at the other, and what the webhook converts stays.
	SubresourcesVersionsStatusWebhook ID = "subresources.versions.status-webhook"
	// SubresourcesVersionsStatusIgnored: With a conversion webhook, writes of the object at a version that is not the stored one leave the status as it is.
	SubresourcesVersionsStatusIgnored ID = "subresources.versions.status-ignored"
	// SubresourcesVersionsStatusSchema: A status is validated by the schema of the version that it is written at, and read at the other as it is.
	SubresourcesVersionsStatusSchema ID = "subresources.versions.status-schema"
	// SubresourcesVersionsScaleNone: With the strategy None, replicas that are set by the scale of one version are read by that of the other.
	SubresourcesVersionsScaleNone ID = "subresources.versions.scale-none"
	// SubresourcesVersionsScaleWebhook: With a conversion webhook, replicas that are set by the scale of one version are read by that of the other, and what the webhook converts stays.
	SubresourcesVersionsScaleWebhook ID = "subresources.versions.scale-webhook"
	// SubresourcesVersionsScalePaths: Each version has paths of its own for its scale, which are those of the object at that version.
	SubresourcesVersionsScalePaths ID = "subresources.versions.scale-paths"
	// SubresourcesVersionsGeneration: A change of the status at another version than the stored one leaves metadata.generation as it is, and one of the spec counts once.
	SubresourcesVersionsGeneration ID = "subresources.versions.generation"
	// SubresourcesVersionsUnserved: The subresources of a version that is no longer served are not found, while those of the other version work.
	SubresourcesVersionsUnserved ID = "subresources.versions.unserved"
	// SubresourcesVersionsAdded: When a definition gets the status subresource, objects keep the status that they have, and it is protected from then on.
	SubresourcesVersionsAdded ID = "subresources.versions.added"
	// ObjectsWriteMalformed: An object without apiVersion and kind is a bad request, and one without a name is invalid.
	ObjectsWriteMalformed ID = "objects.write.malformed"
	// ObjectsWriteNamespace: Objects of a namespaced resource can be listed but not created outside of a namespace.
	ObjectsWriteNamespace ID = "objects.write.namespace"
	// ObjectsWriteIntegers: Integers of 64 bits are stored and read as they are.
	ObjectsWriteIntegers ID = "objects.write.integers"
	// ObjectsWriteSize: A request with a body of more than three mebibytes is refused as too large, in JSON and in YAML.
	ObjectsWriteSize ID = "objects.write.size"
	// ObjectsWriteNull: Null can be applied to an object that may be null, and is refused for one that may not.
	ObjectsWriteNull ID = "objects.write.null"
	// ObjectsWriteYaml: Objects, lists, errors and discovery can be requested as YAML, and objects can be created and updated as YAML.
	ObjectsWriteYaml ID = "objects.write.yaml"
	// ObjectsWriteNoOp: A patch that changes nothing leaves the resource version as it is.
	ObjectsWriteNoOp ID = "objects.write.no-op"
	// ObjectsWriteConflict: A patch with a resource version that is not the last one is a conflict.
	ObjectsWriteConflict ID = "objects.write.conflict"
	// ObjectsWriteOwners: Applying a field that another manager has changed since is a conflict, unless it is forced.
	ObjectsWriteOwners ID = "objects.write.owners"
	// ObjectsMetadataRefused: An object whose metadata has values of the wrong types is a bad request.
	ObjectsMetadataRefused ID = "objects.metadata.refused"
	// ObjectsMetadataUnknown: Unknown metadata fields are dropped.
	ObjectsMetadataUnknown ID = "objects.metadata.unknown"
	// ObjectsMetadataStored: An object whose metadata has values of the wrong types in storage is read and listed without them.
	ObjectsMetadataStored ID = "objects.metadata.stored"
	// ObjectsReadNamespaces: A list and a watch of all namespaces have the objects of each, while those of a namespace have only its own.
	ObjectsReadNamespaces ID = "objects.read.namespaces"
	// ObjectsReadWatch: A watch reports the creation, the change and the deletion of an object, in this order.
	ObjectsReadWatch ID = "objects.read.watch"
	// ObjectsSelectorsList: Objects can be listed by the selectable fields of the definition, several at a time.
	ObjectsSelectorsList ID = "objects.selectors.list"
	// ObjectsSelectorsWatch: A watch by a selectable field reports an object that no longer has the value as deleted.
	ObjectsSelectorsWatch ID = "objects.selectors.watch"
	// ObjectsSelectorsDelete: Objects can be deleted by a selectable field, without affecting others.
	ObjectsSelectorsDelete ID = "objects.selectors.delete"
	// ObjectsSelectorsUnknown: A selector with a field that is not selectable is a bad request.
	ObjectsSelectorsUnknown ID = "objects.selectors.unknown"
	// ObjectsSelectorsVersions: Each version has selectable fields of its own, which select by the object as the webhook converts it.
	ObjectsSelectorsVersions ID = "objects.selectors.versions"
	// ObjectsSelectorsPublished: The OpenAPI documents name the selectable fields of a version.
	ObjectsSelectorsPublished ID = "objects.selectors.published"
	// ObjectsListsUnique: Equal items in a list of type set, and items with equal keys in one of type map, are refused at creation and at update.
	ObjectsListsUnique ID = "objects.lists.unique"
	// ObjectsDefinitionsNamesTaken: A definition whose names belong to another one in the group does not have its names accepted and is not served.
	ObjectsDefinitionsNamesTaken ID = "objects.definitions.names-taken"
	// ObjectsDefinitionsNamesFree: When the definition that had the names is deleted, the other one has its names accepted.
	ObjectsDefinitionsNamesFree ID = "objects.definitions.names-free"
	// ObjectsDefinitionsCollection: Definitions can be listed and deleted by a label, without affecting others.
	ObjectsDefinitionsCollection ID = "objects.definitions.collection"
	// ObjectsDefinitionsStatus: The status of a definition can be read, put and patched by its subresource.
	ObjectsDefinitionsStatus ID = "objects.definitions.status"
	// ObjectsDefinitionsWatchesEnd: When a definition changes, watches of its objects end without an error, and reads still work.
	ObjectsDefinitionsWatchesEnd ID = "objects.definitions.watches-end"
	// ObjectsDefinitionsTerminating: While a definition is being deleted nothing can be created in its resource by a POST; existing objects can be read.
	ObjectsDefinitionsTerminating ID = "objects.definitions.terminating"
	// ObjectsDefinitionsTerminatingApplied: While a definition is being deleted nothing can be created in its resource by applying either; existing objects can be changed that way.
	ObjectsDefinitionsTerminatingApplied ID = "objects.definitions.terminating-applied"
	// ResourceCreateEveryVersion: Objects can be created at every served version, and the response has what was sent.
	ResourceCreateEveryVersion ID = "resource.create.every-version"
	// ResourceReadEveryVersion: An object can be read at every served version, and at the one that it was written at it has what was written.
	ResourceReadEveryVersion ID = "resource.read.every-version"
	// ResourceUpdateEveryVersion: An update at any version takes effect at all of them and removes nothing else.
	ResourceUpdateEveryVersion ID = "resource.update.every-version"
	// ResourcePatchJSON: A JSON patch at any version takes effect at all of them and removes nothing else.
	ResourcePatchJSON ID = "resource.patch.json"
	// ResourcePatchMerge: A merge patch at any version takes effect at all of them and removes nothing else.
	ResourcePatchMerge ID = "resource.patch.merge"
	// ResourceApplyTwoManagers: Two managers that apply different fields at different versions do not disturb each other, applying the same again changes nothing, and fields that one gives up are removed while the other's stay.
	ResourceApplyTwoManagers ID = "resource.apply.two-managers"
	// ResourceApplyManagedFields: The record of who manages which fields survives writes at other versions, and a manager that moves to another version has one entry, at that one.
	ResourceApplyManagedFields ID = "resource.apply.managed-fields"
	// ResourceStatusEveryVersion: A status that is written at any version is read there as it was written, and no write of the spec at another version removes it.
	ResourceStatusEveryVersion ID = "resource.status.every-version"
	// ResourceScaleEveryVersion: Replicas that are set by the scale subresource of one version are read by that of every other.
	ResourceScaleEveryVersion ID = "resource.scale.every-version"
	// ResourceWatchEveryVersion: A watch at any version reports each creation, change and deletion, with the object as a read at that version has it.
	ResourceWatchEveryVersion ID = "resource.watch.every-version"
	// ResourceListMixedStorage: Objects that are stored at different versions are listed together at every version, each with what was written.
	ResourceListMixedStorage ID = "resource.list.mixed-storage"
	// ResourceDeleteEveryVersion: Objects can be deleted at every version, and those with a finalizer are kept, readable everywhere, until it is removed at any version.
	ResourceDeleteEveryVersion ID = "resource.delete.every-version"
	// ResourceDeleteCollection: A request to delete all objects with a label, at any version, deletes all of them.
	ResourceDeleteCollection ID = "resource.delete.collection"
	// ResourceWriteNoOp: Writing back what was read, at any version, changes nothing that is stored.
	ResourceWriteNoOp ID = "resource.write.no-op"
	// ResourceWriteValidatedRead: An object that was read at any version can be written back as it is, and created again.
	ResourceWriteValidatedRead ID = "resource.write.validated-read"
	// ControlNamespacesMissing: An object cannot be created in a namespace that does not exist; the request gets a not found error.
	ControlNamespacesMissing ID = "control.namespaces.missing"
	// ControlNamespacesTerminating: While a namespace is being deleted nothing can be created in it, at any version; the request is forbidden with the cause NamespaceTerminating.
	ControlNamespacesTerminating ID = "control.namespaces.terminating"
	// ControlNamespacesObjects: Deleting a namespace deletes the objects in it, whichever version they are stored at, and no others.
	ControlNamespacesObjects ID = "control.namespaces.objects"
	// ControlNamespacesFinalizers: An object with a finalizer blocks the deletion of its namespace, which says so in the condition NamespaceFinalizersRemaining and completes when the finalizer is removed.
	ControlNamespacesFinalizers ID = "control.namespaces.finalizers"
	// ControlNamespacesBlockedByWebhook: When objects in a namespace must be converted and the webhook fails, the deletion of the namespace stalls, the objects stay, and the condition NamespaceDeletionContentFailure says why.
	ControlNamespacesBlockedByWebhook ID = "control.namespaces.blocked-by-webhook"
	// ControlNamespacesRecover: The deletion of a namespace that a webhook blocked completes once the webhook works again.
	ControlNamespacesRecover ID = "control.namespaces.recover"
	// ControlNamespacesPreferredVersion: Deleting a namespace needs no webhook for objects that are stored at the version that discovery prefers.
	ControlNamespacesPreferredVersion ID = "control.namespaces.preferred-version"
	// ControlGarbageOwners: The dependents of a custom object are deleted after it, whichever served version the owner reference names.
	ControlGarbageOwners ID = "control.garbage.owners"
	// ControlGarbageDependents: A custom object whose owner no longer exists is deleted, whichever version it was created at, and one without an owner stays.
	ControlGarbageDependents ID = "control.garbage.dependents"
	// ControlGarbageForeground: A custom object that is deleted in the foreground is marked at every version and stays until its dependents are deleted.
	ControlGarbageForeground ID = "control.garbage.foreground"
	// ControlGarbageOrphan: A custom object that is deleted with the propagation Orphan leaves its dependents, without the owner reference.
	ControlGarbageOrphan ID = "control.garbage.orphan"
	// ControlKubectlCreate: kubectl create creates an object from a manifest at any served version.
	ControlKubectlCreate ID = "control.kubectl.create"
	// ControlKubectlValidation: kubectl refuses a manifest with a field that the schema does not have, names the field, and creates nothing.
	ControlKubectlValidation ID = "control.kubectl.validation"
	// ControlKubectlApply: kubectl apply creates an object, applies changes of the manifest, writes nothing if nothing changed, and accepts the next manifest at another version.
	ControlKubectlApply ID = "control.kubectl.apply"
	// ControlKubectlServerSideApply: kubectl apply --server-side does the same.
	ControlKubectlServerSideApply ID = "control.kubectl.server-side-apply"
	// ControlKubectlNames: kubectl accepts a resource by its plural or singular name, in any case, with and without the group and a version, and by its short names.
	ControlKubectlNames ID = "control.kubectl.names"
	// ControlKubectlCategory: kubectl get with the name of a category lists the objects of the resources in it.
	ControlKubectlCategory ID = "control.kubectl.category"
	// ControlKubectlPreferredVersion: kubectl get prints an object at the version of the highest priority, whatever the storage version is, unless another is requested.
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
	// ControlAdmissionDefaults: After an admission webhook changed an object, the defaults of the version that the webhook was sent it at are filled in, whatever version the client asked for.
	ControlAdmissionDefaults ID = "control.admission.defaults"
	// ControlAccessGroup: A rule of RBAC allows a verb for a resource of a group at every served version, and no other verb.
	ControlAccessGroup ID = "control.access.group"
	// ControlAccessNoVersions: Rules of RBAC cannot be limited to a version; one that names a version in its group or its resource allows nothing.
	ControlAccessNoVersions ID = "control.access.no-versions"
	// ControlAccessSubresources: A right to objects does not cover their status and scale, which have rights of their own, the same at every version.
	ControlAccessSubresources ID = "control.access.subresources"
	// ControlScalingDisruptionBudget: A PodDisruptionBudget counts the replicas that the scale of a pod's controlling custom object asks for, whichever served version the owner reference names.
	ControlScalingDisruptionBudget ID = "control.scaling.disruption-budget"
	// ControlScalingAutoscaler: A HorizontalPodAutoscaler reads and sets the replicas of a custom object through its scale, at every version.
	ControlScalingAutoscaler ID = "control.scaling.autoscaler"
	// ControlMigrationRewrites: When a StorageVersionMigration has succeeded, every object is stored at the storage version.
	ControlMigrationRewrites ID = "control.migration.rewrites"
	// ControlMigrationStoredVersions: After a StorageVersionMigration that succeeded, status.storedVersions has the storage version only, and neither the older version nor the webhook is needed.
	ControlMigrationStoredVersions ID = "control.migration.stored-versions"
	// ControlMigrationFailure: A StorageVersionMigration that failed leaves status.storedVersions as it was, since objects may still be stored at any version in it.
	ControlMigrationFailure ID = "control.migration.failure"
	// ControlWebhookService: A webhook that runs as pods converts through its service, at the port of the service, which need not be 443, with a certificate for <service>.<namespace>.svc that the caBundle verifies. With the caBundle of another authority the request fails.
	ControlWebhookService ID = "control.webhook.service"
	// ControlWebhookReplacedPod: When one of several pods of a webhook is deleted under load, no conversion fails that begins after that.
	ControlWebhookReplacedPod ID = "control.webhook.replaced-pod"
)

// Every name of a part in the catalogue.
const (
	PartAdditions        PartName = "additions"
	PartCrash            PartName = "crash"
	PartDecodable        PartName = "decodable"
	PartEmpty            PartName = "empty"
	PartFineInTheEnd     PartName = "fine-in-the-end"
	PartGenerated        PartName = "generated"
	PartHTTPStatus       PartName = "http-status"
	PartMalformed        PartName = "malformed"
	PartMissingInV1beta1 PartName = "missing-in-v1beta1"
	PartRefusedValue     PartName = "refused-value"
	PartSameValues       PartName = "same-values"
	PartSpelling         PartName = "spelling"
	PartUIDInV1beta1     PartName = "uid-in-v1beta1"
)

// SeverityOf returns what a violation of a requirement amounts to: Failed or Tolerated. A part that the requirement does
// not have is as severe as the requirement.
func SeverityOf(id ID, part PartName) Verdict {
	switch id {
	case WebhookRequestUnknownReviewVersion:
		return Tolerated
	case WebhookRequestMalformed:
		return Tolerated
	case WebhookTransportCertificateLifetime:
		return Tolerated
	case WebhookResponseHTTPStatus:
		switch part {
		case PartFineInTheEnd:
			return Tolerated
		}
		return Failed
	case WebhookResponseContentType:
		switch part {
		case PartMalformed:
			return Failed
		}
		return Tolerated
	case WebhookResponseBody:
		switch part {
		case PartDecodable:
			return Tolerated
		}
		return Failed
	case WebhookResponseReviewKind:
		switch part {
		case PartMissingInV1beta1:
			return Tolerated
		}
		return Failed
	case WebhookResponseReviewVersion:
		switch part {
		case PartMissingInV1beta1:
			return Tolerated
		}
		return Failed
	case WebhookResponseUID:
		switch part {
		case PartUIDInV1beta1:
			return Tolerated
		}
		return Failed
	case WebhookResponseLean:
		return Tolerated
	case WebhookMetadataUnchanged:
		return Tolerated
	case WebhookBatchEmpty:
		return Tolerated
	case WebhookConversionRoundTrip:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case WebhookConversionAdditions:
		return Tolerated
	case WebhookConversionPath:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case WebhookConversionIdentity:
		return Tolerated
	case WebhookConversionEdits:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case WebhookConversionValidation:
		return Tolerated
	case WebhookConversionZeroValues:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case WebhookConversionHuge:
		switch part {
		case PartCrash:
			return Failed
		}
		return Tolerated
	case WebhookFailureStatus:
		switch part {
		case PartHTTPStatus:
			return Tolerated
		case PartSpelling:
			return Tolerated
		}
		return Failed
	case WebhookFailureUID:
		switch part {
		case PartUIDInV1beta1:
			return Tolerated
		}
		return Failed
	case WebhookFailureAvoided:
		switch part {
		case PartRefusedValue:
			return Tolerated
		}
		return Failed
	case ResourceCreateEveryVersion:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case ResourceReadEveryVersion:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case ResourceUpdateEveryVersion:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourcePatchJSON:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourcePatchMerge:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourceApplyTwoManagers:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartSameValues:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourceStatusEveryVersion:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourceScaleEveryVersion:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourceListMixedStorage:
		switch part {
		case PartEmpty:
			return Tolerated
		}
		return Failed
	case ResourceWriteNoOp:
		switch part {
		case PartEmpty:
			return Tolerated
		case PartAdditions:
			return Tolerated
		case PartGenerated:
			return Tolerated
		}
		return Failed
	case ResourceWriteValidatedRead:
		switch part {
		case PartGenerated:
			return Tolerated
		}
		return Failed
	}
	return Failed
}
