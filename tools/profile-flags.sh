#!/usr/bin/env bash
# Prints rustc's flags for a PGO build with a profile of tools/profile.sh.
#
#   tools/profile-flags.sh FILE
#
# -disable-icp turns off promotion of indirect calls to direct ones. With promotion, LLVM inlines tasks into the runtime's loop
# that polls all tasks, and the register allocation of that function takes more than half an hour.
set -euo pipefail

[ -f "$1" ] || { echo "tools/profile-flags.sh: no profile $1" >&2; exit 1; }
echo "-Cprofile-use=$(realpath "$1") -Cllvm-args=-disable-icp"
