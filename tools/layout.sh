#!/usr/bin/env bash
# Makes a server whose code lies in memory in the order in which it is executed, what is seldom executed apart: it fits the
# processor's caches better and needs about a quarter less time.
#
#   tools/layout.sh [FILE]        target/layout/kube-apiserver if none is named
#
# LLVM's BOLT rewrites the linked program: first so that it counts which way each branch goes under load (tools/train.sh),
# then by what was counted. The compiler has no part in it, so BOLT may be of another release of LLVM than rustc. What it
# makes is for this machine: linked dynamically, for BOLT 19 crashes over a program that has glibc in it, and not to be
# stripped with GNU's tools, which break it (llvm-strip does not).
#
# PROFILE=FILE has rustc build it for what tools/profile.sh saw it do, before it is laid out: the two go well together.
#
# Needs llvm-bolt and merge-fdata with BOLT's runtime library (Debian: bolt-19 and libbolt-19-dev), in the directory BOLT or on
# PATH.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
work=$target/layout
file=${1:-$work/kube-apiserver}

die() { echo "tools/layout.sh: $*" >&2; exit 1; }

for directory in "${BOLT:-}" "$(dirname "$(command -v llvm-bolt || true)")" /usr/lib/llvm-*/bin; do
  if [ -x "$directory/llvm-bolt" ] && [ -x "$directory/merge-fdata" ]; then bolt=$directory; break; fi
done
[ -n "${bolt:-}" ] || die "no llvm-bolt; Debian has it in bolt-19 and libbolt-19-dev. BOLT names the directory that it is in"

mkdir -p "$work" "$(dirname "$file")"
flags=() rustflags=${RUSTFLAGS:-} built=$target/release
if [ -n "${PROFILE:-}" ]; then
  # The flags are for the server alone, not for procedural macros: hence --target also for this machine.
  host=$(rustc -vV | sed -n 's/^host: //p')
  flags=(--target "$host") built=$target/$host/release
  rustflags=$("$root/tools/profile-flags.sh" "$PROFILE")
fi
RUSTFLAGS=$rustflags "${CARGO:-cargo}" rustc --manifest-path "$root/Cargo.toml" --locked --release "${flags[@]}" \
  -p kube-apiserver --bin kube-apiserver -- -Clink-arg=-Wl,--emit-relocs
binary=$work/linked
cp "$built/kube-apiserver" "$binary"
rm -f "$work"/counts*
"$bolt/llvm-bolt" "$binary" -instrument -o "$work/counting" \
  -instrumentation-file="$work/counts" -instrumentation-file-append-pid
"$root/tools/train.sh" "$work/counting"
"$bolt/merge-fdata" "$work"/counts.* -o "$work/counts"
"$bolt/llvm-bolt" "$binary" -data "$work/counts" -o "$file" -update-debug-sections \
  -reorder-blocks=ext-tsp -reorder-functions=cdsort -split-functions -split-strategy=cdsplit -split-all-cold -split-eh -icf=1
"$file" --version
echo "$file"
