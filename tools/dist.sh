#!/usr/bin/env bash
# Makes what is given to others, in dist/ (or the directory that is named):
#
#   kube-apiserver-linux-ARCH         the server: static, stripped
#   kube-apiserver-linux-ARCH.debug   its debug information, which debuggers find by the name in the binary
#   sbom.cdx.json                     what it is made of (CycloneDX)
#   THIRD-PARTY-LICENSES.txt          the licences of that
#   SHA256SUMS                        of all of these
#
# Names say nothing of the machine or the day, and tools/static-build.sh, which says how the binary is linked, maps paths
# of the machine away.
#
# PROFILE=FILE builds it for what tools/profile.sh saw it do. DIST_BINARY=PATH packs a binary that was built already.
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

binary=${DIST_BINARY:-}
if [ -z "$binary" ]; then
  flags=
  if [ -n "${PROFILE:-}" ]; then flags=$("$root/tools/profile-flags.sh" "$PROFILE"); fi
  binary=$("$root/tools/static-build.sh" "${CARGO_TARGET_DIR:-$root/target}" "$flags")
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
