# The targets that people use. `make` lists them.

GO       ?= go
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# A checkout that belongs to another user, as in containers, cannot be asked for its commit.
export GOFLAGS ?= -buildvcs=false

# With it, `make bench` compares with etcd, too; nothing else needs it.
ETCD := $(shell command -v etcd 2>/dev/null)

# Tools that are run at these versions; staticcheck's is in go.mod.
BENCHSTAT   = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da
GOVULNCHECK = golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOLANGCI    = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# How many tests of a package run beside each other, of those that may: they wait for elections, disks
# and processes most of the time. Go's default is the number of cores. make test runs as many packages, too.
PARALLEL = -parallel 4

# Packages whose tests are worth running under the race detector.
RACE = ./client ./fsm/... ./internal/... ./raftstore ./wal

.PHONY: redis-tests redis-tests-short sdk-python-suites helm-chart packages-os sdk-java sdk-java-short examples examples-short alerts sdk-go sdk-go-short sdk-typescript sdk-typescript-short sdk-typescript-runtimes sdk-python sdk-python-short sdk-python-versions sdk-python-crewai packages figures lint-more vuln golden cover bench-gate release release-check flood fuzz client-suites rot compat compat-short compat-handshakes compat-hostile compare contract-adapters contract-long help build run check test test-long race lint bench bench-quick bench-growth bench-micro cluster-test cluster-test-ci mutants mutants-ci test-deps clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/turnlog
	$(GO) build -ldflags "-X main.version=$(VERSION)" -o bin/turnlog ./cmd/turnlog

run: build ## build, and run a cluster of three nodes on this machine
	@bin/turnlog dev

test: test-deps ## run the standard test suite (under five minutes on two cores); what vet finds is make lint's
	$(GO) test -p 4 $(PARALLEL) -vet=off ./...

test-long: test-deps ## what `make test` shortens or leaves out, and has no other target: power cuts, simulated clusters, a Redis in use (minutes)
	TURNLOG_SEEDS=10 $(GO) test -count 1 -timeout 1h -run '^TestPowerCut$$' ./fsm
	TURNLOG_SEEDS=50 $(GO) test -count 1 -timeout 1h -run '^TestSimulation$$' ./raftstore
	TURNLOG_LONG=1 $(GO) test -count 1 -run '^TestImportOfALivingRedis$$' ./cmd/turnlog

check: lint build ## what to run before a commit: lint, build, and the short tests of the packages that the branch changes (minutes); BASE=main
	@BASE="$(BASE)" GO="$(GO)" test/scripts/check.sh

race: test-deps ## run the tests of the concurrent packages under the race detector
	$(GO) test $(PARALLEL) -timeout 20m -race -short $(RACE)

lint: ## check formatting, vet (for macOS, too, for which releases are built), staticcheck, words, the table "Where is" of ARCHITECTURE.md, lines and the order of files
	@unformatted="$$(gofmt -l .)"; test -z "$$unformatted" || { echo "not formatted:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...
	GOOS=darwin CGO_ENABLED=0 $(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) run ./test/words
	$(GO) run ./test/where
	$(GO) run ./test/figures --check .

lint-more: ## golangci-lint with the linters of .golangci.yml (minutes)
	$(GO) run $(GOLANGCI) run ./...

vuln: ## look for known vulnerabilities in what turnlog calls; GOVULNDB=file:///path for a copy of the database
	$(GO) run $(GOVULNCHECK) ./...

golden: ## rewrite what tests expect word for word, and the tables of docs/redis.md; read the difference
	$(GO) test -run '^TestScripts$$' ./internal/server/redis ./cmd/turnlog -args -update
	$(GO) test -run '^TestScripts$$' ./fsm ./raftstore -args -rewrite
	$(GO) test -run '^TestReferencePage$$' ./internal/server/redis/command -args -update

cover: ## print how much of each package its short tests run; fails below the floors of test/scripts/coverage.floors
	@GO="$(GO)" test/scripts/cover.sh $(PACKAGES)

bench-gate: ## fail if a micro-benchmark of the hot path is slower than in BASE (default: main) by more than 3 %; ARGS="--ratio 1.1 --rounds 6"
	$(GO) run ./test/benchgate --base "$(or $(BASE),main)" --benchstat $(BENCHSTAT) $(ARGS)

release: ## build what is released of VERSION into dist: binaries, SBOMs, man pages, completions, packages for Linux, checksums, notes
	$(GO) run ./test/release --version "$(VERSION)" --out dist

release-check: ## build a release twice, and see that both have the same bytes; TARGETS=linux/arm64,darwin/arm64 for other platforms
	@GO="$(GO)" test/scripts/release-check.sh $(TARGETS)

packages-os: ## try the Debian package on machines with systemd, the container image, and docs/operations/first-cluster.md (a minute, as root on Linux)
	test/scripts/install-os-tools.sh
	TURNLOG_REQUIRE_GROFF=1 $(GO) test -count 1 -run '^TestManPages$$' ./cmd/turnlog
	$(GO) -C deploy/build vet .
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/turnlog-static ./cmd/turnlog
	TURNLOG_REQUIRE_MACHINES=1 TURNLOG_BINARY="$(CURDIR)/bin/turnlog-static" $(GO) -C deploy/build test -count 1 .

helm-chart: ## lint and render the Helm chart, and run the processes that it describes (the first time builds helm, some minutes)
	$(GO) -C test/helm vet .
	$(GO) -C test/helm test -count 1 .

figures: ## print the shape of the code: sizes, references that run back, words; BASE=commit compares and writes docs/figures.md
	$(GO) run ./test/figures $(if $(BASE),--write docs/figures.md $(BASE)) HEAD

bench: build test-deps ## compare with redis-server, and etcd if it is installed; writes docs/benchmarks.md (half an hour); ARGS=--goroutines for the other generator
	$(if $(ETCD),$(GO) -C internal/bench/etcd build -o ../../../bin/bench-etcd .)
	bin/turnlog bench --standard --profile $(if $(ETCD),--etcd bin/bench-etcd) --write docs/benchmarks.md --commit "$(VERSION)" $(ARGS)

bench-growth: build ## what becomes slower with much data; writes docs/growth.md (half an hour, 15 GB of disk)
	bin/turnlog bench growth shapes ttl --restart --write docs/growth.md --commit "$(VERSION)"

bench-quick: build test-deps ## the same in a minute, with coarse results, written nowhere
	bin/turnlog bench --standard --quick

bench-micro: ## run the micro-benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

cluster-test: build ## inject all kinds of faults into a cluster and judge its promises (an hour); ARGS="--scenario smoke" for less
	$(GO) run ./cluster-test --binary bin/turnlog $(or $(ARGS),--scenario matrix)

cluster-test-ci: build ## the same in about five minutes, with another seed each time, which it prints
	$(GO) run ./cluster-test --binary bin/turnlog --scenario ci $(ARGS)

rot: build ## damage files of nodes at random, 200 times, and see that none goes wrong (ten minutes); prints the seed; ARGS="--seed N"
	$(GO) run ./cluster-test --binary bin/turnlog --scenario rot $(ARGS)

mutants: ## break turnlog on purpose, in many ways, and see that each is caught (half an hour); ARGS="--repeat 20" for more
	$(GO) run ./cluster-test --mutants all $(ARGS)

mutants-ci: ## the same with a few of them, others each time, in about a minute; it prints the seed; and all must compile
	TURNLOG_LONG=1 $(GO) test -count 1 -run '^TestMutantsCompile$$' ./cluster-test/mutants
	$(GO) run ./cluster-test --mutants ci $(ARGS)

compare: build test-deps ## hold popular chat histories to the contract; rewrites the table in docs/contract.md (half an hour)
	test/adapters/install.sh --all
	test/adapters/compare.py --write

contract-adapters: build test-deps ## hold LangChain's histories to the contract; fails when the table in docs/contract.md is stale (two minutes)
	test/adapters/install.sh
	test/adapters/check.py

contract-long: test-deps ## the contract suite's own proof: fifty seeds for bad and good stores, turnlog in every way (an hour)
	TURNLOG_LONG=1 $(GO) test -timeout 2h -v ./contract/...
	TURNLOG_LONG=1 $(GO) test -timeout 1h -v -run TestVerifyTurnlog ./cmd/turnlog

alerts: build ## hold the dashboard to Grafana's schema, and try the alert rules with a real Prometheus and real faults (four minutes)
	$(GO) -C test/grafana vet .
	$(GO) -C test/grafana test -count 1 .
	test/scripts/install-prometheus.sh
	TURNLOG_REQUIRE_PROMETHEUS=1 TURNLOG_BINARY="$(CURDIR)/bin/turnlog" $(GO) test -count 1 ./test/alerts

flood: ## 12,812 hostile clients of a node with users, without TLS and with it: users wait 250 ms at most, memory is bounded (three minutes, on a machine that does nothing else)
	TURNLOG_LONG=1 $(GO) test -v -run '^TestFlood$$' ./cmd/turnlog

FUZZTIME ?= 2m
fuzz: ## send malformed input to every parser that strangers reach: Redis, HTTP, node to node; FUZZTIME=10m for each of the targets
	test/scripts/fuzz.sh $(FUZZTIME)

compat: build ## drive published chat-history libraries while nodes are killed, and all below; ARGS=--write keeps the results
	test/compat/install.sh
	$(GO) run ./test/compat $(ARGS)
	$(GO) run ./test/compat --handshakes
	$(GO) run ./test/compat --hostile

compat-short: build ## a few of the libraries, for a minute, and one of turnlog's own packages, another each day
	test/compat/install.sh $$($(GO) run ./test/compat --short --parts)
	$(GO) run ./test/compat --short

compat-handshakes: build ## see that the table of what clients send on connecting is true
	test/compat/install.sh python/redis-5.txt python/redis-6.txt python/redis-7.txt python/redis-8.txt javascript java
	$(GO) run ./test/compat --handshakes $(ARGS)

compat-hostile: build ## ten thousand connections to a node, and clients that never read
	$(GO) run ./test/compat --hostile

sdk-typescript: build ## build the TypeScript package and run its tests against a cluster of three nodes; TESTS="session failover" for some
	sdk/typescript/check.sh $(TESTS)

sdk-typescript-short: build ## the same without installing the package into fresh projects (a minute)
	sdk/typescript/check.sh ports session calls values transaction failover versions secure langchain langgraph openai-agents ai-sdk

sdk-typescript-runtimes: build ## the tests of the client, and of adapters, on Deno and Bun (a minute)
	sdk/typescript/check.sh --runtimes ports session lasting calls values transaction failover secure langchain openai-agents ai-sdk

sdk-go: ## vet and test the adapters for Go's agent frameworks; MODULES=langchaingo for some
	@GO="$(GO)" sdk/go/check.sh $(MODULES)

sdk-go-short: ## the same without the contract suite (half a minute)
	@GO="$(GO)" sdk/go/check.sh short $(MODULES)

sdk-java: build ## test the chat memories for Java against a cluster, and hold them to the contract suite (ten minutes)
	sdk/java/check.sh $(ARGS)

sdk-java-short: build ## the same without the contract suite (a minute)
	sdk/java/check.sh short $(ARGS)

examples: build ## run the agents of examples/ while they and the leader are killed (a minute)
	examples/check.sh

examples-short: build ## the same for one of them, another each day
	examples/check.sh --one

packages: ## pack the packages for other languages than Go into dist, and the server for them; TARGETS=linux/amd64 for one platform, PACKAGES="python server" for some
	TARGETS="$(TARGETS)" GO="$(GO)" sdk/packages.sh $(PACKAGES)

redis-tests: build ## run the Redis project's own command tests (three minutes); UNITS="type/set multi" for some, TESTS=/path/to/redis for others than Debian's
	TESTS="$(TESTS)" test/scripts/redis-tests.sh $(UNITS)

redis-tests-short: build ## the same for one unit of them, another each day (seconds)
	TESTS="$(TESTS)" test/scripts/redis-tests.sh --one

client-suites: build ## run the test suites of redis-py, go-redis and ioredis (ten minutes, as root on Linux); IOREDIS=/path/to/its/repository, SUITES="go-redis" for less, SERVER=redis to compare
	IOREDIS="$(IOREDIS)" SERVER="$(SERVER)" test/scripts/client-suites/run.sh $(SUITES)

sdk-python: build ## lint and test the Python package against a real cluster (five minutes, and a gigabyte for CrewAI)
	sdk/python/install.sh
	bin/sdk-python/bin/ruff check sdk/python
	bin/sdk-python/bin/mypy --config-file sdk/python/pyproject.toml sdk/python/src
	bin/sdk-python/bin/pytest -q -c sdk/python/pyproject.toml $(or $(ARGS),sdk/python/tests)
	$(if $(ARGS),,$(MAKE) sdk-python-crewai)

sdk-python-crewai: build ## test its adapter for CrewAI, which needs an environment of its own (a gigabyte)
	sdk/python/install.sh crewai
	bin/sdk-python-crewai/bin/pytest -q -c sdk/python/pyproject.toml sdk/python/tests/test_crewai.py

sdk-python-versions: build ## test the wheel in each version of Python from 3.10 that is installed (a minute or two each)
	sdk/python/versions.sh

sdk-python-suites: build ## run the tests that frameworks publish on the adapters for Python; SUITES=strands for some
	sdk/python/suites.sh $(SUITES)

sdk-python-short: build ## the same without what is slow; of the frameworks' own suites one, another each day (a minute)
	sdk/python/install.sh
	bin/sdk-python/bin/pytest -q -c sdk/python/pyproject.toml -m 'not slow' sdk/python/tests
	sdk/python/suites.sh --one

test-deps:
	@./test/scripts/install-test-deps.sh

clean: ## remove what was built; data of `make run` stays in .turnlog-dev
	rm -rf bin dist
