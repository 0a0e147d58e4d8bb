# crdconform. `make` or `make help` lists what can be made.

GO       ?= go
# Flags of `crdconform run`, as in: make run ARGS="--filter storage"
ARGS     ?=
# How long each fuzz test runs.
FUZZTIME ?= 30s
BIN      := bin
LINTER   := $(BIN)/golangci-lint-v2.15.0
# The race detector wants a C compiler, without which Go turns cgo off.
RACE     := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Check the embedded API server and load the reference webhook; reports go to crdconform-report
	$(BIN)/crdconform run $(ARGS)

# The packages that take longest come first, or they would run alone in the end.
.PHONY: test
test: ## Run the project's own tests, with the race detector where there is a C compiler
	@$(if $(RACE),,echo "the tests run without the race detector (it wants a C compiler)")
	$(GO) test $(RACE) -shuffle=on -timeout 30m ./suites/webhook ./test/agreement ./...

# Clusters are mostly waited for, one after another. What is left out takes as long again, and differs in nothing but a cache.
.PHONY: test-kind
test-kind: ## Run the tests that want kind, with the node image in CRDCONFORM_TEST_KIND_IMAGE
	KUBEBUILDER_ASSETS= CRDCONFORM_REQUIRE_KIND=1 $(GO) test -p 1 -shuffle=on -timeout 40m -skip 'TestClustersAgree/with_watch_cache' \
		./cluster/kind/... ./cluster/existing ./subject/deployed ./suites/control ./test/agreement

# Without cgo the program runs in an image that has nothing else in it.
build lint: export CGO_ENABLED = 0

.PHONY: build
build: ## Build bin/crdconform
	$(GO) build -o $(BIN)/crdconform ./cmd/crdconform

.PHONY: minors
minors: build ## Build embedded API servers of older Kubernetes minors, once; minutes for each
	$(BIN)/crdconform minors build

.PHONY: lint
lint: $(LINTER) ## Run go vet and the linter
	$(GO) vet ./...
	$(LINTER) run

$(LINTER):
	GOBIN=$(abspath $(BIN)) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(subst $(BIN)/golangci-lint-,,$@)
	mv $(BIN)/golangci-lint $@

.PHONY: bench
bench: ## Measure what the project claims, and fail where a claim does not hold
	$(GO) test -run '^$$' -bench Claims -benchtime 1x -timeout 30m -v ./cmd/crdconform
	$(GO) test -run '^$$' -bench Load -benchtime 1x -timeout 60m -v ./test/bench

.PHONY: fuzz
fuzz: ## Fuzz everything that has a fuzz test, each for FUZZTIME (30s)
	@grep -rn '^func Fuzz' --include='*_test.go' . | sed -E 's,^\./(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z]+)\(.*,\1 \2,' | sort | while read -r package name; do \
		echo "$$package: $$name"; \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$package" < /dev/null || exit 1; \
	done

.PHONY: generate
generate: ## Write again what is generated: requirement/ids.go, docs/requirements.md, config/schema.json, docs/report.schema.json
	$(GO) generate ./requirement ./config ./reports
	$(GO) run ./cmd/crdconform list --output markdown > docs/requirements.md.new
	mv docs/requirements.md.new docs/requirements.md

.PHONY: clean
clean: ## Remove what was built and reported
	rm -rf $(BIN) crdconform-report
