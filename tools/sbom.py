#!/usr/bin/env python3
"""Writes the release's bill of materials (CycloneDX 1.5 and SPDX 2.3) and the licences of third parties.

    tools/sbom.py SBOM.cdx.json SBOM.spdx.json LICENSES.txt

All follow from Cargo.lock and the crates' sources in cargo's registry. They cover the crates that the programs are built
from, without those that only tests or other systems need. Two runs over one commit give the same bytes. A crate
without a licence in its manifest is an error. A crate without a licence file is listed with its licence expression.

Crates of this repository have no package URL, because they are not on crates.io: a scanner would take one for the crate that
has this name there.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools/package"))
import release  # noqa: E402

SERVER = "kube-apiserver"
PROGRAMS = (SERVER, "apibench")
# Names of licence files in crates.
LICENSE_FILES = re.compile(r"^(licen[sc]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def metadata():
    host = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout)
    return json.loads(cargo("metadata", "--format-version=1", "--locked", f"--filter-platform={host.group(1)}"))


def built_into(data):
    """Returns the server's ID, and the dependencies of each package that the programs are built from, by ID."""
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    ids = {p["name"]: p["id"] for p in data["packages"] if p["source"] is None}
    seen, todo = {}, [ids[name] for name in PROGRAMS]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        # Kind null is a normal dependency. Build dependencies count, because code generators put code into the binary.
        needs = [d["pkg"] for d in nodes[at]["deps"] if any(k["kind"] in (None, "build") for k in d["dep_kinds"])]
        seen[at] = sorted(set(needs))
        todo += needs
    return ids[SERVER], seen


def checksums():
    """Returns the checksums in Cargo.lock by package name and version."""
    lock = (ROOT / "Cargo.lock").read_text()
    found = re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]+)"', lock)
    return {(name, version): checksum for name, version, checksum in found}


def is_published(package):
    return package["source"] is not None


def reference(package):
    name = f"{package['name']}@{package['version']}"
    return f"pkg:cargo/{name}" if is_published(package) else f"mainstay:{name}"


def expression(package):
    """Returns the licence expression. Old manifests use a slash for "or"."""
    return package["license"].replace("/", " OR ")


def component(package, sums):
    made = {
        "type": "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "licenses": [{"expression": expression(package)}],
    }
    if is_published(package):
        made["purl"] = reference(package)
    else:
        made["group"] = "mainstay"
    checksum = sums.get((package["name"], package["version"]))
    if checksum:
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package.get("repository"):
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def cyclonedx(facts, first, built, packages, sums):
    server = component(packages[first], sums) | {"type": "application", "version": facts.git_version}
    others = sorted((packages[i] for i in built if i != first), key=lambda p: (p["name"], p["version"]))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": facts.date, "component": server},
        "components": [component(p, sums) for p in others],
        "dependencies": [
            {"ref": reference(packages[i]), "dependsOn": sorted(reference(packages[n]) for n in needs)}
            for i, needs in sorted(built.items(), key=lambda item: reference(packages[item[0]]))
        ],
    }


def spdx_id(package):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{package['name']}-{package['version']}")


def spdx_package(package, sums):
    made = {
        "SPDXID": spdx_id(package), "name": package["name"], "versionInfo": package["version"],
        "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "copyrightText": "NOASSERTION",
        "licenseConcluded": "NOASSERTION", "licenseDeclared": expression(package),
    }
    if is_published(package):
        made["downloadLocation"] = f"https://static.crates.io/crates/{package['name']}/{package['version']}/download"
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                 "referenceLocator": reference(package)}]
    checksum = sums.get((package["name"], package["version"]))
    if checksum:
        made["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
    return made


def spdx(facts, first, built, packages, sums):
    made = [spdx_package(packages[i], sums) for i in sorted(built, key=lambda i: spdx_id(packages[i]))]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", spdx_id(packages[first]))]
    for i in sorted(built, key=lambda i: spdx_id(packages[i])):
        relations += [(spdx_id(packages[i]), "DEPENDS_ON", spdx_id(packages[n])) for n in built[i]]
    digest = hashlib.sha256(json.dumps(made).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"kube-apiserver {facts.git_version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/mainstay-{facts.version}-{digest}",
        "creationInfo": {"created": facts.date, "creators": [f"Tool: mainstay-sbom-{facts.version}"]},
        "packages": made,
        "relationships": [
            {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": other} for subject, kind, other in relations
        ],
    }


def license_texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENSE_FILES.match(path.name))
    named = package.get("license_file")
    if named and folder / named not in files:
        files.append(folder / named)
    return [path.read_text(errors="replace").strip() for path in files]


def write_licenses(packages, path):
    """Writes the licences. Identical texts appear once, with all crates that have them."""
    by_text = {}
    for package in filter(is_published, packages):
        for text in license_texts(package) or [f"(The sources have no licence file. Licence in the manifest: {package['license']}.)"]:
            of = by_text.setdefault(hashlib.sha256(text.encode()).hexdigest(), (text, []))
            of[1].append(f"{package['name']} {package['version']} ({package['license']})")
    with open(path, "w") as out:
        out.write("Licences of the software that this server is built from.\n")
        for text, users in sorted(by_text.values(), key=lambda entry: entry[1]):
            out.write("\n" + "=" * 100 + "\n" + "\n".join(sorted(set(users))) + "\n" + "-" * 100 + "\n" + text + "\n")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    data, sums, facts = metadata(), checksums(), release.load()
    packages = {p["id"]: p for p in data["packages"]}
    first, built = built_into(data)
    everything = sorted((packages[i] for i in built), key=lambda p: (p["name"], p["version"]))
    unlicensed = [reference(p) for p in everything if not p["license"] and not p["license_file"]]
    if unlicensed:
        sys.exit(f"no licence in the manifests of {', '.join(unlicensed)}")
    for package in everything:
        package["license"] = package["license"] or "LicenseRef-in-its-file"
    for path, write in [(sys.argv[1], cyclonedx), (sys.argv[2], spdx)]:
        pathlib.Path(path).write_text(json.dumps(write(facts, first, built, packages, sums), indent=1) + "\n")
    write_licenses(everything, sys.argv[3])


main()
