#!/usr/bin/env bash
# Records a PGO profile of the server under load. `make dist PROFILE=FILE` builds a server with it that needs less CPU.
#
#   tools/profile.sh [FILE]       FILE: the output, by default target/profile/kube-apiserver.profdata
#
# The script puts an instrumented server under load (tools/train.sh). A profile is valid for its commit and compiler: code that
# has changed since is built as without a profile.
#
# Needs an llvm-profdata that reads this rustc's output: rustup's (`rustup component add llvm-tools`), or one of the same
# major release of LLVM in LLVM_PROFDATA or on PATH. Also needs etcd in target/tools/bin, openssl and python3.
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
  die "no llvm-profdata for LLVM $major; try: rustup component add llvm-tools"
}

profdata=$(profdata)
counting=$(PROGRAMS=kube-apiserver "$root/tools/static-build.sh" "$work/build" "-Cprofile-generate=$work/raw")/kube-apiserver
rm -rf "$work/raw"
"$root/tools/train.sh" "$counting"
"$profdata" merge -o "$file" "$work/raw"
echo "$file"
