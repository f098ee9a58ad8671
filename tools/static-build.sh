#!/usr/bin/env bash
# Builds the release binary of the server and prints its path. The binary is static. It contains no paths of this machine, so
# two builds of one commit with one toolchain are comparable.
#
#   tools/static-build.sh TARGET_DIRECTORY [flags for rustc]
#
# The C library is musl if rustup has its target and musl-gcc is on PATH. Otherwise it is glibc, and libc.a must be installed
# (Debian: libc6-dev).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
directory=$1; shift
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
# --target, even though it is this machine's: otherwise RUSTFLAGS would also apply to procedural macros, which cannot be static.
RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$root=/mainstay --remap-path-prefix=$home=/cargo $*" \
  "${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --release --target "$target" \
  --target-dir "$directory" -p kube-apiserver >&2
echo "$directory/$target/release/kube-apiserver"
