# Targets for developers. Each one works on a clean clone.
.PHONY: run build release dist quickstarts profile layout test allocations tests fuzz e2e hostile chaos rolling verify advisories load everything bench bench-tables bench-agents bench-cluster conformance microbench docs generate generate-check deps tools

CARGO ?= cargo
FLAGS ?=
UPSTREAM ?=
BENCH ?= all
FUZZ_SECONDS ?= 60

# A server on the embedded store. It prints a KUBECONFIG line to paste.
run: build
	target/quick/kube-apiserver $(FLAGS)

build: deps
	$(CARGO) build --profile quick -p kube-apiserver

# The server with fat LTO, for benchmarks and long tests. The build takes ten minutes on two cores.
release: deps
	$(CARGO) build --release -p kube-apiserver

# Release files in dist/: static programs, packages, bills of materials, licences, provenance and checksums
# (docs/installing.md). PROFILE: the output of `make profile`, for a PGO build that needs less CPU.
PROFILE ?=
dist: deps
	PROFILE=$(PROFILE) $(CARGO) xtask dist

# The quick starts of all audiences with the files of `make dist`, on a clean root without network and compilers
# (e2e/quickstarts). QUICKSTARTS: audiences instead of all, such as kubectl or python.
QUICKSTARTS ?=
quickstarts:
	python3 e2e/quickstarts dist $(QUICKSTARTS)

# The PGO profile for `make dist`, in target/profile/kube-apiserver.profdata. Builds the server twice and apibench once.
profile: deps
	tools/fetch-tools.sh etcd
	tools/profile.sh

# A server with its code in execution order (LLVM BOLT), in target/layout/kube-apiserver, for this machine only. Builds the
# server and apibench once each. PROFILE: the output of `make profile`.
layout: deps
	tools/fetch-tools.sh etcd
	PROFILE=$(PROFILE) tools/layout.sh

# All tests that need only this machine, including tests with real etcd and kubectl.
test: deps tools
	$(CARGO) test --workspace

# Writes the tables of allocations per request, after a change that was meant to change them. `make test` compares them.
allocations: deps
	UPDATE_ALLOCATIONS=1 $(CARGO) test -p mainstay-controlplane --test allocations

# Compiles all tests without running them.
tests: deps
	$(CARGO) test --workspace --no-run

# Coverage-guided fuzzing: every target for FUZZ_SECONDS. `make test` runs short forms with fixed seeds. Needs cargo-fuzz and a
# C++ compiler. For a single target: tools/fuzz.sh SECONDS CRATE TARGET.
fuzz: deps
	CARGO=$(CARGO) tools/fuzz.sh $(FUZZ_SECONDS)

e2e: deps tools
	$(CARGO) test -p e2e

# Hostile input for one hour: request bodies of every kind, sequences of operations, responses of webhooks and aggregated servers,
# stored elements, and heads of watches. HOSTILE_SECONDS changes the duration. `make test` runs a sample.
HOSTILE_SECONDS ?= 3600
hostile: deps tools
	$(CARGO) build --release -p kube-apiserver
	KUBE_APISERVER=target/release/kube-apiserver $(CARGO) run --release -p e2e --bin hostile -- $(HOSTILE_SECONDS)

# Chaos test: three servers behind haproxy on three etcd members for CHAOS_SECONDS. Processes are killed, stopped and
# restarted. CHAOS_SEED repeats a sequence of faults. CONTROLLER_MANAGER and SCHEDULER: paths of upstream's programs, which
# then take part. `make test` runs a short form.
CHAOS_SECONDS ?= 3600
CONTROLLER_MANAGER ?=
SCHEDULER ?=
chaos: deps tools
	$(CARGO) build --release -p kube-apiserver
	CHAOS_SECONDS=$(CHAOS_SECONDS) KUBE_APISERVER=$(CURDIR)/target/release/kube-apiserver \
	  CHAOS_CONTROLLER_MANAGER=$(CONTROLLER_MANAGER) CHAOS_SCHEDULER=$(SCHEDULER) CHAOS_PAUSE=150 \
	  $(CARGO) test --release -p e2e --test chaos -- --nocapture

# Upgrade and downgrade: three replicas behind haproxy are replaced one at a time under load, 30 minutes per direction, from an
# emulated v1.36 to this release and back. OLD and OLD_FLAGS: another old server. UPSTREAM: path of upstream's binary, for a
# second migration from upstream's servers and back. ROLLING: more arguments. `make test` runs a short form.
OLD ?= target/release/kube-apiserver
OLD_FLAGS ?= $(if $(filter target/release/kube-apiserver,$(OLD)),--emulated-version=1.36)
ROLLING ?= --seconds 420 --idle 65
rolling: deps release
	tools/fetch-tools.sh etcd etcdctl haproxy
	e2e/rolling/rolling.py --old $(OLD) --old-flags="$(OLD_FLAGS)" $(ROLLING)
	$(if $(UPSTREAM),e2e/rolling/rolling.py --old $(UPSTREAM) $(ROLLING))

verify: deps
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy
	tools/advisories.py

# Fails if a locked crate has an open RustSec advisory. Skipped, with a message, if the advisory database cannot be reached.
# ADVISORY_DB: a clone of it.
advisories:
	tools/advisories.py

# Benchmarks of this server, compared with upstream's if UPSTREAM is the path of its binary. BENCH: arguments for apibench.
bench: deps release
	tools/fetch-tools.sh etcd
	$(CARGO) build --release -p apibench
	tools/bench.sh $(UPSTREAM) $(BENCH)

# The tables of docs/benchmarks.md: 20 MB of pods of 4, 10 and 50 KB in turn, each in target/bench/SIZE-kb. UPSTREAM: path of
# upstream's binary. TABLES: arguments for apibench.
TABLES ?= --rounds 4 --seconds 3
bench-tables: deps release
	tools/fetch-tools.sh etcd
	$(CARGO) build --release -p apibench
	tools/bench-tables.sh "$(UPSTREAM)" $(TABLES)

# Sandboxes for AI agents: claims per second, CPU per claim, latency from claim to ready, and recovery after a burst. UPSTREAM:
# path of upstream's binary. AGENTS: arguments for apibench.
AGENTS ?= --rounds 2 --seconds 10
bench-agents: deps release
	tools/fetch-tools.sh etcd
	$(CARGO) build --release -p apibench
	OUT=target/bench/agents tools/bench.sh $(UPSTREAM) --objects 25 $(AGENTS) agents

# Upstream's Conformance specs against the cluster of KUBECONFIG (docs/conformance.md). BIN: folder with e2e.test, ginkgo and
# kubectl. CONFORMANCE: arguments for the script.
BIN ?=
CONFORMANCE ?=
conformance:
	e2e/conformance/conformance.py --bin "$(BIN)" $(CONFORMANCE)

# The largest simulated cluster that one core sustains, compared with upstream's if UPSTREAM is the path of its binary.
# CLUSTER: arguments for apibench cluster.
bench-cluster: deps release
	tools/fetch-tools.sh etcd
	$(CARGO) build --release -p apibench
	tools/cluster.sh $(UPSTREAM) $(CLUSTER)

# Several thousand broken and hostile clients against a separate server for two minutes. `make test` runs a short form.
# tools/load.py runs the same load against a server that is already running.
load: deps
	$(CARGO) build --release -p kube-apiserver
	LOAD=long KUBE_APISERVER=$(CURDIR)/target/release/kube-apiserver \
	  $(CARGO) test --release -p e2e --test load -- --nocapture

# Combined load for EVERYTHING_SECONDS on a server limited to 2 GiB: misbehaving connections, hostile bodies and writers. The
# server must survive and keep every acknowledged write. `make test` runs a short form.
EVERYTHING_SECONDS ?= 120
everything: deps
	$(CARGO) build --release -p kube-apiserver
	EVERYTHING_SECONDS=$(EVERYTHING_SECONDS) KUBE_APISERVER=$(CURDIR)/target/release/kube-apiserver \
	  $(CARGO) test --release -p e2e --test everything -- --nocapture

# Microbenchmarks of all crates.
microbench: deps
	$(CARGO) bench --workspace --bench '*'

# Regenerates docs/flags.md.
docs: deps
	$(CARGO) xtask generate docs

# Regenerates the table of Go's printable code points, which needs the Go release that upstream is built with, and the list
# of described types. `cargo xtask generate` lists the other generated files, whose generators need inputs.
generate:
	$(CARGO) xtask generate printable
	$(CARGO) xtask generate described-types

# Fails if one of them is out of date.
generate-check:
	$(CARGO) xtask generate --check printable
	$(CARGO) xtask generate --check described-types

# Downloads the crates' sources. They include the protoc binary that tools/protoc runs.
deps:
	$(CARGO) fetch --locked

tools:
	tools/fetch-tools.sh
