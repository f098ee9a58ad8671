#!/usr/bin/env bash
# Measures the largest simulated cluster that this server sustains on one core, and compares it with an upstream
# kube-apiserver if one is given. Runs `apibench cluster`: each server in turn on the same core, with its own empty etcd.
#
#   tools/cluster.sh [UPSTREAM_BINARY] [arguments for apibench cluster]
#
# The server is pinned to core SERVER_CORE (default 0), etcd and the load generator to OTHER_CORES (default 1). Other
# processes of the machine may still use these cores. Results: a summary, target/bench/cluster.html and cluster.json.
# Needs release builds of kube-apiserver (or a binary in MAINSTAY) and apibench, and etcd in target/tools/bin.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
out=$target/bench
server_core=${SERVER_CORE:-0} other_cores=${OTHER_CORES:-1}
upstream=
if [ $# -gt 0 ] && [ -x "$1" ] && [ -f "$1" ]; then upstream=$(realpath "$1"); shift; fi

work=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

token=$(head -c 24 /dev/urandom | base64 | tr -d '/+=')
printf '%s,bench,bench,"system:masters"\n' "$token" >"$work/tokens.csv"
openssl genrsa -out "$work/sa.key" 2048 2>/dev/null
openssl rsa -in "$work/sa.key" -pubout -out "$work/sa.pub" 2>/dev/null

# add NAME BINARY: starts an etcd for the server and adds the server to apibench's arguments. apibench starts the server.
servers=()
add() {
  local name=$1 binary=$2 port etcd_port
  port=$(free_port) etcd_port=$(free_port)
  taskset -c "$other_cores" "$target/tools/bin/etcd" --data-dir "$work/etcd-$name" --log-level error \
    --quota-backend-bytes 8000000000 \
    --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
    --listen-peer-urls "http://127.0.0.1:$(free_port)" >"$work/etcd-$name.log" 2>&1 &
  pids+=($!)
  local command=(taskset -c "$server_core" "$binary" --secure-port "$port" --bind-address 127.0.0.1
    --etcd-servers "http://127.0.0.1:$etcd_port" --cert-dir "$work/$name" --token-auth-file "$work/tokens.csv"
    --authorization-mode Node,RBAC --service-account-issuer https://kubernetes.default.svc
    --service-account-key-file "$work/sa.pub" --service-account-signing-key-file "$work/sa.key"
    --disable-admission-plugins ServiceAccount)
  servers+=(--server "name=$name,url=https://127.0.0.1:$port,token=$token,store=$!"
    --start "name=$name,cmd=${command[*]} > $out/cluster-$name.log 2>&1")
}

mkdir -p "$out"
add mainstay "${MAINSTAY:-$target/release/kube-apiserver}"
[ -z "$upstream" ] || add upstream "$upstream"
taskset -c "$other_cores" "$target/release/apibench" --insecure "${servers[@]}" cluster \
  --report "$out/cluster.html" --json "$out/cluster.json" "$@"
