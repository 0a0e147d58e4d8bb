# crdconform. `make` or `make help` lists what can be made.

GO       ?= go
# Flags of `crdconform run`, as in: make run ARGS="--filter storage"
ARGS     ?=
# How long each fuzz test runs.
FUZZTIME ?= 30s
BIN      := bin
LINTER   := $(BIN)/golangci-lint-v2.15.0

# kustomize can load Go plugins, which crdconform has no use for. Where package plugin is linked, Go's linker wants gcc's for the race
# detector, and takes half as long again. With build tags of one's own, this one is left out.
FLAGS := $(shell $(GO) env GOFLAGS)
export GOFLAGS := $(strip $(FLAGS) $(if $(findstring -tags,$(FLAGS)),,-tags=kustomize_disable_go_plugin_support))

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Check the embedded API server and load the reference webhook; reports go to crdconform-report
	$(BIN)/crdconform run $(ARGS)

# The packages that take longest come first, and of the others those of suites/, or they would run alone in the end. The patient ones have
# tables that wait for minutes and hardly compute. Most wait longer than they compute, so more run at once than there are cores: with the
# race detector as many as fit into 8 GB. Vetting is for make lint. Without what debuggers read, linking takes half as long, and much of the
# tests' time is linking. On slow machines a package takes half an hour beside the others.
LINK     := -ldflags=-w
TEST     := $(GO) test -vet=off $(LINK) -shuffle=on -timeout 60m
SLOWEST  := ./internal/suites ./suites/webhook ./internal/engine ./internal/cluster/existing
PATIENT  := ./internal/disruption ./internal/rehearsal ./internal/test/agreement

# The tests of the command run the program as users do, hundreds of times, and it is built without the race detector. So they are, too.
COMMAND  := ./cmd/crdconform

# Tables of faults judge a chapter again for each fault. They compute for minutes, with the race detector five times as long, and share
# all their concurrency with the other tests of the same code. So they run without it, and without cgo, for which all is compiled already.
# So do those that compute the same for thousands of random inputs, those that measure memory, and those that run chapters once more.
TABLES   := [A-Za-z]*(Caught|Strangers)|Subjects|Clusters(Agree|AreCompared)|ReportsAgree|JudgeAgreesWithAPIServer|StaleObjectsAgreeWithAPIServer
TABLES   := $(TABLES)|WhatIsGeneratedIsValid|MaySolve|RepeatedAgreesOn(Mutations|Faults)|SelfComparisons|Hostile[A-Za-z]*|BlindToStorage|LossyPlaces
TABLES   := $(TABLES)|Certain|SinglesOfRandomSchemas|SinglesThatCannotBe|RulesAreSolved|ShrinkEnds
TABLES   := $(TABLES)|SuitesRunWithExactlyTheseRights|ControlWithTheRightsOfTheManifest|CorrectMigratorsPass|OtherFormsPass|DeclaredLosses|ToldOnce
TABLES   := $(TABLES)|AgainstNaive|TenSeconds|Many
TABLES   := $(TABLES)|Rehearse(Program|Snapshot|Operator|Context|Envtest)|RehearsalOfEarlierSchemas|RunUndoes|Simulated(Losses)?|ReferenceDisrupted

# What upstream's API server, etcd and their libraries do among themselves is not what the race detector is for here; instrumented, they
# take most of the time. Compiled without, they still synchronise where it sees it: in channels and package sync, and in sync/atomic,
# whose functions are called rather than replaced by instructions.
UPSTREAM := k8s.io/apiserver k8s.io/apiextensions-apiserver k8s.io/kube-openapi k8s.io/component-base go.etcd.io google.golang.org/grpc \
	google.golang.org/protobuf github.com/google/cel-go github.com/antlr4-go sigs.k8s.io/structured-merge-diff sigs.k8s.io/json \
	go.uber.org/zap github.com/gogo/protobuf go.opentelemetry.io github.com/prometheus
PLAIN    := $(foreach module,$(UPSTREAM),-gcflags='$(module)/...=-race=false -d=ssa/intrinsics/off')

# The race detector wants a C compiler, without which Go turns cgo off.
RACE     := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race $(PLAIN))

# Without the race detector a package takes 200 MB, and a fifth of the processor time goes into collecting garbage, for which 400 MB are
# well spent. With it a package takes up to 1.2 GB, and GOGC=200 saves a tenth of the time for a quarter more memory.
LAVISH   := GOGC=400
ROOMY    := GOGC=200

# The packages that have tables, and those that have other tests. Where tables are left out, a package that has nothing else would be
# linked for nothing, with a whole API server.
IS_TABLE := ':func Test($(TABLES))[(]'
DIRS     := sed 's,/[^/]*:.*,,' | sort -ru
TABLED    = $$(grep -rE '^func Test' --include='*_test.go' . | grep -E $(IS_TABLE) | $(DIRS) | grep -vxF $(COMMAND))
OTHERS    = $$(grep -rE '^func (Test|Fuzz|Example)' --include='*_test.go' . | grep -vE $(IS_TABLE) | $(DIRS) | grep -vxF $(COMMAND))

.PHONY: test
test: ## Run the project's own tests, with the race detector where there is a C compiler
ifdef RACE
	CGO_ENABLED=0 $(LAVISH) $(TEST) $(COMMAND) & command=$$!; status=0; \
	$(ROOMY) $(TEST) -p 3 $(RACE) -skip '^Test($(TABLES))$$' $(SLOWEST) $(OTHERS) || status=1; \
	CGO_ENABLED=0 $(LAVISH) $(TEST) -p 4 -run '^Test($(TABLES))$$' $(PATIENT) $(SLOWEST) $(TABLED) || status=1; \
	wait $$command || status=1; exit $$status
else
	@echo "the tests run without the race detector (it wants a C compiler)"
	$(LAVISH) $(TEST) -p 5 $(COMMAND) $(SLOWEST) ./...
endif

# What the tests are linked from, compiled before they run: a test that runs beside the compiler has little left of the processor.
# Unlike go build, go list links no program, and compiles the tests.
.PHONY: compile
compile: ## Compile everything as make test does
	$(GO) list -export -test -f '' $(RACE) ./...

# Without -shuffle Go remembers what passed and has not changed since.
.PHONY: test-short
test-short: ## Run the quick tests of every package
	$(LAVISH) $(GO) test -p 5 -short -vet=off $(LINK) -skip '^Test($(TABLES))$$' $(COMMAND) $(SLOWEST) $(OTHERS)

# Packages that are for kind, and single tests of others.
KINDS    := ./cluster/e2e ./internal/cluster/kind ./internal/subject/deployed
ON_KIND  := TestOnAWholeCluster|TestPlantedInAWholeCluster|TestOnAControlPlane
ALSO     := ./internal/cluster/existing ./internal/doctor ./suites/control

# Clusters are mostly waited for, one after another. What is left out is what `make run ARGS="--cluster kind"` does.
# A test that wants kind and is not listed would run nowhere; packages are looked after, further tests of those in ALSO are not.
.PHONY: test-kind
test-kind: export KUBEBUILDER_ASSETS =
test-kind: export CRDCONFORM_REQUIRE_KIND = 1
test-kind: ## Run the tests that want kind, with the node image in CRDCONFORM_TEST_KIND_IMAGE
	@found=$$(grep -rl CRDCONFORM_TEST_KIND_IMAGE --include='*_test.go' . | xargs -n 1 dirname | LC_ALL=C sort -u | xargs); \
		[ "$$found" = "$(sort $(KINDS) $(ALSO))" ] || { echo "want kind: $$found; listed in KINDS and ALSO: $(sort $(KINDS) $(ALSO))"; exit 1; }
	@for package in $(ALSO); do grep -qE '^func ($(ON_KIND))[(]' $$package/*_test.go || { echo "$$package has no test of ON_KIND"; exit 1; }; done
	$(GO) test -p 1 -vet=off $(LINK) -shuffle=on -timeout 60m $(KINDS)
	$(GO) test -p 1 -vet=off $(LINK) -shuffle=on -timeout 60m -run '^($(ON_KIND))$$' -skip 'TestOnAControlPlane/conforms' $(ALSO)

.PHONY: test-reports
test-reports: ## Compare what whole runs came to, whose report folders are in CRDCONFORM_TEST_REPORTS
	@[ -n "$$CRDCONFORM_TEST_REPORTS" ] || { echo "CRDCONFORM_TEST_REPORTS must name two folders or more, separated by colons"; exit 1; }
	$(GO) test -vet=off $(LINK) -count=1 -run '^TestReportsAgree$$' ./internal/test/agreement

# Without cgo the program runs in an image that has nothing else in it. What else needs no cgo shares what was compiled.
build site scoreboard self-comparison lint bench test-short test-kind test-reports: export CGO_ENABLED = 0

.PHONY: build
build: ## Build bin/crdconform
	$(GO) build -o $(BIN)/crdconform ./cmd/crdconform

.PHONY: minors
minors: build ## Build embedded API servers of older Kubernetes minors, once; minutes for each
	$(BIN)/crdconform minors build

.PHONY: lint
lint: $(LINTER) ## Run go mod tidy -diff and the linter, which vets, too
	$(GO) mod tidy -diff
	$(LINTER) run

$(LINTER):
	GOBIN=$(abspath $(BIN)) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(subst $(BIN)/golangci-lint-,,$@)
	mv $(BIN)/golangci-lint $@

# What one part misses, or cannot measure, keeps the other from nothing: the table comes last.
.PHONY: bench
bench: export CRDCONFORM_BENCH_FILE = $(abspath $(BIN)/claims.json)
bench: ## Measure what the project claims, print one table, and fail where a claim does not hold
	@mkdir -p $(BIN) && rm -f $$CRDCONFORM_BENCH_FILE; status=0; \
	$(GO) test -run '^$$' -bench Claims -benchtime 1x -timeout 30m -v ./cmd/crdconform || status=1; \
	$(GO) test -run '^$$' -bench Load -benchtime 1x -timeout 60m -v ./internal/test/bench ./internal/load/workers || status=1; \
	$(GO) run ./internal/test/figures/table $$CRDCONFORM_BENCH_FILE || status=1; \
	exit $$status

# Each comparison takes two load tests of 7 s a repeat: all of them 70 minutes. The machine must be quiet.
REPEAT ?= 10
SAME   ?= 20
SLOWER ?= 10

.PHONY: self-comparison
self-comparison: build ## Compare SAME (20) load tests of a build with itself and SLOWER (10) with one that is 30 % slower, each of REPEAT (10) repeats
	$(GO) run ./internal/test/selfcomparison $(abspath $(BIN))/crdconform $(REPEAT) $(SAME) $(SLOWER)

.PHONY: fuzz
fuzz: ## Fuzz everything that has a fuzz test, each for FUZZTIME (30s)
	@grep -rn '^func Fuzz' --include='*_test.go' . | sed -E 's,^\./(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z]+)\(.*,\1 \2,' | sort | while read -r package name; do \
		echo "$$package: $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$package" < /dev/null || exit 1; \
	done

.PHONY: generate
generate: ## Write generated files: requirement/ids.go, docs/requirements.md, docs/sentences.md, config/schema.json, docs/report.schema.json, internal/test/api/api.txt, a table of docs/kind.md
	$(GO) generate ./requirement ./config ./reports ./internal/test/api
	$(GO) run ./cmd/crdconform list --output markdown > docs/requirements.md.new
	mv docs/requirements.md.new docs/requirements.md
	$(GO) test ./kindconfig -run TestDocumentationListsTheImages -update

.PHONY: site
site: build ## Make the documentation a site of static pages, in bin/site
	rm -rf $(BIN)/site
	$(BIN)/crdconform explain --all --output json | $(GO) run ./internal/site/generate . $(BIN)/site

# The modules of the operators are none of crdconform's, so this needs a module proxy, and minutes for each.
.PHONY: scoreboard
scoreboard: build ## Check the conversions of public operators, and write what holds for whom to bin/scoreboard
	$(GO) run ./internal/test/scoreboard $(BIN)/crdconform $(BIN)/scoreboard

# Its hundreds of modules are none of crdconform's, so it is not in go.mod.
GORELEASER := $(GO) run github.com/goreleaser/goreleaser/v2@v2.15.1
# How the binaries of a release are built, as .goreleaser.yaml says: the same bytes wherever that is.
RELEASED   := $(GO) build -trimpath -buildvcs=true -ldflags '-s -w'

.PHONY: release-files
release-files: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release-files: export CGO_ENABLED = 0
release-files: ## Build this machine's binary of a release, and the completions and manual pages beside it
	rm -rf $(BIN)/release && mkdir -p $(BIN)/release/completions
	$(RELEASED) -o $(BIN)/release/crdconform ./cmd/crdconform
	$(BIN)/release/crdconform man $(BIN)/release/man
	$(BIN)/release/crdconform completion bash > $(BIN)/release/completions/crdconform.bash
	$(BIN)/release/crdconform completion zsh > $(BIN)/release/completions/_crdconform
	$(BIN)/release/crdconform completion fish > $(BIN)/release/completions/crdconform.fish

# It signs nothing, and makes neither images nor lists of what is in them, for which it would need programs, Docker and a network.
.PHONY: snapshot
snapshot: CONFIG ?= .goreleaser.yaml
snapshot: ## Make what a release has, in dist/: archives, packages, checksums, the Homebrew cask and the krew manifest
	$(GORELEASER) check
	$(GORELEASER) release --snapshot --clean --skip=sign,docker,sbom --config $(CONFIG)

# It compiles everything for a second set of paths, and goreleaser: ten minutes of processor time that .ci/run has not got.
.PHONY: release-check
release-check: ## Build a release twice, compare the bytes, and install and run what a snapshot has; it takes minutes
	.ci/release

.PHONY: release
release: ## Publish the tag of this commit; .github/workflows/release.yaml runs it
	$(GORELEASER) release --clean

.PHONY: clean
clean: ## Remove what was built and reported
	rm -rf $(BIN) dist crdconform-report
