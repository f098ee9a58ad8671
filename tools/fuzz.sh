#!/usr/bin/env bash
# fuzz.sh SECONDS [CRATE [TARGET]]: runs each fuzz target for SECONDS (0: only builds it), guided by coverage. Needs
# cargo-fuzz (`cargo install cargo-fuzz`) and a C++ compiler; the toolchain is the ordinary one, and so are the versions of
# all dependencies. What a run finds worth keeping stays in pkg/CRATE/fuzz/corpus, what breaks a claim in
# pkg/CRATE/fuzz/artifacts; the first such ends everything. FUZZ_ARGS are more arguments for libFuzzer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD seconds=$1 only_crate=${2:-} only_target=${3:-}
cargo=${CARGO:-cargo}

# Coverage is of LLVM, which every toolchain has; a sanitizer would need an unstable one, and there is no unsafe code.
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
