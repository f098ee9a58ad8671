#!/usr/bin/env python3
"""Generates the table of API descriptions that the k8s-openapi crate lacks.

    (cd UPSTREAM && go run ./pkg/generated/openapi/cmd/models-schema) > MODELS.json
    cargo xtask generate descriptions UPSTREAM/api/openapi-spec/swagger.json MODELS.json

UPSTREAM is a checkout of the release that Mainstay follows. The crate is generated from UPSTREAM's
swagger.json, which lacks the values of enumerations; a server adds them. The crate also has its own texts
for lists and watch events. It has no types for query options, nor for types that this release serves only
when it emulates an earlier one. The table contains these texts:

- "types": definitions by name, each with the texts of its members; the definition's own text is under "".
- "enums": a suffix, and the members whose text it follows.
"""
import json
import sys

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
CORE = "io.k8s.api.core.v1."
# Types of query parameters.
OPTIONS = (
    [META + name + "Options" for name in ("Create", "Delete", "Get", "List", "Patch", "Update")]
    + [CORE + "Pod" + name + "Options" for name in ("Attach", "Exec", "Log", "PortForward", "Proxy")]
    + [CORE + name + "ProxyOptions" for name in ("Node", "Service")]
)
# Types that this release serves only when it emulates an earlier release.
REMOVED = ["io.k8s.api.admissionregistration.v1beta1.ValidatingAdmissionPolicy" + end for end in ("List", "BindingList")] + [
    "io.k8s.api.certificates.v1alpha1.ClusterTrustBundleList",
    "io.k8s.api.networking.v1beta1.IPAddressList",
    "io.k8s.api.networking.v1beta1.ServiceCIDRList",
    "io.k8s.api.storage.v1beta1.VolumeAttributesClassList",
]
# Left out, because their texts are the same in every type.
TYPE_META = ("apiVersion", "kind")


def texts(definition):
    """Returns the descriptions of a definition (under "") and of its members, by name."""
    members = {"": definition} | definition.get("properties", {})
    return {name: member.get("description", "") for name, member in members.items()}


def is_list(definition):
    members = definition.get("properties", {})
    return "items" in members and members.get("metadata", {}).get("$ref", "").endswith(".ListMeta")


def reached(names, definitions):
    """Returns the named definitions and all that they refer to."""
    found = set()
    while names:
        name = names.pop()
        if name not in found:
            found.add(name)
            members = definitions[name].get("properties", {}).values()
            parts = [part for member in members for part in (member, member.get("items", {}), *member.get("allOf", []))]
            names += [part["$ref"].rsplit("/", 1)[-1] for part in parts if "$ref" in part]
    return found


def main():
    with open(sys.argv[2], encoding="utf-8") as served:
        served = json.load(served)["definitions"]
    with open(sys.argv[1], encoding="utf-8") as published:
        published = json.load(published)["definitions"]
    types, enums = {}, {}
    lists = [name for name in published if is_list(published[name])]
    removed = reached(list(REMOVED), served) - set(published)
    for name in sorted(lists + [META + "WatchEvent"] + OPTIONS + list(removed)):
        types[name] = {member: text for member, text in texts(served[name]).items() if member not in TYPE_META}
    for name in sorted(set(published) - set(types)):
        base = texts(published[name])
        for member, text in texts(served[name]).items():
            if text != base[member]:
                assert text.startswith(base[member]), (name, member)
                enums.setdefault(text[len(base[member]) :], []).append(f"{name}.{member}")
    enums = [{"text": text, "members": members} for text, members in enums.items()]
    json.dump({"types": types, "enums": enums}, sys.stdout, indent=1, sort_keys=True, ensure_ascii=False)
    print()


main()
