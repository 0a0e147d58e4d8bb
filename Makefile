# crdconform: `make run` checks the built-in API server, `make test` runs the project's own tests, `make help` lists what else there is.

GO     ?= go
ARGS   ?=
BIN    := bin
LINTER := $(BIN)/golangci-lint-v2.15.0

# kustomize can load Go plugins, which crdconform has no use for, and which take long to link.
TAGS := kustomize_disable_go_plugin_support
export GOFLAGS ?= -tags=$(TAGS)
# Without cgo the program runs in an image that has nothing else in it, and tests share what make build compiled.
export CGO_ENABLED ?= 0

# make lint vets. -w leaves out what only debuggers read, which halves linking; GOGC saves a fifth of the processor time for some memory.
# Most packages wait longer than they compute, so more run at once than there are cores.
PACKAGES ?= 4
TEST  := GOGC=400 $(GO) test -vet=off -ldflags=-w -p $(PACKAGES) -timeout 60m
# With those that take longest at the front, nothing runs alone in the end.
ALL   := ./suites ./internal/test/server ./cmd/crdconform ./internal/engine ./suites/webhook ./...
# Where goroutines of ours meet, and no API server runs, which the race detector slows down five times.
RACY  := ./internal/fleet ./internal/load ./internal/load/apiserver ./internal/load/recording ./internal/load/workers ./internal/disruption/... ./internal/process ./internal/subject ./internal/wire
# The race detector needs a C compiler.
RACE  := $(if $(filter 1,$(shell CGO_ENABLED= $(GO) env CGO_ENABLED)),CGO_ENABLED=1 $(TEST) -race,@echo left out, as the race detector needs a C compiler:)

.PHONY: help run build test test-light test-plain test-race test-short test-all test-nightly test-kind lint bench fuzz generate site scoreboard self-comparison minors release-files snapshot release-check release clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build ## Check the embedded API server and load the reference webhook; reports go to crdconform-report
	$(BIN)/crdconform run $(ARGS)

build: ## Build bin/crdconform
	$(GO) build -o $(BIN)/crdconform ./cmd/crdconform

# The race detector's tests are not beside the others: much of them sends load at a rate, to programs that must answer within seconds.
test: ## Run every requirement, every command and every fault, and what runs concurrently with the race detector
	@$(MAKE) --no-print-directory --jobs 1 --keep-going test-race test-plain test-light
# A module of its own, which ./... does not reach.
test-light: ; cd gotest && $(TEST) ./...
test-plain: ; $(TEST) -shuffle=on $(ALL)
test-race: ; $(RACE) -p 1 -short $(RACY)

test-short: ## Run the quick tests; what has not changed since they passed is not run again
	$(TEST) -short $(ALL)

test-all: test test-nightly ## Run all tests: make test, and every fault against every requirement, mutants, seeds and whole upgrades

test-nightly: ## Run what test-all has beyond test
	$(TEST) -tags $(TAGS),nightly -short $(ALL)
	$(RACE) ./suites -ginkgo.label-filter='!slow'
	$(RACE) -short ./internal/test/server ./internal/engine

test-kind: ## Run what needs a kind cluster, with the node image in CRDCONFORM_TEST_KIND_IMAGE
	KUBEBUILDER_ASSETS= $(TEST) -tags $(TAGS),kind -short -p 1 $$(grep -rl '^//go:build kind' --include='*_test.go' . | xargs -n 1 dirname | sort -u)

lint: $(LINTER) ## Run go mod tidy -diff and the linter
	$(GO) mod tidy -diff
	$(LINTER) run
	cd gotest && $(GO) mod tidy -diff && $(abspath $(LINTER)) run

$(LINTER):
	GOBIN=$(abspath $(BIN)) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(subst $(BIN)/golangci-lint-,,$@)
	mv $(BIN)/golangci-lint $@

bench: export CRDCONFORM_BENCH_FILE = $(abspath $(BIN)/claims.json)
bench: ## Measure what the project claims, print one table, and fail where a claim does not hold
	@mkdir -p $(BIN) && rm -f $$CRDCONFORM_BENCH_FILE; status=0; \
	for bench in 'Claims ./internal/test/server' 'Load ./internal/test/measure ./internal/load/workers'; do \
		$(GO) test -run '^$$' -benchtime 1x -timeout 60m -v -bench $$bench || status=1; \
	done; \
	$(GO) run ./internal/test/measure table $$CRDCONFORM_BENCH_FILE || status=1; exit $$status

FUZZTIME ?= 30s
fuzz: ## Run each fuzz test for FUZZTIME (30s)
	@grep -rn '^func Fuzz' --include='*_test.go' . | sed -E 's,^\./(.*)/[^/]*:[0-9]+:func (Fuzz[A-Za-z]+)\(.*,\1 \2,' | sort | while read -r package name; do \
		$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$package" < /dev/null || exit 1; \
	done

generate: ## Write the generated files; a test fails if one is out of date
	$(GO) generate ./internal/generate
	$(GO) run ./cmd/crdconform list --output markdown > docs/requirements.md.new
	mv docs/requirements.md.new docs/requirements.md

site: build ## Make the documentation a site of static pages, in bin/site
	rm -rf $(BIN)/site
	$(BIN)/crdconform explain --all --output json | $(GO) run ./internal/site/generate . $(BIN)/site

scoreboard: build ## Check the conversions of public operators (all, or OPERATORS="NAME..."), into bin/scoreboard; needs a module proxy, and minutes for each
	$(GO) run ./internal/test/measure scoreboard $(BIN)/crdconform $(BIN)/scoreboard $(OPERATORS)

SAME ?= 20
SLOWER ?= 10
REPEAT ?= 10
self-comparison: build ## Compare load tests of a build with itself and with a slower one; 70 minutes on a quiet machine
	$(GO) run ./internal/test/measure self-comparison $(abspath $(BIN))/crdconform $(REPEAT) $(SAME) $(SLOWER)

minors: build ## Build embedded API servers of older Kubernetes minors, once; minutes for each
	$(BIN)/crdconform matrix minors build

# As .goreleaser.yaml says: the same bytes wherever that is.
RELEASED := $(GO) build -tags=kustomize_disable_go_plugin_support -trimpath -buildvcs=true -ldflags '-s -w'
release-files: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
release-files: ## Build this machine's binary of a release, and the completions and manual pages beside it
	rm -rf $(BIN)/release && mkdir -p $(BIN)/release/completions
	$(RELEASED) -o $(BIN)/release/crdconform ./cmd/crdconform
	$(BIN)/release/crdconform man $(BIN)/release/man
	for shell in bash:crdconform.bash zsh:_crdconform fish:crdconform.fish; do \
		$(BIN)/release/crdconform completion $${shell%:*} > $(BIN)/release/completions/$${shell#*:} || exit 1; done

# Its hundreds of modules are none of crdconform's, so goreleaser is not in go.mod. A snapshot is not signed, and has no images.
GORELEASER := $(GO) run github.com/goreleaser/goreleaser/v2@v2.15.1
CONFIG ?= .goreleaser.yaml
snapshot: ## Make what a release has, in dist/, without publishing it
	$(GORELEASER) check
	$(GORELEASER) release --snapshot --clean --skip=sign,docker --config $(CONFIG)

release-check: ## Build a release twice, compare the bytes, and install and run what a snapshot has; ten minutes
	.ci/release

release: ## Publish the tag of this commit; .github/workflows/release.yaml runs it
	$(GORELEASER) release --clean

clean: ## Remove what was built and reported
	rm -rf $(BIN) dist crdconform-report
