#!/usr/bin/env bash
# fuzz-inputs.sh: writes pkg/CRATE/fuzz/inputs.tar.gz: inputs of at most 300 bytes in the corpora that cover code which the
# seeds of the repository do not cover. Run it after `make fuzz`. The programs of `tools/fuzz.sh 0` must exist.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
programs=$PWD/target/fuzz/$(rustc -vV | sed -n 's/^host: //p')/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The seeds without the inputs of earlier runs are the base of the comparison.
mkdir "$work/found"
for fuzz_dir in pkg/*/fuzz; do
  crate=$(basename "$(dirname "$fuzz_dir")")
  mkdir -p "$work/found/$crate"
  mv "$fuzz_dir/corpus" "$work/found/$crate/corpus"
  rm -f "$fuzz_dir/inputs.tar.gz"
done
tools/fuzz-seeds.py

for fuzz_dir in pkg/*/fuzz; do
  crate=$(basename "$(dirname "$fuzz_dir")")
  for source in "$fuzz_dir"/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    mkdir -p "$work/small/$target" "$work/new/$crate/$target"
    find "$work/found/$crate/corpus/$target" -type f -size -301c -exec cp {} "$work/small/$target/" ';'
    cp -r "$fuzz_dir/corpus/$target" "$work/merged"
    "$programs/$target" -merge=1 -timeout=120 "$work/merged" "$work/small/$target"
    comm -13 <(ls "$fuzz_dir/corpus/$target" | sort) <(ls "$work/merged" | sort) |
      while read -r input; do cp "$work/merged/$input" "$work/new/$crate/$target/"; done
    rm -rf "$work/merged"
  done
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work/new/$crate" -cf - . | gzip -9n >"$fuzz_dir/inputs.tar.gz"
  cp -rn "$work/found/$crate/corpus/." "$fuzz_dir/corpus/"
done
