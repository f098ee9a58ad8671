//! Tests of accepted names and of the exact error texts.

use super::*;

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn check(rule: fn(&str) -> Vec<String>, good: &[&str], bad: &[(&str, &[&str])]) {
    for text in good {
        assert_eq!(rule(text), Vec::<String>::new(), "{text:?}");
    }
    for (text, messages) in bad {
        assert_eq!(rule(text), *messages, "{text:?}");
    }
}

#[test]
fn labels_have_at_most_63_bytes_without_dots() {
    let longest = "a".repeat(63);
    let too_long = "a".repeat(64);
    check(
        is_dns1123_label,
        &["a", "0", "a-b", "a--1", "0-0", &longest],
        &[
            ("", &[LABEL]),
            ("-a", &[LABEL]),
            ("a-", &[LABEL]),
            ("A", &[LABEL]),
            ("a_b", &[LABEL]),
            ("ä", &[LABEL]),
            ("a\n", &[LABEL]),
            ("a.b", &["must not contain dots"]),
            ("a..b", &[LABEL]),
            (&too_long, &["must be no more than 63 characters"]),
        ],
    );
}

#[test]
fn subdomains_are_limited_as_a_whole() {
    let longest = "a".repeat(253);
    let too_long = "A".repeat(254);
    check(
        is_dns1123_subdomain,
        &["a", "a.b-c.0", "1.2.3.4", &longest],
        &[
            ("", &[SUBDOMAIN]),
            (".a", &[SUBDOMAIN]),
            ("a.", &[SUBDOMAIN]),
            ("a..b", &[SUBDOMAIN]),
            ("a.-b", &[SUBDOMAIN]),
            ("a/b", &[SUBDOMAIN]),
            (&too_long, &["must be no more than 253 characters", SUBDOMAIN]),
        ],
    );
    check(is_dns1123_subdomain_with_underscore, &["_sip._tcp.a_b", "a"], &[]);
    assert_eq!(is_dns1123_subdomain_with_underscore("__a").len(), 1);
    assert_eq!(is_dns1123_subdomain_with_underscore("a_").len(), 1);
    check(is_wildcard_dns1123_subdomain, &["*.a", "*.a.b"], &[]);
    for bad in ["*", "*.", "a.b", "*.*.a", "*a"] {
        assert_eq!(is_wildcard_dns1123_subdomain(bad).len(), 1, "{bad}");
    }
}

#[test]
fn rfc_1035_labels_start_with_a_letter() {
    check(
        is_dns1035_label,
        &["a", "a0", "a-0"],
        &[("0a", &[DNS1035]), ("a.b", &[DNS1035]), ("", &[DNS1035])],
    );
}

#[test]
fn label_keys_may_have_one_prefix() {
    let name = |text: &str| format!("name part {text}");
    let prefix = |text: &str| format!("prefix part {text}");
    let slashes = format!(
        "a valid label key {KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    );
    let longest = "x".repeat(63);
    let too_long = "x".repeat(64);
    let long_prefix = format!("{}/x", "p".repeat(253));
    let longer_prefix = format!("{}/x", "p".repeat(254));
    check(
        is_label_key,
        &["a", "A_b.c-d", "1/2", "example.com/MyName", &longest, &long_prefix],
        &[
            ("", &["name part must be non-empty", &name(KEY)]),
            ("a/", &["name part must be non-empty", &name(KEY)]),
            ("/a", &["prefix part must be non-empty"]),
            ("a/b/c", &[&slashes]),
            ("A/b", &[&prefix(SUBDOMAIN)]),
            ("-a", &[&name(KEY)]),
            ("a b", &[&name(KEY)]),
            (&too_long, &[&name("must be no more than 63 bytes")]),
            (&longer_prefix, &[&prefix("must be no more than 253 bytes")]),
        ],
    );
}

#[test]
fn label_values_may_be_empty() {
    let longest = "1".repeat(63);
    let too_long = "_".repeat(64);
    check(
        is_label_value,
        &["", "a", "A_b.c-d", &longest],
        &[
            ("-", &[VALUE]),
            ("a/b", &[VALUE]),
            ("a ", &[VALUE]),
            (&too_long, &["must be no more than 63 bytes", VALUE]),
        ],
    );
}

#[test]
fn path_segments_reject_only_invalid_path_parts() {
    check(
        is_path_segment_name,
        &["", "a b", "system:node:ä", "..."],
        &[
            (".", &["may not be '.'"]),
            ("..", &["may not be '..'"]),
            ("a/b%", &["may not contain '/'", "may not contain '%'"]),
        ],
    );
    check(is_path_segment_prefix, &[".", ".."], &[("/", &["may not contain '/'"])]);
}

#[test]
fn a_prefix_may_end_in_a_dash() {
    assert_eq!(name_is_dns_subdomain("a.b-", true), Vec::<String>::new());
    assert_eq!(name_is_dns_subdomain("a.b-", false), [SUBDOMAIN]);
    assert_eq!(name_is_dns_label("a-", true), Vec::<String>::new());
    assert_eq!(name_is_dns_label("-", true), [LABEL]);
    assert_eq!(name_is_dns_label("a_-", true), Vec::<String>::new());
    assert_eq!(name_is_dns1035_label("1-", true), Vec::<String>::new());
    assert_eq!(name_is_path_segment("..", true), Vec::<String>::new());
    assert_eq!(name_is_path_segment("..", false), ["may not be '..'"]);
}

#[test]
fn errors_of_other_formats_match_upstream() {
    check(
        is_port_name,
        &["http", "a-1", "123abc"],
        &[
            (
                "",
                &[
                    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
                    "must contain at least one letter (a-z)",
                ],
            ),
            ("1", &["must contain at least one letter (a-z)"]),
            ("a--b", &["must not contain consecutive hyphens"]),
            ("-a", &["must not begin or end with a hyphen"]),
            ("abcdefghijklmnop", &["must be no more than 15 characters"]),
        ],
    );
    let percent = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
    check(is_valid_percent, &["0%", "150%"], &[("%", &[percent]), ("1", &[percent])]);
    check(is_config_map_key, &["a", ".a", "A_b-c.d"], &[("..", &["must not be '..'"])]);
    check(is_env_var_name, &["A", "-x", "_1"], &[("..a", &["must not start with '..'"])]);
    assert_eq!(is_env_var_name("1A").len(), 1);
    check(is_relaxed_env_var_name, &["1A", "a b%"], &[]);
    assert_eq!(is_relaxed_env_var_name("a=b").len(), 1);
    check(is_c_identifier, &["_a1"], &[]);
    assert_eq!(is_c_identifier("1a").len(), 1);
    check(is_http_header_name, &["X-A"], &[]);
    assert_eq!(is_http_header_name("X_A").len(), 1);
    assert_eq!(is_port_number(0), ["must be between 1 and 65535, inclusive"]);
    assert_eq!(is_port_number(65535), Vec::<String>::new());
}

#[test]
fn generated_names_are_cut_and_suffixed() {
    let mut words = [0, u32::MAX, 1 << 31, 0, 0].into_iter();
    let mut random = || words.next().unwrap_or_default();
    assert_eq!(generate("web-", &mut random), "web-b9rbb");
    let long = generate(&"x".repeat(70), &mut || 0);
    assert_eq!(long, format!("{}bbbbb", "x".repeat(58)));
    assert_eq!(long.len(), NAME_BYTES_MAX);
}
