#!/usr/bin/env bash
# Has a server do what servers do, for builds that count what they execute: a small simulated cluster, and every kind of
# request from apibench.
#
#   tools/train.sh BINARY
#
# What a server has counted it writes when it is stopped. Needs etcd in target/tools/bin, openssl and python3.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
MAINSTAY=$(realpath "$1")
export MAINSTAY

"${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --release -p apibench
"$root/tools/cluster.sh" --pods-per-node 5 --nodes 1000 --max-nodes 1000 --step-seconds 20
"$root/tools/bench.sh" --objects 300 --seconds 3 --rounds 1 \
  get get-rv0 list-json list-protobuf list-table list-by-label create delete update patch-merge patch-strategic apply \
  watch-fanout watchlist-storm custom-get custom-list custom-create custom-apply
