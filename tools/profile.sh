#!/usr/bin/env bash
# Makes a profile of what the server does under load, from which `make dist PROFILE=FILE` builds one that needs less of the
# processor: rustc then knows what is hot, and puts it together.
#
#   tools/profile.sh [FILE]       target/profile/kube-apiserver.profdata if none is named
#
# A server that counts what it executes is put under load (tools/train.sh). A profile is for the commit and the compiler that it
# was made with: what has changed since is built as without one.
#
# Needs an llvm-profdata that reads what this rustc writes: rustup's (`rustup component add llvm-tools`), or one of the same
# major release of LLVM in LLVM_PROFDATA or on PATH; besides etcd in target/tools/bin, openssl and python3.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/profile
file=${1:-$work/kube-apiserver.profdata}

die() { echo "tools/profile.sh: $*" >&2; exit 1; }

profdata() {
  local sysroot major candidate
  sysroot=$(rustc --print sysroot)
  major=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
  for candidate in "${LLVM_PROFDATA:-}" "$sysroot"/lib/rustlib/*/bin/llvm-profdata "llvm-profdata-$major" llvm-profdata; do
    [ -n "$candidate" ] && command -v "$candidate" >/dev/null || continue
    [[ $("$candidate" --version 2>/dev/null) != *"LLVM version $major."* ]] || { echo "$candidate"; return; }
  done
  die "no llvm-profdata of LLVM $major; try: rustup component add llvm-tools"
}

profdata=$(profdata)
counting=$("$root/tools/static-build.sh" "$work/build" "-Cprofile-generate=$work/raw")
rm -rf "$work/raw"
"$root/tools/train.sh" "$counting"
"$profdata" merge -o "$file" "$work/raw"
echo "$file"
