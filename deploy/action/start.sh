#!/usr/bin/env bash
# Downloads a release, starts its server, and waits until it is ready. Part of action.yml, which sets VERSION, URL and FLAGS.
set -euo pipefail

seconds_max=60
case $(uname -m) in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) echo "::error::no release is built for $(uname -m)"; exit 1 ;;
esac
work=$(mktemp -d "$RUNNER_TEMP/mainstay.XXXXXX")
name=mainstay-$VERSION-linux-$arch
for file in "$name.tar.gz" SHA256SUMS; do
  curl --fail --silent --show-error --location --retry 3 --output "$work/$file" "$URL/$file"
done
(cd "$work" && grep " $name.tar.gz\$" SHA256SUMS | sha256sum --check --quiet && tar -xzf "$name.tar.gz")

# The server must outlive this step, so it gets a session of its own.
read -ra flags <<<"$FLAGS"
setsid "$work/$name/kube-apiserver" "${flags[@]}" >"$work/ready" 2>"$work/log" </dev/null &
server=$!
for ((i = 0; i < seconds_max * 10; i++)); do
  kubeconfig=$(sed -n 's/^export KUBECONFIG=//p' "$work/ready")
  if [ -n "$kubeconfig" ]; then
    echo "KUBECONFIG=$kubeconfig" >>"$GITHUB_ENV"
    printf 'kubeconfig=%s\npid=%s\n' "$kubeconfig" "$server" >>"$GITHUB_OUTPUT"
    echo "$work/$name" >>"$GITHUB_PATH"
    exit 0
  fi
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
echo "::error::the server did not start: $(tail -1 "$work/log")"
exit 1
