#!/usr/bin/env bash
# Builds the server as it is given to others, and prints the path of the binary: static, with paths of the machine mapped
# away, so that two builds of one commit by one toolchain can be compared.
#
#   tools/static-build.sh TARGET_DIRECTORY [flags for rustc]
#
# It is linked against the C library statically: musl's, if rustup has that target and there is a compiler for it
# (CC_x86_64_unknown_linux_musl or musl-gcc), else glibc's, whose libc.a has to be there (Debian: libc6-dev).
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
  echo "tools/static-build.sh: neither musl-gcc with rustup's $musl nor glibc's libc.a is here" >&2
  exit 1
fi
# The flags are for the target alone, for procedural macros cannot be static: hence --target also for this machine.
RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$root=/mainstay --remap-path-prefix=$home=/cargo $*" \
  "${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --release --target "$target" \
  --target-dir "$directory" -p kube-apiserver >&2
echo "$directory/$target/release/kube-apiserver"
