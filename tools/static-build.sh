#!/usr/bin/env bash
# Builds the programs of a release, kube-apiserver and apibench, and prints their directory. They are static. They contain the
# commit and its date, but no paths of this machine: two builds of one commit with one toolchain are equal
# (tools/reproducible.sh).
#
#   tools/static-build.sh TARGET_DIRECTORY [flags for rustc]
#
# PROGRAMS: the programs to build, if not both. PROFILE_NAME: Cargo's profile, if not `release`.
# ARCHITECTURE: another architecture, such as aarch64. Needs Rust's standard library for ARCHITECTURE-unknown-linux-gnu, the
# compiler ARCHITECTURE-linux-gnu-gcc and its static glibc (Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross).
#
# The C library is musl if rustup has its target and musl-gcc is on PATH. Otherwise it is glibc, and libc.a must be installed
# (Debian: libc6-dev).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
directory=$1; shift
read -ra packages <<<"${PROGRAMS:-kube-apiserver apibench}"
build_profile=${PROFILE_NAME:-release}
machine=${ARCHITECTURE:-$(uname -m)} home=${CARGO_HOME:-$HOME/.cargo}
musl="$machine-unknown-linux-musl"
if [ "$machine" != "$(uname -m)" ]; then
  target=$machine-unknown-linux-gnu cross=$machine-linux-gnu
  if ! [ -e "$("$cross-gcc" -print-file-name=libc.a)" ]; then
    echo "tools/static-build.sh: needs $cross-gcc with a static C library" >&2
    exit 1
  fi
  name=${target//-/_}
  export "CC_$name=$cross-gcc" "CXX_$name=$cross-g++" "AR_$name=$cross-ar" "CARGO_TARGET_${name^^}_LINKER=$cross-gcc"
  # Kernels for arm64 have pages of 4, 16 or 64 KiB. The allocator works with pages of at most the size that it is built for.
  export JEMALLOC_SYS_WITH_LG_PAGE=16
elif rustup target list --installed 2>/dev/null | grep -qx "$musl" && command -v musl-gcc >/dev/null; then
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
# The release of a cross-compiler's glibc is unknown here.
relocations=
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2)
[ "$machine" = "$(uname -m)" ] || glibc=
if [ "$target" = "$musl" ] || printf '2.36\n%s\n' "${glibc:-0}" | sort --version-sort --check=quiet; then
  relocations="-C link-arg=-Wl,-z,pack-relative-relocs"
fi
# --target, even though it is this machine's: otherwise RUSTFLAGS would also apply to procedural macros, which cannot be static.
RUSTFLAGS="-C target-feature=+crt-static $relocations ${maps[*]/#/--remap-path-prefix=} $*" \
  "${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --profile "$build_profile" --target "$target" \
  --target-dir "$directory" "${packages[@]/#/--package=}" >&2
echo "$directory/$target/$build_profile"
