#!/usr/bin/env bash
# Provides programs for the tests: etcd, etcdctl, kubectl and haproxy in target/tools/bin, and an OpenID provider from
# PyPI in target/tools/oidc. With npm on PATH also axe-core, which checks the accessibility of pages. With java, javac and mvn
# on PATH also the Java clients, in target/tools/java; the tests skip them if Maven cannot fetch them.
#
#   tools/fetch-tools.sh            all tools
#   tools/fetch-tools.sh etcd ...   only the named tools
#   tools/fetch-tools.sh etcd-3.7 nfpm setup-envtest actionlint helm cosign
#                                   only on request: builds them with Go, because Debian does not have them
#   tools/fetch-tools.sh clean-root only on request: a root directory of Debian packages in target/tools/clean-root, without
#                                   compilers (e2e/quickstarts)
#
# An existing tool is left unchanged, so a second run needs no network. Otherwise the script links the tool on PATH.
# If there is none, it downloads the tool's Debian package with apt under a private root: nothing is installed, root is
# not needed, and apt checks the signatures. The package comes from the archive of the machine's own apt configuration,
# or from DEBIAN_MIRROR. Its suite is DEBIAN_SUITE, because the machine's suite may be too old to have the package.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dir="${CARGO_TARGET_DIR:-$root/target}/tools"
tools_suite=${DEBIAN_SUITE:-trixie}
oidc_version=0.3.4
axe_version=4.14.1
etcd_module=go.etcd.io/etcd/server/v3@v3.7.3
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

die() { echo "tools/fetch-tools.sh: $*" >&2; exit 1; }

# Prints the Go module and version of a program that `go install` builds. Go verifies the checksum.
go_program_of() {
  case $1 in
    nfpm) echo github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.48.0 ;;
    setup-envtest) echo sigs.k8s.io/controller-runtime/tools/setup-envtest@v0.25.1 ;;
    actionlint) echo github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 ;;
    helm) echo helm.sh/helm/v3/cmd/helm@v3.19.4 ;;
    cosign) echo github.com/sigstore/cosign/v3/cmd/cosign@v3.1.3 ;;
  esac
}

package_of() {
  case $1 in
    etcd) echo etcd-server ;;
    etcdctl) echo etcd-client ;;
    kubectl) echo kubectl ;;
    haproxy) echo haproxy ;;
    oidc | java | axe | clean-root | etcd-3.7 | nfpm | setup-envtest | actionlint | helm | cosign) ;;
    *) die "unknown tool $1" ;;
  esac
}

# Go programs are static and run on every release. haproxy needs the C library of its suite, so it comes from the
# machine's suite.
suite_of() {
  case $1 in
    haproxy) (. /etc/os-release && echo "${VERSION_CODENAME:-$tools_suite}") ;;
    *) echo "$tools_suite" ;;
  esac
}

# Prints the library packages that the given packages depend on.
libraries_of() { apt_here apt-cache depends "$@" 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^lib/ { print $2 }' | sort -u; }

# Runs an apt program on the private root with a single package source.
apt_here() {
  local program=$1; shift
  APT_CONFIG=/dev/null "$program" -q -o Dir::State="$dir/apt/state" -o Dir::State::status="$dir/apt/status" \
    -o Dir::Cache="$dir/apt/cache" -o Dir::Etc::sourcelist="$dir/apt/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -o Acquire::Retries=3 -o Acquire::Languages=none \
    -o APT::Sandbox::User="$(id -un)" "$@"
}

# Prints the URI of the machine's Debian archive, without the updates and security suites.
configured_mirror() {
  # shellcheck disable=SC2016 # apt-get expands these
  apt-get indextargets --format '$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)' 'Created-By: Packages' |
    awk -F'|' '($1 == "Debian" || $2 ~ /debian/) && $3 !~ /-/ && $4 == "main" { print $2; exit }'
}

prepare_apt() {
  local mirror=${DEBIAN_MIRROR:-$(configured_mirror)} suite=$1
  [ -n "$mirror" ] || die "apt has no Debian archive configured; set DEBIAN_MIRROR to one"
  mkdir -p "$dir/apt/state/lists/partial" "$dir/apt/cache/archives/partial"
  : >"$dir/apt/status"
  echo "deb [signed-by=$keyring] $mirror $suite main" >"$dir/apt/sources.list"
  apt_here apt-get update >"$dir/apt/log" 2>&1 || { cat "$dir/apt/log" >&2; die "apt-get update failed for $mirror $suite"; }
}

# Downloads a package and unpacks its files under $dir/pkg/PACKAGE.
unpack() {
  local package=$1 deb work
  work=$(mktemp -d "$dir/apt/work.XXXXXX")
  (cd "$work" && apt_here apt-get download "$package" >>"$dir/apt/log" 2>&1) || { tail -5 "$dir/apt/log" >&2; die "download of $package failed"; }
  deb=$(echo "$work"/*.deb)
  mkdir "$work/root"
  if command -v dpkg >/dev/null; then dpkg -x "$deb" "$work/root"
  else (cd "$work" && ar x "$deb" && tar -xf data.tar.* -C root); fi
  rm -rf "$dir/pkg/$package"
  mkdir -p "$dir/pkg"
  mv "$work/root" "$dir/pkg/$package"
  rm -rf "$work"
}

# Prints the shared libraries of a program that are missing on this machine and in the given directories.
missing_libraries() { LD_LIBRARY_PATH=${2:-} ldd "$1" 2>/dev/null | awk '/not found/ { print $1 }'; }

link_from_path() {
  local found
  found=$(command -v "$1") || return 1
  ln -sfn "$(readlink -f "$found")" "$dir/bin/$1"
}

fetch() {
  local tool=$1 suite package missing program library libraries
  package=$(package_of "$tool")
  command -v apt-get >/dev/null || die "no $tool on PATH and no apt-get to fetch it with; install $tool and run again"
  [ -f "$keyring" ] || die "no $tool on PATH and no $keyring to verify a download with; install $tool and run again"
  suite=$(suite_of "$tool")
  grep -qs " $suite main" "$dir/apt/sources.list" && [ -n "$(ls "$dir/apt/state/lists" 2>/dev/null | grep Packages || true)" ] || prepare_apt "$suite"
  unpack "$package"
  program=$(find "$dir/pkg/$package/usr" -path "*bin/$tool" | head -1)
  libraries=
  if [ -n "$(missing_libraries "$program")" ]; then
    # Two levels of dependencies: some libraries need another one.
    for library in $(libraries_of "$package" $(libraries_of "$package")); do
      dpkg -s "$library" >/dev/null 2>&1 && continue
      unpack "$library"
      libraries="$libraries:$(dirname "$(find "$dir/pkg/$library" -name '*.so.*' | head -1)")"
    done
  fi
  missing=$(missing_libraries "$program" "${libraries#:}")
  [ -z "$missing" ] || die "$tool from Debian $suite needs libraries that this machine lacks: $missing"
  if [ -z "$libraries" ]; then ln -sfn "../pkg/${program#"$dir/pkg/"}" "$dir/bin/$tool"
  else
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "${libraries#:}" "$program" >"$dir/bin/$tool"
    chmod +x "$dir/bin/$tool"
  fi
}

# Creates a Python virtual environment with an OpenID provider.
fetch_oidc() {
  command -v python3 >/dev/null || die "no python3 on PATH; the tests' OpenID provider needs it"
  rm -rf "$dir/oidc.new" && python3 -m venv "$dir/oidc.new" && "$dir/oidc.new/bin/pip" -q install "oidc-provider-mock==$oidc_version" ||
    die "installation of the tests' OpenID provider from PyPI failed"
  rm -rf "$dir/oidc" && mv "$dir/oidc.new" "$dir/oidc"
}

# Downloads the script of axe-core. npm verifies its checksum.
fetch_axe() {
  local work
  command -v npm >/dev/null || { echo "no npm on PATH: the tests skip the accessibility of the console"; return 0; }
  work=$(mktemp -d)
  (cd "$work" && npm pack --silent "axe-core@$axe_version" && tar -xzf axe-core-*.tgz package/axe.min.js) >/dev/null ||
    die "download of axe-core from npm failed"
  mv "$work/package/axe.min.js" "$dir/axe.min.js"
  rm -rf "$work"
}

# Downloads the clients of e2e/java and their dependencies.
fetch_java() {
  local program
  for program in java javac mvn; do
    command -v "$program" >/dev/null || { echo "no $program on PATH: the tests skip the Java clients"; return 0; }
  done
  rm -rf "$dir/java.new"
  timeout 240 mvn --batch-mode --quiet -f "$root/e2e/java/pom.xml" dependency:copy-dependencies \
    -DoutputDirectory="$dir/java.new" || { echo "Maven cannot fetch the Java clients: the tests skip them"; return 0; }
  mv "$dir/java.new" "$dir/java"
}

# Builds etcd from its Go module, whose checksum Go verifies. `go install` refuses modules with replacements, so a module
# of its own depends on it.
build_etcd() {
  local work
  command -v go >/dev/null || die "no go on PATH; it builds etcd 3.7"
  work=$(mktemp -d)
  (cd "$work" && go mod init etcd && go get "$etcd_module" && go build -o etcd "${etcd_module%@*}") >"$dir/etcd-3.7.log" 2>&1 ||
    { tail -5 "$dir/etcd-3.7.log" >&2; die "the build of $etcd_module failed"; }
  mv "$work/etcd" "$dir/bin/etcd-3.7"
  rm -rf "$work" "$dir/etcd-3.7.log"
}

# Unpacks the packages of a system with Python and Java. The packages' scripts do not run, so the links that they create are
# made here.
fetch_clean_root() {
  local new=$dir/clean-root.new deb java
  command -v dpkg >/dev/null || die "no dpkg on PATH; it unpacks the clean root"
  prepare_apt "$tools_suite"
  apt_here apt-get install --yes --download-only --no-install-recommends -o Debug::NoLocking=1 base-files bash \
    ca-certificates coreutils dash findutils grep gzip libc-bin mawk openjdk-21-jre-headless openssl python3 python3-venv sed tar >>"$dir/apt/log" 2>&1 ||
    { tail -5 "$dir/apt/log" >&2; die "download of the clean root's packages failed"; }
  rm -rf "$new" && mkdir -p "$new"
  dpkg -x "$dir"/apt/cache/archives/base-files_*.deb "$new"
  for deb in "$dir"/apt/cache/archives/*.deb; do dpkg -x "$deb" "$new"; done
  for java in "$new"/usr/lib/jvm/*/bin/java; do ln -sfn "../lib/${java##*/usr/lib/}" "$new/usr/bin/java"; done
  ln -sfn mawk "$new/usr/bin/awk"
  cat "$new"/usr/share/ca-certificates/mozilla/*.crt >"$new/etc/ssl/certs/ca-certificates.crt"
  printf 'root:x:0:0::/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n' >"$new/etc/passwd"
  printf 'root:x:0:\nuser:x:1000:\n' >"$new/etc/group"
  printf '127.0.0.1 localhost\n' >"$new/etc/hosts"
  rm -rf "$dir/clean-root" && mv "$new" "$dir/clean-root"
}

mkdir -p "$dir/bin"
# A lock serializes runs, because tests of several crates may start concurrently.
if command -v flock >/dev/null; then exec 9>"$dir/.lock"; flock 9; fi
[ $# -gt 0 ] || set -- etcd etcdctl kubectl haproxy oidc axe java
for tool in "$@"; do
  package_of "$tool" >/dev/null
  if [ "$tool" = oidc ]; then
    [ -x "$dir/oidc/bin/python" ] || fetch_oidc
    continue
  fi
  if [ "$tool" = axe ]; then
    [ -f "$dir/axe.min.js" ] || fetch_axe
    continue
  fi
  if [ "$tool" = java ]; then
    [ -d "$dir/java" ] || fetch_java
    continue
  fi
  if [ "$tool" = clean-root ]; then
    [ -d "$dir/clean-root" ] || fetch_clean_root
    continue
  fi
  if [ "$tool" = etcd-3.7 ]; then
    [ -x "$dir/bin/etcd-3.7" ] || build_etcd
    continue
  fi
  if [ -n "$(go_program_of "$tool")" ]; then
    [ -x "$dir/bin/$tool" ] || link_from_path "$tool" || GOBIN=$dir/bin go install "$(go_program_of "$tool")" || die "the build of $tool failed"
    continue
  fi
  [ -x "$dir/bin/$tool" ] || link_from_path "$tool" || fetch "$tool"
done
# Only the unpacked files stay. The package index is large and goes stale.
rm -rf "$dir/apt"
