#!/usr/bin/env python3
"""Rewrites the table in pkg/kinds/src/printers/descriptions.rs from upstream's sources.

    column-descriptions.py KUBERNETES [FILE]

KUBERNETES is a checkout of k8s.io/kubernetes at the release that is followed. Its printers
(pkg/printers/internalversion/printers.go) define the columns of every kind; each is described in words
or as a member of an API type is. What comes before the table in FILE stays as it is.
"""
import json
import pathlib
import re
import sys

# The kinds whose words are built in, from their descriptions in OpenAPI.
TYPES = "pkg/api/build/types.rs"
FILE = "pkg/kinds/src/printers/descriptions.rs"
TABLE_BEGINS = "/// Group, resource and columns, sorted.\n"
# Groups whose name is not that of their package with or without .k8s.io behind it.
GROUPS = {
    "core": "",
    "apps": "apps",
    "autoscaling": "autoscaling",
    "batch": "batch",
    "policy": "policy",
    "rbac": "rbac.authorization.k8s.io",
    "flowcontrol": "flowcontrol.apiserver.k8s.io",
    "apiserverinternal": "internal.apiserver.k8s.io",
}
# Columns that have a constant of their own in the file.
NAMED = {
    'Member("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "name")': "NAME",
    'Member("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "creationTimestamp")': "AGE",
    'Words("Names of each container in the template.")': "CONTAINERS",
    'Words("Images referenced by each container in the template.")': "IMAGES",
}
MEMBER = r'(\w+)\.(\w+)\{\}\.SwaggerDoc\(\)\["(\w*)"\]'
# A description that names a type by a member which has it.
OF_A_MEMBER = {
    'apiv1.Event{}.InvolvedObject.SwaggerDoc()["fieldPath"]':
        'apiv1.ObjectReference{}.SwaggerDoc()["fieldPath"]',
}
# A Scale is a constant of its own, a Status a function; a CSIStorageCapacity is shown with the columns
# that anything has, whatever the printers say.
LEFT_OUT = {"Scale", "Status", "CSIStorageCapacity"}
# Defined elsewhere: k8s.io/kube-aggregator/pkg/registry/apiservice/etcd.
API_SERVICES = [
    "NAME",
    'Words("The reference to the service that hosts this API endpoint.")',
    'Words("Whether this service is available.")',
    "AGE",
]


def plural(kind):
    """The resource of a kind."""
    name = kind.lower()
    if name == "endpoints":
        return name
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("s", "x", "ch")) else "s")


class Upstream:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.text = self.read("pkg/printers/internalversion/printers.go")
        self.imports = {}
        for alias, path in re.findall(r'^\t(?:(\w+) )?"([\w./-]+)"$', self.text, re.M):
            self.imports[alias or path.rsplit("/", 1)[-1]] = path

        types = pathlib.Path(TYPES).read_text(encoding="utf-8")
        modules = re.findall(r"^    ([\w:]+): ([\w\s]+);$", types, re.M)
        self.described = {module.replace("::", "/"): kinds.split() for module, kinds in modules}

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def documentation(self, package, kind, member):
        """What the generated documentation of a type says of a member; empty if it does not know it."""
        docs = self.read(f"staging/src/{package}/types_swagger_doc_generated.go")
        found = re.search(r"var map_%s = map\[string\]string\{\n(.*?)\n\}" % kind, docs, re.S)
        words = found and re.search(r'^\t"%s":\s+("(?:[^"\\]|\\.)*"),$' % member, found.group(1), re.M)
        return json.loads(words.group(1)) if words else ""

    def column(self, description):
        member = re.fullmatch(MEMBER, OF_A_MEMBER.get(description, description))
        if not member:
            return f"Words({json.dumps(json.loads(description), ensure_ascii=False)})"
        alias, kind, name = member.groups()
        package = self.imports[alias]
        words = self.documentation(package, kind, name)
        # Versions that are not served any more have no definition; the stable one may say the same.
        for package in [package, re.sub(r"/v1\w+$", "/v1", package)]:
            definition = "io." + package.replace("k8s.io", "k8s", 1).replace("/", ".") + "." + kind
            if self.is_described(package, kind) and self.documentation(package, kind, name) == words != "":
                return f'Member("{definition}", "{name}")'
        return f"Words({json.dumps(words, ensure_ascii=False)})"

    def is_described(self, package, kind):
        """Whether the words for a type are built in: its package is, and so is the kind that it is of."""
        root = re.sub("(Spec|Status)$", "", kind)
        of_package = self.described.get(package.removeprefix("k8s.io/"), "")
        elsewhere = any(root in kinds for kinds in self.described.values())
        return bool(of_package) and (root in of_package or not elsewhere)

    def tables(self):
        """Group and resource to columns."""
        definitions = {}
        blocks = r"^\t(\w+) := \[\]metav1\.TableColumnDefinition\{\n(.*?)\n\t\}"
        text = re.sub(r"(\w+) = append\(\1, (?=\[\])", r"\1 := ", self.text)
        for name, block in re.findall(blocks, text, re.M | re.S):
            rows = re.findall(r'Description: ("(?:[^"\\]|\\.)*"|[\w.{}()]+\["[^"]*"\])', block)
            definitions.setdefault(name, []).extend(self.column(row) for row in rows)
        found = {}
        for name, function in re.findall(r"h\.TableHandler\((\w+), (\w+)\)", self.text):
            signature = re.search(r"^func %s\(\w+ \*(\w+)\.(\w+)," % function, self.text, re.M)
            alias, kind = signature.groups()
            if kind in LEFT_OUT or kind.endswith("List"):
                continue
            package = self.imports[alias].rsplit("/", 1)[1]
            found[GROUPS.get(package, f"{package}.k8s.io"), plural(kind)] = definitions[name]
        found["events.k8s.io", "events"] = found["", "events"]
        found["apiregistration.k8s.io", "apiservices"] = API_SERVICES
        return found


def main():
    upstream = Upstream(sys.argv[1])
    path = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else FILE)
    head, _ = path.read_text(encoding="utf-8").split(TABLE_BEGINS)
    tables = sorted(upstream.tables().items())
    lines = [head + TABLE_BEGINS + "#[rustfmt::skip]"]
    lines.append(f"static COLUMNS: [(&str, &str, &[Column]); {len(tables)}] = [")
    for (group, resource), columns in tables:
        lines.append(f'    ("{group}", "{resource}", &[')
        lines += [f"            {NAMED.get(column, column)}," for column in columns]
        lines.append("    ]),")
    lines.append("];\n")
    path.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
