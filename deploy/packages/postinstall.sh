#!/bin/sh
# Creates the user of the unit. The unit is neither enabled nor started: a server needs its flags first.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers mainstay.conf
elif ! getent passwd kube-apiserver >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/kube-apiserver --shell /usr/sbin/nologin kube-apiserver
fi
[ ! -d /run/systemd/system ] || systemctl daemon-reload
