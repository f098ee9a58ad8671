"""provenance.intoto.json: an in-toto statement with SLSA provenance about all files of the release.

BUILDER_ID is the URI of the build platform. The statement proves nothing by itself: its signature does (tools/sign.sh, or the
attestation of the release workflow).
"""

import hashlib
import json
import os
import re
import subprocess
import sys

import release

NAME = "provenance.intoto.json"
# Files that are made after the statement.
LATER = {NAME, "SHA256SUMS", "SHA256SUMS.minisig", "SHA256SUMS.sigstore.json"}


def digest(path):
    return {"sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def statement(facts, files):
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    # Without credentials, which the URL of a clone can contain.
    source = re.sub("//[^/@]*@", "//", release.git("remote", "get-url", "origin")) or "file:."
    dependencies = [
        {"uri": f"git+{source}@{facts.commit}", "digest": {"gitCommit": facts.commit}},
        {"uri": "file:Cargo.lock", "digest": digest(release.ROOT / "Cargo.lock")},
        {"uri": f"pkg:generic/rust@{compiler}"},
    ]
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": path.name, "digest": digest(path)} for path in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:mainstay:cargo-xtask-dist:1",
                "externalParameters": {"version": facts.git_version, "url": facts.url},
                "internalParameters": {"treeState": facts.tree_state, "sourceDateEpoch": facts.epoch},
                "resolvedDependencies": dependencies,
            },
            "runDetails": {"builder": {"id": os.environ.get("BUILDER_ID") or "urn:mainstay:local"}},
        },
    }


def check_commit(facts, dist):
    """Exits if a program is not from this commit, which it contains. It can come from another build (DIST_PROGRAMS)."""
    for path in release.programs(dist).values():
        if facts.commit.encode() not in path.read_bytes():
            sys.exit(f"{path}: not built from commit {facts.commit}")


def build(facts, dist):
    check_commit(facts, dist)
    files = sorted(path for path in dist.iterdir() if path.is_file() and path.name not in LATER)
    path = dist / NAME
    path.write_text(json.dumps(statement(facts, files), indent=1) + "\n")
    yield path
