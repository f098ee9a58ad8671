#!/usr/bin/env bash
# Creates the image's root directory (for deploy/image/Containerfile) from the output of `cargo xtask dist`.
#
#   tools/image-root.sh DIST ROOT [amd64|arm64]
set -euo pipefail

[ $# = 2 ] || [ $# = 3 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
dist=$1 image=$2 arch=${3:-$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')}
authorities=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}

install -D -m 755 "$dist/kube-apiserver-linux-$arch" "$image/usr/local/bin/kube-apiserver"
install -D -m 644 "$authorities" "$image/etc/ssl/certs/ca-certificates.crt"
install -D -m 644 "$dist/THIRD-PARTY-LICENSES.txt" "$image/usr/share/doc/kube-apiserver/THIRD-PARTY-LICENSES.txt"
# Without this file, the C library resolves names by DNS only, which does not resolve localhost.
echo 'hosts: files dns' | install -D -m 644 /dev/stdin "$image/etc/nsswitch.conf"
