#!/usr/bin/env bash
# fuzz-inputs.sh: writes pkg/CRATE/fuzz/inputs.tar.gz: inputs of at most 300 bytes in the corpora that cover code which the
# other seeds do not cover. Run it after `make fuzz`, whose programs and corpora it uses.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
programs=$PWD/target/fuzz/$(rustc -vV | sed -n 's/^host: //p')/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tools/fuzz-seeds.py "$work/base"
for fuzz_dir in pkg/*/fuzz; do
  crate=$(basename "$(dirname "$fuzz_dir")")
  for source in "$fuzz_dir"/fuzz_targets/*.rs; do
    target=$(basename "$source" .rs)
    mkdir -p "$work/short/$target" "$work/new/$crate/$target"
    find "$fuzz_dir/corpus/$target" -type f -size -301c -exec cp {} "$work/short/$target/" ';'
    cp -r "$work/base/$crate/$target" "$work/merged"
    "$programs/$target" -merge=1 -timeout=120 "$work/merged" "$work/short/$target"
    # What the merge has added to the base.
    comm -13 <(ls "$work/base/$crate/$target" | sort) <(ls "$work/merged" | sort) |
      while read -r input; do mv "$work/merged/$input" "$work/new/$crate/$target/"; done
    rm -rf "$work/merged"
  done
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work/new/$crate" -cf - . |
    gzip -9n >"$work/$crate.tar.gz"
  mv "$work/$crate.tar.gz" "$fuzz_dir/inputs.tar.gz"
done
