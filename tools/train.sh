#!/usr/bin/env bash
# Runs the training load for instrumented builds: a small simulated cluster, and every kind of request from apibench.
#
#   tools/train.sh BINARY
#
# The server writes its counts when it stops. Needs etcd in target/tools/bin, openssl and python3.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MAINSTAY=$(realpath "$1")
export MAINSTAY

"${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --release -p apibench
"$root/tools/cluster.sh" --pods-per-node 5 --nodes 1000 --max-nodes 1000 --step-seconds 20
"$root/tools/bench.sh" --objects 300 --seconds 3 --rounds 1 \
  get get-rv0 list-json list-protobuf list-table list-by-label create delete update patch-merge patch-strategic apply \
  watch-fanout watchlist-storm custom-get custom-list custom-create custom-apply
