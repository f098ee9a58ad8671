"""The operator, who verifies a release and runs replicas on etcd."""

PAGES = ("docs/verify.md", "docs/start/operator.md")


def prepare(inputs):
    for name in ("etcd", "etcdctl", "kubectl"):
        inputs.tool(name)
    return {"ETCDCTL_API": "3"}
