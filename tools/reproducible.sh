#!/usr/bin/env bash
# Builds the checked-out commit in two folders and compares the programs byte by byte. Takes as long as two `make dist`.
#
#   tools/reproducible.sh
#
# PROGRAMS: the programs to compare (both). PROFILE: a PGO profile, for a build of which it is the profile.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
flags=
[ -z "${PROFILE:-}" ] || flags=$("$root/tools/profile-flags.sh" "$PROFILE")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Folders of different lengths, because a path in a program could shift its content.
first=$work/a second=$work/second-folder
for folder in "$first" "$second"; do
  git clone --quiet --no-hardlinks "$root" "$folder"
  git -C "$folder" checkout --quiet "$(git -C "$root" rev-parse HEAD)"
  # shellcheck disable=SC2086 # the flags are words
  "$folder/tools/static-build.sh" "$folder/target" $flags >"$folder/built"
done
differ=0
for program in ${PROGRAMS:-kube-apiserver apibench}; do
  a=$(cat "$first/built")/$program b=$(cat "$second/built")/$program
  if cmp "$a" "$b"; then echo "$(sha256sum <"$a" | cut -d' ' -f1)  $program: identical"
  else
    differ=1
    echo "$program differs; paths in it:"
    strings "$a" | grep -F -e "$work" -e "$HOME/" | head -20 || true
  fi
done
exit "$differ"
