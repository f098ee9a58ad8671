#!/usr/bin/env bash
# Makes what is given to others, in dist/ (or the directory that is named):
#
#   kube-apiserver-linux-ARCH         the server: static, stripped
#   kube-apiserver-linux-ARCH.debug   its debug information, which debuggers find by the name in the binary
#   sbom.cdx.json                     what it is made of (CycloneDX)
#   THIRD-PARTY-LICENSES.txt          the licences of that
#   SHA256SUMS                        of all of these
#
# Names say nothing of the machine or the day, and paths of the machine are mapped away, so that two builds of one
# commit by one toolchain can be compared.
#
# The binary is linked against the C library statically: musl's, if rustup has that target and there is a compiler for
# it (CC_x86_64_unknown_linux_musl or musl-gcc), else glibc's, whose libc.a has to be there (Debian: libc6-dev).
# DIST_BINARY=PATH packs a binary that was built already.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=${1:-$root/dist}
machine=$(uname -m)
case $machine in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) echo "tools/dist.sh: no name for $machine" >&2; exit 1 ;;
esac

die() { echo "tools/dist.sh: $*" >&2; exit 1; }

# The target whose C library can be linked statically here.
static_target() {
  local musl="$machine-unknown-linux-musl"
  if rustup target list --installed 2>/dev/null | grep -qx "$musl" && command -v musl-gcc >/dev/null; then
    echo "$musl"
  elif [ -n "$(find /usr/lib /usr/lib64 -name libc.a 2>/dev/null | head -1)" ]; then
    echo "$machine-unknown-linux-gnu"
  else
    die "neither musl-gcc with rustup's $musl nor glibc's libc.a is here"
  fi
}

build() {
  local target=$1 home=${CARGO_HOME:-$HOME/.cargo}
  # The flags are for the target alone, for procedural macros cannot be static: hence --target also for this machine.
  RUSTFLAGS="-C target-feature=+crt-static --remap-path-prefix=$root=/mainstay --remap-path-prefix=$home=/cargo" \
    "${CARGO:-cargo}" build --manifest-path "$root/Cargo.toml" --locked --release --target "$target" -p kube-apiserver
}

binary=${DIST_BINARY:-}
if [ -z "$binary" ]; then
  target=$(static_target)
  build "$target"
  binary="${CARGO_TARGET_DIR:-$root/target}/$target/release/kube-apiserver"
fi

mkdir -p "$out"
name="kube-apiserver-linux-$arch"
objcopy --only-keep-debug "$binary" "$out/$name.debug"
objcopy --strip-all "$binary" "$out/$name"
(cd "$out" && objcopy --add-gnu-debuglink="$name.debug" "$name")
chmod 755 "$out/$name"
# What needs a loader does not start in an image that has nothing else.
if readelf --program-headers "$out/$name" | grep -q INTERP; then die "$name is not static"; fi
"$root/tools/sbom.py" "$out/sbom.cdx.json" "$out/THIRD-PARTY-LICENSES.txt"
(cd "$out" && sha256sum "$name" "$name.debug" sbom.cdx.json THIRD-PARTY-LICENSES.txt >SHA256SUMS)
ls -l "$out"
