# What a developer runs. Each target works on a clean clone.
.PHONY: run build release dist profile layout test tests fuzz e2e hostile chaos rolling verify load everything bench bench-cluster microbench docs generate generate-check deps tools

CARGO ?= cargo
FLAGS ?=
UPSTREAM ?=
BENCH ?= all
FUZZ_SECONDS ?= 60

# A server on the embedded store; it prints the KUBECONFIG line to paste.
run: build
	target/quick/kube-apiserver $(FLAGS)

build: deps
	$(CARGO) build --profile quick -p kube-apiserver

# The server with fat LTO, for benchmarks and long tests: ten minutes on two cores.
release: deps
	$(CARGO) build --release -p kube-apiserver

# What is given to others, in dist/: a static binary, its debug information, a bill of materials, licences, checksums.
# PROFILE: what `make profile` made, for a server that needs less of the processor.
PROFILE ?=
dist: deps
	PROFILE=$(PROFILE) $(CARGO) xtask dist

# What the server does under load, in target/profile/kube-apiserver.profdata, from which dist can be built. Two builds of the
# server and one of apibench.
profile: deps
	tools/fetch-tools.sh etcd
	tools/profile.sh

# A server whose code lies in the order in which it is executed, in target/layout/kube-apiserver, for this machine. A build of
# the server and one of apibench; needs LLVM's BOLT. PROFILE: what `make profile` made.
layout: deps
	tools/fetch-tools.sh etcd
	PROFILE=$(PROFILE) tools/layout.sh

# Everything that needs no more than this machine, real etcd and kubectl included.
test: deps tools
	$(CARGO) test --workspace

# Compiles them, and runs none.
tests: deps
	$(CARGO) test --workspace --no-run

# Every fuzz target for FUZZ_SECONDS, guided by coverage; `make test` has short forms of them with fixed seeds. Needs
# cargo-fuzz and a C++ compiler besides. One alone: tools/fuzz.sh SECONDS CRATE TARGET.
fuzz: deps
	CARGO=$(CARGO) tools/fuzz.sh $(FUZZ_SECONDS)

e2e: deps tools
	$(CARGO) test -p e2e

# Bodies that are made to hurt, for an hour: every kind, every list, map and text of it, in every format.
hostile: deps
	$(CARGO) build --release -p kube-apiserver
	KUBE_APISERVER=target/release/kube-apiserver $(CARGO) run --release -p e2e --bin hostile -- 3600

# Three servers behind haproxy and three members of etcd for CHAOS_SECONDS, while both are killed, stopped and restarted;
# CHAOS_SEED repeats a course of events. CONTROLLER_MANAGER and SCHEDULER: upstream's, which then take part. `make test`
# has a short one.
CHAOS_SECONDS ?= 3600
CONTROLLER_MANAGER ?=
SCHEDULER ?=
chaos: deps tools
	$(CARGO) build --release -p kube-apiserver
	CHAOS_SECONDS=$(CHAOS_SECONDS) KUBE_APISERVER=$(CURDIR)/target/release/kube-apiserver \
	  CHAOS_CONTROLLER_MANAGER=$(CONTROLLER_MANAGER) CHAOS_SCHEDULER=$(SCHEDULER) CHAOS_PAUSE=150 \
	  $(CARGO) test --release -p e2e --test chaos -- --nocapture

# In among upstream's servers and out again; UPSTREAM names upstream's binary. ROLLING: arguments for the script.
rolling: deps release
	tools/fetch-tools.sh etcd etcdctl
	e2e/rolling/rolling.py --upstream $(UPSTREAM) $(ROLLING)

verify: deps
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask tidy

# This server under load, beside upstream's if UPSTREAM names its binary. BENCH: arguments for apibench.
bench: deps release
	tools/fetch-tools.sh etcd
	$(CARGO) build --release -p apibench
	tools/bench.sh $(UPSTREAM) $(BENCH)

# How large a simulated cluster one core carries, beside upstream's if UPSTREAM names its binary. CLUSTER: arguments for
# apibench cluster.
bench-cluster: deps release
	tools/fetch-tools.sh etcd
	$(CARGO) build --release -p apibench
	tools/cluster.sh $(UPSTREAM) $(CLUSTER)

# Some thousand broken and hostile clients against a server of their own, for two minutes. `make test` has a short one;
# tools/load.py alone takes a server that runs already.
load: deps
	$(CARGO) build --release -p kube-apiserver
	LOAD=long KUBE_APISERVER=$(CURDIR)/target/release/kube-apiserver \
	  $(CARGO) test --release -p e2e --test load -- --nocapture

# Those, hostile bodies and writers at once, for EVERYTHING_SECONDS, against a server that may have 2 GiB: whether it
# lives and keeps what it acknowledged. `make test` has a short one.
EVERYTHING_SECONDS ?= 120
everything: deps
	$(CARGO) build --release -p kube-apiserver
	EVERYTHING_SECONDS=$(EVERYTHING_SECONDS) KUBE_APISERVER=$(CURDIR)/target/release/kube-apiserver \
	  $(CARGO) test --release -p e2e --test everything -- --nocapture

# The parts, one by one.
microbench: deps
	$(CARGO) bench --workspace --bench '*'

# Generated documents: docs/flags.md.
docs: deps
	$(CARGO) xtask generate docs

# Go's printable code points. Needs the Go release that upstream is built with. `cargo xtask generate` lists the other
# generated files, whose generators need inputs.
generate:
	$(CARGO) xtask generate printable

generate-check:
	$(CARGO) xtask generate --check printable

# The registry's sources, among them the protoc that tools/protoc runs.
deps:
	$(CARGO) fetch --locked

tools:
	tools/fetch-tools.sh
