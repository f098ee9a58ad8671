#!/usr/bin/env bash
# Benchmarks this server with apibench, and compares it with an upstream kube-apiserver if one is given.
#
#   tools/bench.sh [UPSTREAM_BINARY] [apibench arguments and workloads]
#
# Both servers use the same etcd and the same objects. Upstream creates them, with all defaults and managed
# fields, so responses have the same size. Results: a table, and report.json and chart.svg in target/bench (or OUT).
# Needs release builds of kube-apiserver and apibench (or binaries in MAINSTAY and APIBENCH), and etcd in
# target/tools/bin.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
out=${OUT:-$target/bench}
apibench=${APIBENCH:-$target/release/apibench}
upstream=
if [ $# -gt 0 ] && [ -x "$1" ] && [ -f "$1" ]; then upstream=$(realpath "$1"); shift; fi

work=$(mktemp -d)
pids=()
stop() {
  # Servers stop before etcd, because upstream's does not end without it. After 10 s, they are killed.
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill "${pids[i]}" 2>/dev/null || continue
    for _ in $(seq 100); do kill -0 "${pids[i]}" 2>/dev/null || break; sleep 0.1; done
    kill -9 "${pids[i]}" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

etcd_port=$(free_port)
"$target/tools/bin/etcd" --data-dir "$work/etcd" --log-level error --quota-backend-bytes 8000000000 \
  --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
  --listen-peer-urls "http://127.0.0.1:$(free_port)" >"$work/etcd.log" 2>&1 &
pids+=($!)

token=$(head -c 24 /dev/urandom | base64 | tr -d '/+=')
printf '%s,bench,bench,"system:masters"\n' "$token" >"$work/tokens.csv"
openssl genrsa -out "$work/sa.key" 2048 2>/dev/null
openssl rsa -in "$work/sa.key" -pubout -out "$work/sa.pub" 2>/dev/null

# serve NAME BINARY: starts a server, waits until it is ready, and adds it to apibench's arguments.
servers=()
serve() {
  local name=$1 binary=$2 port pid
  port=$(free_port)
  "$binary" --secure-port "$port" --bind-address 127.0.0.1 --etcd-servers "http://127.0.0.1:$etcd_port" \
    --cert-dir "$work/$name" --token-auth-file "$work/tokens.csv" --authorization-mode Node,RBAC \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$work/sa.pub" \
    --service-account-signing-key-file "$work/sa.key" --disable-admission-plugins ServiceAccount \
    >"$work/$name.log" 2>&1 &
  pid=$!
  pids+=("$pid")
  for _ in $(seq 600); do
    if curl -sk -m 2 -H "Authorization: Bearer $token" "https://127.0.0.1:$port/readyz" 2>/dev/null | grep -q '^ok'; then
      servers+=(--server "name=$name,url=https://127.0.0.1:$port,pid=$pid,token=$token")
      return
    fi
    kill -0 "$pid" 2>/dev/null || { tail -5 "$work/$name.log" >&2; exit 1; }
    sleep 0.1
  done
  echo "$name did not become ready" >&2
  exit 1
}

mkdir -p "$out"
if [ -n "$upstream" ]; then
  serve upstream "$upstream"
  # Upstream creates the pods that both servers then serve.
  sizes=()
  for ((i = 1; i <= $#; i++)); do
    case ${!i} in
      --objects | --pod-kb) next=$((i + 1)); sizes+=("${!i}" "${!next}") ;;
    esac
  done
  "$apibench" --insecure "${servers[@]}" --rounds 1 --seconds 1 "${sizes[@]}" get >/dev/null
fi
serve mainstay "${MAINSTAY:-$target/release/kube-apiserver}"
[ -z "$upstream" ] || servers=("${servers[@]:2:2}" "${servers[@]:0:2}") # apibench's ratios are relative to the first server
"$apibench" --insecure "${servers[@]}" --json "$out/report.json" --plot "$out/chart.svg" "$@"
