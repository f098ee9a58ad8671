//! Claims about the syntax of regular expressions.

use super::*;

fn check_all(cases: &[(&str, &str)]) {
    for (pattern, expected) in cases {
        assert_eq!(check(pattern).err().unwrap_or_default(), *expected, "{pattern}");
    }
}

#[test]
fn usual_expressions_are_valid() {
    let valid = [
        "",
        "^[a-z]([-a-z0-9]*[a-z0-9])?$",
        "a|b|",
        "(?i)a(?P<n>b)(?<m>c)(?:d)(?s-i:e)",
        r"\d+\.\pL\p{^Lu}\p{Greek}",
        "[]a]",
        "[^]-]",
        "[[:alpha:]_]",
        r"[\w\-\]]",
        "a{2}b{2,}c{2,3}d{",
        "x{a}",
        "x*?y+?",
        r"\Qa*\E",
        r"\x41\x{1F600}",
        r"\p{lu}\p{L_u}",
        r"\0\12\_",
        "((a{10}){10}){10}",
        "a{0}",
        "()*",
    ];
    check_all(&valid.map(|pattern| (pattern, "")));
}

#[test]
fn errors_are_those_of_go() {
    check_all(&[
        ("(", "missing closing ): `(`"),
        ("a(b", "missing closing ): `a(b`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("x[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("(+?)", "missing argument to repetition operator: `+?`"),
        ("a|{2}", "missing argument to repetition operator: `{2}`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a+?+?b", "invalid nested repetition operator: `+?+?`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{3,2}", "invalid repeat count: `{3,2}`"),
        ("(a{100}){11}", "invalid repeat count: `{11}`"),
        ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        (r"\", "trailing backslash at end of expression: ``"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\1", r"invalid escape sequence: `\1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"\xg0", r"invalid escape sequence: `\xg0`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:word1:]]", "invalid character class range: `[:word1:]`"),
        (r"\p{x}", r"invalid character class range: `\p{x}`"),
    ]);
}
