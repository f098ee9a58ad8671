# What a developer runs. Each target works on a clean clone.
.PHONY: run build test e2e verify bench deps tools

CARGO ?= cargo
FLAGS ?=

# A server on the embedded store; it prints the KUBECONFIG line to paste.
run: build
	target/release/kube-apiserver $(FLAGS)

build: deps
	$(CARGO) build --release -p kube-apiserver

# Everything that needs no more than this machine, real etcd and kubectl included.
test: deps tools
	$(CARGO) test --workspace

e2e: deps tools
	$(CARGO) test -p e2e

verify: deps
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) test -p e2e --test tidy

bench: deps
	$(CARGO) bench --workspace --bench '*'

# The registry's sources, among them the protoc that tools/protoc runs.
deps:
	$(CARGO) fetch --locked

tools:
	tools/fetch-tools.sh
