"""Builds packages from the programs of a release.

    python3 tools/package DIST [KIND...]

DIST is the output of `cargo xtask dist`: kube-apiserver-linux-ARCH and the licences. Without KIND, all packages are built.
A package whose tool is missing is skipped with a message. The files depend only on the programs, the commit and DIST_URL,
the address that the files will be downloaded from.
"""

import pathlib
import sys

import archive
import envtest
import helm
import homebrew
import image
import linux
import modules
import npm
import provenance
import release
import wheel

KINDS = {
    "archive": archive.build, "linux": linux.build, "image": image.build, "envtest": envtest.build, "wheel": wheel.build,
    "npm": npm.build, "modules": modules.build, "helm": helm.build, "homebrew": homebrew.build,
    "provenance": provenance.build,
}


def main():
    if len(sys.argv) < 2 or not set(sys.argv[2:]) <= KINDS.keys():
        sys.exit(f"{__doc__}\nKinds: {', '.join(KINDS)}")
    dist, facts = pathlib.Path(sys.argv[1]), release.load()
    for kind in sys.argv[2:] or KINDS:
        try:
            for path in KINDS[kind](facts, dist):
                print(f"{kind}: {path.name}, {path.stat().st_size / 2**20:.1f} MiB")
        except release.Skipped as reason:
            print(f"{kind}: SKIPPED, {reason}")


if __name__ == "__main__":
    main()
