//! Regular expressions in Go's syntax. Patterns are translated for the `regex` crate, which has the same
//! match preference and linear run time. Invalid patterns are rejected with Go's error texts.

mod character;
mod class;
mod translate;

use super::error::ParseError;

/// Maximum size of a compiled pattern in bytes.
const MAX_SIZE: usize = 10 << 20;

/// Checks the syntax of a pattern without compiling it.
///
/// # Errors
/// The errors of [`Regex::compile`], except its size limit.
pub fn check(pattern: &str) -> Result<(), ParseError> {
    translate::translate(pattern).map(drop).map_err(|error| parse_error(error.0, error.1))
}

fn parse_error(code: &str, part: &str) -> ParseError {
    ParseError::new(format!("error parsing regexp: {code}: `{part}`"))
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Regex(regex::Regex);

impl Regex {
    /// Compiles a pattern. Errors are Go's: `` error parsing regexp: missing closing ]: `[a` ``.
    pub fn compile(pattern: &str) -> Result<Regex, ParseError> {
        let translated = translate::translate(pattern).map_err(|error| parse_error(error.0, error.1))?;
        let built = regex::RegexBuilder::new(&translated).size_limit(MAX_SIZE).nest_limit(2_500).build();
        built.map(Regex).map_err(|_| parse_error("expression too large", pattern))
    }

    /// Returns true if the pattern matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Returns the first match; empty if there is none.
    pub fn find<'t>(&self, text: &'t str) -> &'t str {
        self.0.find(text).map_or("", |found| found.as_str())
    }

    /// Returns at most `limit` non-overlapping matches; all if it is negative.
    pub fn find_all<'t>(&self, text: &'t str, limit: i64) -> Vec<&'t str> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        self.0.find_iter(text).take(limit).map(|found| found.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"\bfoo\b", "éfoo", true),
            (r"(?i)straSSe", "STRASSE", true),
            (r"a{,2}", "a{,2}", true),
            (r"[[:alpha:]&&b]x", "&x", true),
            (r"[^\D]", "5", true),
            (r"\Qa.b\E+", "a.bbb", true),
            (r"\x{1F601}|\101", "A", true),
            (r"(?P<n>a)(?<m>b)", "ab", true),
            (r"a.b", "a\nb", false),
            (r"(?s)a.b", "a\nb", true),
            (r"(?m)^b$", "a\nb", true),
            (r"\pL\p{Greek}\P{Greek}", "aαb", true),
            (r#"["'\-\]]"#, "'", true),
            (r"[a-z--]", "-", true),
            (r"x*", "", true),
            (r"^*a", "a", true),
            (r"^a(?i){2}B$", "aab", true),
        ];
        for (pattern, text, matches) in cases {
            assert_eq!(Regex::compile(pattern).unwrap().is_match(text), matches, "{pattern}");
        }
    }

    #[test]
    fn pattern_errors_equal_gos() {
        let cases = [
            (")[0-9]*", "unexpected ): `)[0-9]*`"),
            ("(a", "missing closing ): `(a`"),
            ("[a", "missing closing ]: `[a`"),
            ("*a", "missing argument to repetition operator: `*`"),
            ("(*a)", "missing argument to repetition operator: `*`"),
            ("a|+", "missing argument to repetition operator: `+`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a+?{2}", "invalid nested repetition operator: `+?{2}`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(a{100}){11}", "invalid repeat count: `{11}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
            (r"\8", r"invalid escape sequence: `\8`"),
            (r"\1", r"invalid escape sequence: `\1`"),
            (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
            (r"\x{}", r"invalid escape sequence: `\x{}`"),
            (r"\Z", r"invalid escape sequence: `\Z`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?P<1-2>a)", "invalid named capture: `(?P<1-2>`"),
            ("(", "missing closing ): `(`"),
            ("a(b", "missing closing ): `a(b`"),
            ("a)", "unexpected ): `a)`"),
            ("x[a", "missing closing ]: `[a`"),
            ("(+?)", "missing argument to repetition operator: `+?`"),
            ("a|{2}", "missing argument to repetition operator: `{2}`"),
            ("a+?+?b", "invalid nested repetition operator: `+?+?`"),
            ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
            ("(?P<n", "invalid named capture: `(?P<n`"),
            ("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`"),
            ("(?<!a)", "invalid named capture: `(?<!a)`"),
            (r"\", "trailing backslash at end of expression: ``"),
            (r"\C", r"invalid escape sequence: `\C`"),
            (r"\xg0", r"invalid escape sequence: `\xg0`"),
            ("[b-a]", "invalid character class range: `b-a`"),
            ("[[:word1:]]", "invalid character class range: `[:word1:]`"),
            (r"\p{x}", r"invalid character class range: `\p{x}`"),
        ];
        for (pattern, message) in cases {
            assert_eq!(
                Regex::compile(pattern).map(drop),
                Err(ParseError::new(format!("error parsing regexp: {message}"))),
                "{pattern}"
            );
        }
    }

    #[test]
    fn occurrences_do_not_overlap() {
        let regex = Regex::compile("ab*").unwrap();
        assert_eq!(regex.find_all("abab a", -1), ["ab", "ab", "a"]);
        assert_eq!(regex.find_all("abab a", 1), ["ab"]);
        assert_eq!(regex.find_all("abab a", 0), Vec::<&str>::new());
        assert_eq!(regex.find("xabb"), "abb");
        assert_eq!(regex.find("x"), "");
        assert_eq!(Regex::compile("(?U)b+b+?").unwrap().find("bbbb"), "bbbb");
    }

    #[test]
    fn common_patterns_are_valid() {
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
        for pattern in valid {
            assert_eq!(check(pattern), Ok(()), "{pattern}");
            assert!(Regex::compile(pattern).is_ok(), "{pattern}");
        }
    }
}
