# The only build entry people learn. Every target does its own set-up, can be
# run again at no cost, and says what it does.

export CARGO_TARGET_DIR ?= $(HOME)/.cache/executor/target
export EXECUTOR_FIXTURES ?= $(CARGO_TARGET_DIR)/fixtures
export EXECUTOR_OUTSIDE ?= $(CARGO_TARGET_DIR)/outside
WASM := $(CARGO_TARGET_DIR)/wasm32-unknown-unknown/component
GUESTS := $(CARGO_TARGET_DIR)/wasm32-wasip2/release
RELEASE := $(CARGO_TARGET_DIR)/release
CARGO ?= cargo
# Built together, always: the features of shared dependencies, and so what of
# them is compiled, follow from what is built in one go.
PROGRAMS := -p executor-cli -p executor-upstreams -p executor-bench
# Test components are WebAssembly alone: there is nothing of them to link here.
NO_GUESTS := --exclude adapter_plain --exclude adapter_hostile --exclude adapter_stdio

.PHONY: help setup components guests fixtures outside build demo run test check deny openapi bench conformance

help: ## say what the targets do
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

setup: ## install what the build needs (clang, WebAssembly targets)
	@.ci/setup

components: setup ## build the first-party components
	@echo "== components (WebAssembly; built once, then only what changed)"
	@$(CARGO) build --quiet --profile component --target wasm32-unknown-unknown \
		-p executor-quickjs -p executor-typescript -p executor-openapi -p executor-graphql -p executor-mcp

guests: setup ## build the test components, as a third party would
	@echo "== test components (plain cargo build --target wasm32-wasip2)"
	@$(CARGO) build --quiet --release --target wasm32-wasip2 -p adapter_plain -p adapter_hostile -p adapter_stdio

fixtures: ## fetch the real documents that tests and demo use (pinned, checksummed)
	@echo "== fixtures"
	@tests/fixtures/fetch.sh "$(EXECUTOR_FIXTURES)"

outside: ## fetch the programs of others that the daemon is tested with (pinned, checksummed)
	@echo "== other people's programs"
	@tests/outside/setup.sh "$(EXECUTOR_OUTSIDE)"

build: components ## build the binary, with its components inside
	@echo "== executor (release; the first build takes some minutes)"
	@$(CARGO) build --quiet --release $(PROGRAMS)
	@echo "   $(RELEASE)/executor"

demo: build fixtures ## add GitHub's real API (emulated on loopback) and run TypeScript against it
	@tests/demo/demo.sh "$(RELEASE)" "$(EXECUTOR_FIXTURES)"

run: build ## serve on 127.0.0.1:4788 with your own home
	@"$(RELEASE)/executor" serve

check: components guests ## format, lints, fast tests: what every commit passes
	@echo "== format"
	@$(CARGO) fmt --all --check
	@echo "== lints"
	@$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	@echo "== fast tests"
	@$(CARGO) test --quiet --workspace --lib $(NO_GUESTS)

deny: ## licences, bans and sources of dependencies (installs cargo-deny)
	@command -v cargo-deny >/dev/null || $(CARGO) install --quiet --locked cargo-deny@0.20.2
	@$(CARGO) deny check bans licenses sources

test: components guests fixtures outside ## everything that can fail
	@echo "== tests"
	@EXECUTOR_GUESTS="$(GUESTS)" $(CARGO) test --workspace $(NO_GUESTS)

openapi: fixtures ## have an independent validator judge the requests that the OpenAPI adapter builds
	@tests/openapi/run.sh "$(EXECUTOR_FIXTURES)" "$(CARGO_TARGET_DIR)"

bench: build fixtures ## measure beside npm executor 1.5.9: table, JSON, chart (BENCH="--only search --quick")
	@FIXTURES_MANIFEST=tests/bench/packages.txt tests/fixtures/fetch.sh "$(EXECUTOR_FIXTURES)" \
		|| echo "   going on without what could not be fetched"
	@"$(RELEASE)/executor-bench" --executor "$(RELEASE)/executor" $(BENCH)

conformance: components ## the MCP conformance suite, both sides (installs it, pinned, with its Node)
	@echo "== MCP conformance"
	@$(CARGO) build --quiet -p executor-conformance -p executor-cli --bins
	@tests/conformance/run.sh "$(CARGO_TARGET_DIR)/debug" "$(CARGO_TARGET_DIR)/conformance"
