#!/usr/bin/env bash
# Builds the programs of a release, kube-apiserver and apibench, and prints their directory. They are static. They contain the
# commit and its date, but no paths of this machine: two builds of one commit with one toolchain are equal
# (tools/reproducible.sh).
#
#   tools/static-build.sh TARGET_DIRECTORY [flags for rustc]
#
# PROGRAMS: the programs to build, if not both.
#
# The C library is musl if rustup has its target and musl-gcc is on PATH. Otherwise it is glibc, and libc.a must be installed
# (Debian: libc6-dev).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
directory=$1; shift
read -ra packages <<<"${PROGRAMS:-kube-apiserver apibench}"
machine=$(uname -m) home=${CARGO_HOME:-$HOME/.cargo}
musl="$machine-unknown-linux-musl"
if rustup target list --installed 2>/dev/null | grep -qx "$musl" && command -v musl-gcc >/dev/null; then
  target=$musl
elif [ -n "$(find /usr/lib /usr/lib64 -name libc.a 2>/dev/null | head -1)" ]; then
  target=$machine-unknown-linux-gnu
else
  echo "tools/static-build.sh: needs musl-gcc and rustup's target $musl, or glibc's libc.a" >&2
  exit 1
fi
# The build compiles MAINSTAY_GIT_COMMIT, MAINSTAY_GIT_TREE_STATE and MAINSTAY_BUILD_DATE into the server.
while IFS= read -r variable; do export "${variable?}"; done < <(python3 "$root/tools/package/release.py")
# Paths of this machine would otherwise be in messages of Rust and C code. The last mapping that matches wins.
maps=("$home=/cargo" "$root=/mainstay" "$directory=/target")
export CFLAGS="${maps[*]/#/-ffile-prefix-map=} ${CFLAGS:-}"
# Packed relative relocations make the server 2 MiB smaller. The start code of older releases of glibc ignores them, and the
# program would crash.
relocations=
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
if [ "$target" = "$musl" ] || printf '2.36\n%s\n' "${glibc:-0}" | sort --version-sort --check=quiet; then
  relocations="-C link-arg=-Wl,-z,pack-relative-relocs"
fi
# --target, even though it is this machine's: otherwise RUSTFLAGS would also apply to procedural macros, which cannot be static.
RUSTFLAGS="-C target-feature=+crt-static $relocations ${maps[*]/#/--remap-path-prefix=} $*" \
  "${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --release --target "$target" \
  --target-dir "$directory" "${packages[@]/#/--package=}" >&2
echo "$directory/$target/release"
