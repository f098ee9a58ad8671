#!/usr/bin/env bash
# Signs SHA256SUMS in the output directory of `cargo xtask dist`, and so every file in it.
#
#   tools/sign.sh DIST
#
# MINISIGN_KEY: path of a secret key of minisign. The result is SHA256SUMS.minisig.
# COSIGN_KEY: a key of cosign 3 (path or KMS URI). The result is SHA256SUMS.sigstore.json. Cosign also writes to the public
#   transparency log, unless COSIGN_SIGNING_CONFIG is a file that names no log (`cosign signing-config create`).
# Without a key, nothing is signed.
set -euo pipefail

[ $# = 1 ] || { sed -n '2,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
sums=$1/SHA256SUMS
[ -f "$sums" ] || { echo "tools/sign.sh: $sums is missing" >&2; exit 1; }
if [ -n "${MINISIGN_KEY:-}" ]; then
  minisign -S -s "$MINISIGN_KEY" -m "$sums" -x "$sums.minisig" -t "$(sha256sum <"$sums" | cut -d' ' -f1)"
fi
if [ -n "${COSIGN_KEY:-}" ]; then
  cosign sign-blob --yes --key "$COSIGN_KEY" --bundle "$sums.sigstore.json" "$sums"
fi
if [ -z "${MINISIGN_KEY:-}${COSIGN_KEY:-}" ]; then
  echo "tools/sign.sh: not signed, because neither MINISIGN_KEY nor COSIGN_KEY is set"
fi
