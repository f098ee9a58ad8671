//! Command line parsing.
#![allow(clippy::unwrap_used)]

use super::*;

fn parse(line: &str) -> Result<Flags, FlagError> {
    Flags::parse(line.split_whitespace().map(|word| word.replace("''", "")))
}

fn error(line: &str, expected: &str) {
    assert_eq!(parse(line).unwrap_err().to_string(), expected, "{line}");
}

#[test]
fn all_value_notations_are_accepted() {
    let check = |line: &str, name: &str, expected: &str| {
        assert_eq!(parse(line).unwrap().text(name), expected, "{line}")
    };
    check("--secure-port=1", "secure-port", "1");
    check("--secure-port 2", "secure-port", "2");
    check("--secure_port 3", "secure-port", "3");
    check("--secure-port=4 --secure-port=5", "secure-port", "5");
    check("", "secure-port", "6443");
    check("--v 2", "v", "2");
    check("-v 2", "v", "2");
    check("-v2", "v", "2");
    check("-v=2", "v", "2");
    check("--cert-dir ''", "cert-dir", "");
    check("--cert-dir=", "cert-dir", "");
    check("--cert-dir -x", "cert-dir", "-x");
    check("--version=raw", "version", "raw");
    check("--secure-port 0x10", "secure-port", "0x10");
}

#[test]
fn switch_value_needs_equals_sign() {
    let check = |line: &str, expected: bool| {
        assert_eq!(parse(line).unwrap().bool("allow-privileged"), expected, "{line}")
    };
    check("--allow-privileged", true);
    check("--allow-privileged=false", false);
    check("--allow-privileged=T", true);
    check("--allow-privileged --allow-privileged=0", false);
    check("", false);
    error("--allow-privileged false", "\"kube-apiserver\" does not take any arguments, got [\"false\"]");
    assert!(parse("-h").unwrap().bool("help"));
    assert!(parse("-hv3").unwrap().bool("help"));
    assert_eq!(parse("-hv3").unwrap().int("v"), 3);
}

#[test]
fn lists_accumulate_and_replace_the_default() {
    let check = |line: &str, name: &str, expected: &[&str]| {
        assert_eq!(parse(line).unwrap().list(name), expected, "{line}")
    };
    check("--authorization-mode Node,RBAC", "authorization-mode", &["Node", "RBAC"]);
    check("--authorization-mode Node --authorization-mode=RBAC", "authorization-mode", &["Node", "RBAC"]);
    check("--authorization-mode=", "authorization-mode", &[]);
    check("--authorization-mode=\"a,b\",c", "authorization-mode", &["a,b", "c"]);
    check(
        "",
        "kubelet-preferred-address-types",
        &["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"],
    );
    check("--kubelet-preferred-address-types=X", "kubelet-preferred-address-types", &["X"]);
    check("--service-account-issuer a,b --service-account-issuer c", "service-account-issuer", &["a,b", "c"]);
    check("--tls-sni-cert-key a,b:c,d", "tls-sni-cert-key", &["a,b:c,d"]);
}

#[test]
fn parse_errors_equal_upstreams() {
    error("--foo", "unknown flag: --foo");
    error("--foo_bar=1", "unknown flag: --foo_bar");
    error("-x", "unknown shorthand flag: 'x' in -x");
    error("-hxy", "unknown shorthand flag: 'x' in -xy");
    error("--secure-port", "flag needs an argument: --secure-port");
    error("-v", "flag needs an argument: 'v' in -v");
    error("---x", "bad flag syntax: ---x");
    error("--=x", "bad flag syntax: --=x");
    error("a b", "\"kube-apiserver\" does not take any arguments, got [\"a\" \"b\"]");
    error("-- --secure-port", "\"kube-apiserver\" does not take any arguments, got [\"--secure-port\"]");
    error("-", "\"kube-apiserver\" does not take any arguments, got [\"-\"]");
}

#[test]
fn value_errors_equal_upstreams() {
    let check = |flag: &str, value: &str, reason: &str| {
        error(
            &format!("--{flag}={value}"),
            &format!("invalid argument \"{value}\" for \"--{flag}\" flag: {reason}"),
        );
    };
    check("secure-port", "x", "strconv.ParseInt: parsing \"x\": invalid syntax");
    check(
        "secure-port",
        "99999999999999999999",
        "strconv.ParseInt: parsing \"99999999999999999999\": value out of range",
    );
    check("kubelet-port", "-1", "strconv.ParseUint: parsing \"-1\": invalid syntax");
    check("allow-privileged", "yes", "strconv.ParseBool: parsing \"yes\": invalid syntax");
    check("goaway-chance", "often", "strconv.ParseFloat: parsing \"often\": invalid syntax");
    check("event-ttl", "1", "time: missing unit in duration \"1\"");
    check("bind-address", "localhost", "failed to parse IP: \"localhost\"");
    check("service-node-port-range", "5-4", "end port cannot be less than start port: 5-4");
    check("service-node-port-range", "1-70000", "the port range cannot be greater than 65535: 1-70000");
    check("tls-sni-cert-key", "a", "expected comma separated certificate and key file paths");
    check("allow-metric-labels", "x", "x must be formatted as key=value");
    error(
        "-v x",
        "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseInt: parsing \"x\": invalid syntax",
    );
}

#[test]
fn every_default_is_a_value_of_its_type() {
    for flag in FLAGS {
        let default = flag.default.trim_start_matches('[').trim_end_matches(']').replace("<nil>", "");
        if default.is_empty() {
            continue;
        }
        assert_eq!(flag.kind.check(&default), Ok(()), "{}", flag.name);
    }
}

#[test]
fn only_non_default_values_are_changes() {
    let check = |line: &str, expected: &[&str]| {
        let flags = parse(line).unwrap();
        assert_eq!(flags.changed().map(|flag| flag.name).collect::<Vec<_>>(), expected, "{line}");
    };
    check("", &[]);
    check("--secure-port=6443 --oidc-signing-algs=RS256", &[]);
    check("--secure-port=1", &["secure-port"]);
    check("--watch-cache --watch-cache=false", &["watch-cache"]);
}

#[test]
fn flags_are_printed_with_their_values() {
    let words =
        ["--profiling=0", "-v=2", "--request-timeout=90s", "--audit-log-path=/x", "--api-audiences=a,b"];
    let all = Flags::parse(words.map(str::to_owned)).unwrap().all();
    let check = |name: &str, expected: &str| {
        let value = all.iter().find(|(flag, _)| flag == name).map(|(_, value)| value.as_str());
        assert_eq!(value, Some(expected), "{name}");
    };
    check("profiling", "false");
    check("v", "2");
    check("request-timeout", "1m30s");
    check("audit-log-path", "/x");
    check("api-audiences", "[a,b]");
    check("secure-port", "6443");
    check("anonymous-auth", "true");
}

#[test]
fn misspelt_flag_gets_a_suggestion() {
    let check = |word: &str, expected: &str| {
        let error = Flags::parse([word.to_owned()]).unwrap_err().to_string();
        assert_eq!(error, format!("unknown flag: {expected}"));
    };
    check("--etcd-server=a", "--etcd-server; did you mean --etcd-servers?");
    check("--secure_prot=1", "--secure_prot; did you mean --secure-port?");
    check("--authorisation-mode=RBAC", "--authorisation-mode; did you mean --authorization-mode?");
    check("--no-such-flag", "--no-such-flag");
    check("--x", "--x");
    let long = format!("--{}", "a".repeat(100_000));
    check(&long, &long);
}
