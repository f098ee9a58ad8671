#!/bin/sh
# Stops the server if the package is removed. An update (deb: "upgrade", rpm: 1) leaves it running.
set -e
case ${1:-} in remove | 0) ;; *) exit 0 ;; esac
[ ! -d /run/systemd/system ] || systemctl disable --now kube-apiserver.service || true
