#!/usr/bin/env bash
# Measures the tables of docs/benchmarks.md: the same workloads with pods of 4, 10 and 50 KB, 20 MB in total.
#
#   tools/bench-tables.sh UPSTREAM_BINARY [apibench arguments]
#
# UPSTREAM_BINARY may be empty. Needs the same builds as tools/bench.sh. Results: target/bench/SIZE-kb.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${OUT:-${CARGO_TARGET_DIR:-$root/target}/bench}
upstream=${1-}
[ $# -eq 0 ] || shift

workloads=(get get-rv0 list-json list-protobuf list-rv0 list-json-gzip list-table list-partial-metadata list-pages
  list-by-label list-by-node create delete update-pod patch-merge patch-strategic patch-json apply-pod update apply
  node-status watch-fanout watchlist-storm custom)
for kilobytes in 4 10 50; do
  echo "pods of $kilobytes KB"
  OUT=$out/$kilobytes-kb "$root/tools/bench.sh" ${upstream:+"$upstream"} --pod-kb "$kilobytes" \
    --objects $((20000 / kilobytes)) "$@" "${workloads[@]}"
done
