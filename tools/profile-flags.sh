#!/usr/bin/env bash
# Prints rustc's flags for a build by a profile that tools/profile.sh made.
#
#   tools/profile-flags.sh FILE
#
# Calls through tables are left as they are. Promoted to direct ones, tasks are inlined into the loop of the runtime that calls
# every one of them, and LLVM is not done with the registers of that function after half an hour.
set -euo pipefail

[ -f "$1" ] || { echo "tools/profile-flags.sh: there is no profile $1" >&2; exit 1; }
echo "-Cprofile-use=$(realpath "$1") -Cllvm-args=-disable-icp"
