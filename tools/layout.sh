#!/usr/bin/env bash
# Builds a server with its machine code in execution order (LLVM BOLT). Hot code is contiguous and cold code is separate, so
# the code fits the CPU caches better. The server needs about a quarter less CPU time.
#
#   tools/layout.sh [FILE]        FILE: the output, by default target/layout/kube-apiserver
#
# BOLT rewrites the linked program twice: first with counters for branches, and, after a run under load (tools/train.sh), with
# a layout that follows from the counts. The compiler is not involved, so BOLT and rustc may use different releases of LLVM.
# The result is for this machine only. It is linked dynamically, because BOLT 19 crashes on a program that contains glibc.
# GNU strip breaks the result; llvm-strip does not.
#
# PROFILE=FILE makes a PGO build with a profile of tools/profile.sh first. PGO and BOLT combine well.
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
[ -n "${bolt:-}" ] || die "no llvm-bolt; on Debian, install bolt-19 and libbolt-19-dev, or set BOLT to its directory"

mkdir -p "$work" "$(dirname "$file")"
flags=() rustflags=${RUSTFLAGS:-} built=$target/release
if [ -n "${PROFILE:-}" ]; then
  # --target, even though it is this machine's: otherwise RUSTFLAGS would also apply to procedural macros.
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
