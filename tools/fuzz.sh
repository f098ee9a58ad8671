#!/usr/bin/env bash
# fuzz.sh SECONDS [CRATE [TARGET]]: runs each fuzz target for SECONDS, guided by coverage. 0 only builds it.
#
# Needs cargo-fuzz (`cargo install cargo-fuzz`) and a C++ compiler. The toolchain and the dependency versions are those of
# ordinary builds. New interesting inputs stay in pkg/CRATE/fuzz/corpus. An input that violates an invariant goes to
# pkg/CRATE/fuzz/artifacts and ends the run. FUZZ_ARGS: additional arguments for libFuzzer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD seconds=$1 only_crate=${2:-} only_target=${3:-}
cargo=${CARGO:-cargo}

# No sanitizer: it would need an unstable toolchain, and the code has no unsafe blocks. LLVM's coverage works on stable.
fuzz() { (cd "pkg/$1" && "$cargo" fuzz "$2" --sanitizer none --target-dir "$root/target/fuzz" "${@:3}"); }

tools/fuzz-seeds.py

for fuzz_dir in pkg/*/fuzz; do
  crate=$(basename "$(dirname "$fuzz_dir")")
  [ -z "$only_crate" ] || [ "$only_crate" = "$crate" ] || continue
  cp Cargo.lock "$fuzz_dir/Cargo.lock"
  for source in "$fuzz_dir"/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    [ -z "$only_target" ] || [ "$only_target" = "$target" ] || continue
    if [ "$seconds" = 0 ]; then
      fuzz "$crate" build "$target"
      continue
    fi
    args=(-max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 ${FUZZ_ARGS:-})
    dictionary=$root/$fuzz_dir/dictionaries/$target
    [ ! -f "$dictionary" ] || args+=(-dict="$dictionary")
    echo "== $crate $target"
    fuzz "$crate" run "$target" -- "${args[@]}"
  done
done
