#!/usr/bin/env python3
"""Checks a running kube-apiserver against section 1.2, "API Server", of the CIS Kubernetes Benchmark.

    tools/cis.py [--pid PID]

Reads the flags of the process from /proc, and the files that they name, also in a container. The user must be the user of
the process, or root. Without --pid, exactly one kube-apiserver must run.

Every check is met (PASS), explained (EXPLAIN: the requirement holds in another way) or failed (FAIL). The exit code is 1 if a
check failed, and 2 if the process cannot be read. Numbers are those of the edition for Kubernetes 1.23, the last one with all
32 checks; docs/hardening.md has the numbers of newer editions.
"""

import argparse
import dataclasses
import pathlib
import re
import sys

PASS, EXPLAIN, FAIL = "PASS", "EXPLAIN", "FAIL"
# Bytes of a configuration file that are read.
FILE_BYTES_MAX = 4 << 20
# Flags whose value is never the next argument.
BOOLEAN = {"anonymous-auth", "profiling", "service-account-lookup", "service-account-extend-token-expiration"}
# Suites of TLS 1.2 and 1.3 with forward secrecy and authenticated encryption. The names of upstream have two forms.
STRONG_SUITES = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    *(
        f"TLS_ECDHE_{key}_WITH_{suite}"
        for key in ("ECDSA", "RSA")
        for suite in ("AES_128_GCM_SHA256", "AES_256_GCM_SHA384", "CHACHA20_POLY1305", "CHACHA20_POLY1305_SHA256")
    ),
}
HEALTH_CHECKS = {"healthz", "livez", "readyz"}
ENCRYPTING = {"aescbc", "aesgcm", "kms", "secretbox"}


# Names of resources in a rule: an inline list, or one name per line.
RESOURCES = re.compile(r"resources\"?:\s*(\[[^][{}]*\]|(?:\s*-\s*[\"']?[\w.*/-]+[\"']?[ \t]*(?=\n|\Z))+)")


class Unreadable(Exception):
    """The process cannot be examined."""


@dataclasses.dataclass
class Finding:
    """Result of a check, and its reason."""

    status: str
    reason: str


class Process:
    """Flags and files of a process."""

    def __init__(self, proc, pid):
        self.root = proc / str(pid)
        try:
            words = (self.root / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError as error:
            raise Unreadable(f"process {pid}: {error.strerror}") from error
        program = pathlib.PurePath(words[0]).name
        if not program.startswith("kube-apiserver"):
            raise Unreadable(f"process {pid} is {program or 'not a program'}, and not kube-apiserver")
        self.flags = parse(words[1:])
        # Without etcd, the server uses its embedded store, and its defaults are safe.
        self.standalone = not self.text("etcd-servers")

    def text(self, name):
        """Returns the last value of a flag, or an empty text."""
        return self.flags.get(name, [""])[-1]

    def items(self, name):
        """Returns all values of a list."""
        return [item for value in self.flags.get(name, []) for item in value.split(",") if item]

    def path(self, name):
        """Returns the path of a flag's file as seen from here."""
        value = pathlib.PurePosixPath(self.text(name))
        if value.is_absolute():
            return self.root / "root" / value.relative_to("/")
        return self.root / "cwd" / value

    def content(self, name):
        """Returns the text of a flag's file, without comments."""
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return re.sub(r"(^|\s)#.*", "", file.read(FILE_BYTES_MAX))


def parse(words):
    """Returns the values of each flag."""
    flags = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("-"):
            continue
        name, has_value, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not has_value:
            if name in BOOLEAN or at == len(words) or words[at].startswith("-"):
                value = "true"
            else:
                value = words[at]
                at += 1
        flags.setdefault(name, []).append(value)
    return flags


def passed(reason):
    return Finding(PASS, reason)


def explained(reason):
    return Finding(EXPLAIN, reason)


def failed(reason):
    return Finding(FAIL, reason)


def require(condition, reason, fix):
    """Returns a finding with the reason if the condition holds, otherwise with what to change."""
    return passed(reason) if condition else failed(fix)


def is_false(value):
    return value.lower() in ("false", "f", "0")


def files(process, names, private=()):
    """Checks that all files are set and readable, and those in `private` only by their owner."""
    for name in names:
        if not process.text(name):
            return failed(f"set --{name}")
        try:
            mode = process.path(name).stat().st_mode
        except OSError as error:
            return failed(f"--{name}: {error.strerror}")
        if name in private and mode & 0o177:
            return failed(f"--{name}: mode {mode & 0o777:o}, must be 600")
    return passed(", ".join(f"--{name}" for name in names))


def anonymous(process):
    if is_false(process.text("anonymous-auth") or "true"):
        return passed("--anonymous-auth=false")
    if process.text("authentication-config"):
        return configured_anonymous(process.content("authentication-config"))
    if process.standalone and not authorization_flags(process):
        return explained("standalone: without credentials only /healthz, /livez and /readyz")
    return failed("set --anonymous-auth=false, or restrict paths in --authentication-config")


def configured_anonymous(text):
    section = re.search(r"^\"?anonymous\"?:(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if not section:
        return failed("--authentication-config has no anonymous section")
    section = section[1]
    if re.search(r"enabled\"?:\s*false", section):
        return passed("anonymous requests are disabled in --authentication-config")
    paths = re.findall(r"path\"?:\s*[\"']?(/[^\s\"',}]*)", section)
    other = [path for path in paths if path.split("/")[1] not in HEALTH_CHECKS]
    if other:
        return failed("--authentication-config permits anonymous requests to " + ", ".join(other))
    if "conditions" in section and paths:
        return explained("without credentials only " + ", ".join(paths))
    return failed("--authentication-config permits anonymous requests to all paths")


def authorization_flags(process):
    return process.items("authorization-mode") or process.text("authorization-config")


def authorizers(process):
    """Returns the names of the active authorizers."""
    if process.text("authorization-config"):
        return re.findall(r"^\s*(?:-\s*)?\"?type\"?:\s*[\"']?(\w+)", process.content("authorization-config"), re.MULTILINE)
    default = ["Node", "RBAC"] if process.standalone else ["AlwaysAllow"]
    return process.items("authorization-mode") or default


def authorizer(process, name):
    active = authorizers(process)
    return require(name in active, f"authorizers: {', '.join(active)}", f"add {name} to the authorizers")


def enabled(process, plugin):
    flag = "--enable-admission-plugins"
    return require(plugin in process.items(flag.lstrip("-")), f"{flag}={plugin}", f"add {plugin} to {flag}")


def not_disabled(process, plugin):
    flag = "--disable-admission-plugins"
    return require(plugin not in process.items(flag.lstrip("-")), f"{plugin} is on by default", f"remove {plugin} from {flag}")


def event_rate(process):
    found = enabled(process, "EventRateLimit")
    return found if found.status == FAIL else files(process, ["admission-control-config-file"])


def pod_security(process):
    found = not_disabled(process, "PodSecurity")
    if found.status == FAIL:
        return failed("PodSecurity is disabled")
    return explained("Kubernetes v1.30 removed the plugin; PodSecurity replaces it")


def number(process, name, default, least):
    """Checks that a flag is at least `least`, or 0 for no limit."""
    text = process.text(name) or str(default)
    value = int(text) if text.isdigit() else -1
    return require(value == 0 or value >= least, f"--{name}={text}", f"--{name} must be at least {least}, and is {text}")


def audit_log(process):
    if not process.text("audit-log-path"):
        return failed("set --audit-log-path")
    return files(process, ["audit-policy-file"])


def request_timeout(process):
    text = process.text("request-timeout") or "1m0s"
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    seconds = sum(int(part or 0) * unit for part, unit in zip(parts.groups(), (3600, 60, 1))) if parts else 0
    return require(0 < seconds <= 300, f"--request-timeout={text}", f"--request-timeout must be at most 300 s, and is {text}")


def token_lookup(process):
    enabled_lookup = not is_false(process.text("service-account-lookup") or "true")
    return require(enabled_lookup, "tokens of deleted accounts are rejected", "remove --service-account-lookup=false")


def token_keys(process):
    if process.text("service-account-signing-endpoint"):
        return explained("--service-account-signing-endpoint: the keys are in another process")
    if process.standalone and not process.text("service-account-key-file"):
        return explained("standalone: the server generates the key")
    private = [name for name in ["service-account-signing-key-file"] if process.text(name)]
    return files(process, ["service-account-key-file", *private], private)


def serving_certificate(process):
    if process.standalone and not process.text("tls-cert-file"):
        return explained("standalone: the server generates the certificate; its CA is in the kubeconfig")
    return files(process, ["tls-cert-file", "tls-private-key-file"], ["tls-private-key-file"])


def client_authority(process):
    if process.standalone and not process.text("client-ca-file"):
        return explained("standalone: the server generates the CA of its administrator")
    return files(process, ["client-ca-file"])


def etcd_files(process, names, private=()):
    if process.standalone:
        return explained("standalone: there is no etcd")
    return files(process, names, private)


def encryption(process):
    return files(process, ["encryption-provider-config"], ["encryption-provider-config"])


def providers(process):
    found = encryption(process)
    if found.status == FAIL:
        return found
    text = process.content("encryption-provider-config")
    first = re.findall(r"providers\"?:[\s\[{\-\"']*(\w+)", text)
    weak = sorted({provider for provider in first if provider not in ENCRYPTING})
    if not first or weak:
        return failed(f"the first provider must encrypt, and not be {', '.join(weak) or 'absent'}")
    covered = {name for names in RESOURCES.findall(text) for name in re.split(r"[\s\[\]\"',-]+", names)}
    covers = covered & {"secrets", "*.", "*.*"}
    return require(covers, f"first providers: {', '.join(first)}, for secrets", "no rule covers secrets")


def cipher_suites(process):
    chosen = process.items("tls-cipher-suites")
    weak = [suite for suite in chosen if suite not in STRONG_SUITES]
    if weak:
        return failed(f"--tls-cipher-suites has {', '.join(weak)}")
    if chosen:
        return passed("--tls-cipher-suites")
    return explained("the TLS library has no weak suites")


CHECKS = [
    ("1.2.1", "no anonymous requests", anonymous),
    ("1.2.2", "no token file", lambda p: require(not p.text("token-auth-file"), "not set", "remove --token-auth-file")),
    ("1.2.3", "DenyServiceExternalIPs", lambda p: enabled(p, "DenyServiceExternalIPs")),
    ("1.2.4", "TLS to kubelets", lambda p: explained("there is no flag to disable it")),
    (
        "1.2.5",
        "client certificate for kubelets",
        lambda p: files(p, ["kubelet-client-certificate", "kubelet-client-key"], ["kubelet-client-key"]),
    ),
    ("1.2.6", "CA of kubelets", lambda p: files(p, ["kubelet-certificate-authority"])),
    (
        "1.2.7",
        "authorization is not AlwaysAllow",
        lambda p: require(
            "AlwaysAllow" not in authorizers(p),
            f"authorizers: {', '.join(authorizers(p))}",
            "remove AlwaysAllow from the authorizers",
        ),
    ),
    ("1.2.8", "authorization includes Node", lambda p: authorizer(p, "Node")),
    ("1.2.9", "authorization includes RBAC", lambda p: authorizer(p, "RBAC")),
    ("1.2.10", "EventRateLimit", event_rate),
    (
        "1.2.11",
        "no AlwaysAdmit",
        lambda p: require(
            "AlwaysAdmit" not in p.items("enable-admission-plugins"),
            "AlwaysAdmit is off",
            "remove AlwaysAdmit from --enable-admission-plugins",
        ),
    ),
    ("1.2.12", "AlwaysPullImages", lambda p: enabled(p, "AlwaysPullImages")),
    ("1.2.13", "SecurityContextDeny", pod_security),
    ("1.2.14", "ServiceAccount", lambda p: not_disabled(p, "ServiceAccount")),
    ("1.2.15", "NamespaceLifecycle", lambda p: not_disabled(p, "NamespaceLifecycle")),
    ("1.2.16", "NodeRestriction", lambda p: enabled(p, "NodeRestriction")),
    (
        "1.2.17",
        "secure port",
        lambda p: require(p.text("secure-port") != "0", f"port {p.text('secure-port') or 6443}", "remove --secure-port=0"),
    ),
    (
        "1.2.18",
        "no profiling",
        lambda p: require(is_false(p.text("profiling") or "true"), "--profiling=false", "set --profiling=false"),
    ),
    ("1.2.19", "audit log", audit_log),
    ("1.2.20", "age of audit logs", lambda p: number(p, "audit-log-maxage", 366, 30)),
    ("1.2.21", "number of audit logs", lambda p: number(p, "audit-log-maxbackup", 100, 10)),
    ("1.2.22", "size of audit logs", lambda p: number(p, "audit-log-maxsize", 100, 100)),
    ("1.2.23", "request timeout", request_timeout),
    ("1.2.24", "lookup of service accounts", token_lookup),
    ("1.2.25", "keys of service accounts", token_keys),
    (
        "1.2.26",
        "client certificate for etcd",
        lambda p: etcd_files(p, ["etcd-certfile", "etcd-keyfile"], ["etcd-keyfile"]),
    ),
    ("1.2.27", "serving certificate", serving_certificate),
    ("1.2.28", "CA of clients", client_authority),
    ("1.2.29", "CA of etcd", lambda p: etcd_files(p, ["etcd-cafile"])),
    ("1.2.30", "encryption at rest", encryption),
    ("1.2.31", "encryption providers", providers),
    ("1.2.32", "strong cipher suites", cipher_suites),
]


def result(check, process):
    """Runs a check. A file that cannot be read fails it."""
    try:
        return check(process)
    except OSError as error:
        return failed(f"{error.filename}: {error.strerror}")


def running(proc):
    """Returns the process ID of the only kube-apiserver."""
    found = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            try:
                name = (entry / "cmdline").read_bytes().split(b"\0")[0]
            except OSError:
                continue
            if name.rsplit(b"/", 1)[-1] == b"kube-apiserver":
                found.append(int(entry.name))
    if len(found) != 1:
        raise Unreadable(f"{len(found)} processes are named kube-apiserver: choose one with --pid")
    return found[0]


def main():
    parser = argparse.ArgumentParser(description="Checks a running kube-apiserver against the CIS Kubernetes Benchmark.")
    parser.add_argument("--pid", type=int, help="process ID of the server")
    options = parser.parse_args()
    proc = pathlib.Path("/proc")
    try:
        process = Process(proc, options.pid if options.pid is not None else running(proc))
    except Unreadable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    counts = dict.fromkeys((PASS, EXPLAIN, FAIL), 0)
    for identifier, title, check in CHECKS:
        finding = result(check, process)
        counts[finding.status] += 1
        print(f"{identifier:<7} {finding.status:<8} {title:<33} {finding.reason}")
    print(f"{len(CHECKS)} checks: {counts[PASS]} met, {counts[EXPLAIN]} explained, {counts[FAIL]} failed")
    return 1 if counts[FAIL] else 0


if __name__ == "__main__":
    sys.exit(main())
