//! Regular expressions in Go's syntax. Patterns are translated for the `regex` crate, which has the same
//! match preference and linear run time. Patterns that are used once, and large ones, become programs instead.
//! Invalid patterns are rejected with Go's error texts.

mod character;
mod class;
mod program;
mod size;
mod translate;

use std::ops::Range;

use super::error::ParseError;
use crate::arena::Abort;
use crate::step_budget::StepBudget;
use program::{Failure, Program, Search};
use translate::Translation;

/// Maximum size of an automaton in bytes. Larger patterns become programs.
const AUTOMATON_MAX: usize = 1 << 20;
/// Maximum nesting in the translation, where a flag directive is a group.
const NESTING_MAX: u32 = 2_500;

/// Go's `ErrLarge`.
const TOO_LARGE: &str = "expression too large";

/// Checks the syntax of a pattern without compiling it.
///
/// # Errors
/// The errors of [`Regex::compile`], except its size limit.
pub fn check(pattern: &str) -> Result<(), ParseError> {
    translate(pattern).map(drop)
}

fn translate(pattern: &str) -> Result<Translation, ParseError> {
    translate::translate(pattern).map_err(|error| parse_error(error.0, error.1))
}

fn parse_error(code: &str, part: &str) -> ParseError {
    ParseError::new(format!("error parsing regexp: {code}: `{part}`"))
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Regex(Matcher);

/// Matching engine of a pattern.
#[derive(Clone, Debug)]
enum Matcher {
    /// Fast searches. Its size grows with the UTF-8 encodings of all members of classes.
    Automaton(regex::Regex),
    /// Fast compilation.
    Program(Program),
}

impl Regex {
    /// Compiles a pattern for many searches. Errors are Go's: `` error parsing regexp: missing closing ]: `[a` ``.
    pub fn compile(pattern: &str) -> Result<Regex, ParseError> {
        let translation = translate(pattern)?;
        let builder = &mut regex::RegexBuilder::new(&translation.text);
        match builder.size_limit(AUTOMATON_MAX).nest_limit(NESTING_MAX).build() {
            Ok(automaton) => Ok(Regex(Matcher::Automaton(automaton))),
            Err(_) => Regex::program_unlimited(pattern, &translation),
        }
    }

    /// Compiles a pattern for one search, with the same errors. Consumes steps for the classes before it builds them,
    /// and one per instruction.
    pub(crate) fn compile_once(
        pattern: &str,
        steps: &StepBudget,
    ) -> Result<Result<Regex, ParseError>, Abort> {
        steps.spend(pattern.len() as u64)?;
        let translation = match translate(pattern) {
            Ok(translation) => translation,
            Err(problem) => return Ok(Err(problem)),
        };
        steps.spend(translation.size.steps())?;
        Regex::program(pattern, &translation, steps)
    }

    /// Compiles a pattern at the lowest cost, to find its errors.
    pub fn check(pattern: &str) -> Result<Regex, ParseError> {
        Regex::program_unlimited(pattern, &translate(pattern)?)
    }

    fn program_unlimited(pattern: &str, translation: &Translation) -> Result<Regex, ParseError> {
        let compiled = Regex::program(pattern, translation, &StepBudget::unlimited());
        compiled.unwrap_or_else(|_| Err(parse_error(TOO_LARGE, pattern)))
    }

    fn program(
        pattern: &str,
        translation: &Translation,
        steps: &StepBudget,
    ) -> Result<Result<Regex, ParseError>, Abort> {
        let mut parser = regex_syntax::ParserBuilder::new().nest_limit(NESTING_MAX).build();
        let parsed = parser.parse(&translation.text);
        let program =
            parsed.map_err(|_| Failure::TooLarge).and_then(|parsed| Program::compile(&parsed, steps));
        match program {
            Ok(program) => Ok(Ok(Regex(Matcher::Program(program)))),
            Err(Failure::TooLarge) => Ok(Err(parse_error(TOO_LARGE, pattern))),
            Err(Failure::Abort(abort)) => Err(abort),
        }
    }

    /// Returns true if the pattern matches anywhere in a text.
    pub fn is_match(&self, text: &str) -> bool {
        self.is_match_within(text, &StepBudget::unlimited()).unwrap_or_default()
    }

    /// Like [`is_match`](Self::is_match), within a budget.
    pub(crate) fn is_match_within(&self, text: &str, steps: &StepBudget) -> Result<bool, Abort> {
        match &self.0 {
            Matcher::Automaton(automaton) => Ok(automaton.is_match(text)),
            Matcher::Program(program) => Ok(program.search(steps)?.find_at(text, 0)?.is_some()),
        }
    }

    /// Returns the first match; empty if there is none.
    pub(crate) fn find<'t>(&self, text: &'t str, steps: &StepBudget) -> Result<&'t str, Abort> {
        Ok(self.searcher(steps)?.find_at(text, 0)?.and_then(|range| text.get(range)).unwrap_or_default())
    }

    /// Returns at most `limit` non-overlapping matches; all if it is negative. An empty match must not follow
    /// another match directly.
    pub(crate) fn find_all<'t>(
        &self,
        text: &'t str,
        limit: i64,
        steps: &StepBudget,
    ) -> Result<Vec<&'t str>, Abort> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut searcher = self.searcher(steps)?;
        let mut matches = Vec::new();
        let mut last_end = None;
        let mut from = 0;
        while matches.len() < limit
            && let Some(range) = searcher.find_at(text, from)?
        {
            from = range.end;
            if range.is_empty() && last_end == Some(range.end) {
                let Some(next) = text.get(from..).and_then(|rest| rest.chars().next()) else { break };
                from += next.len_utf8();
                continue;
            }
            last_end = Some(range.end);
            matches.extend(text.get(range));
        }
        Ok(matches)
    }

    /// Returns all non-overlapping matches.
    pub fn all<'t>(&self, text: &'t str) -> Vec<&'t str> {
        self.find_all(text, -1, &StepBudget::unlimited()).unwrap_or_default()
    }

    fn searcher<'r>(&'r self, steps: &'r StepBudget) -> Result<Searcher<'r>, Abort> {
        Ok(match &self.0 {
            Matcher::Automaton(automaton) => Searcher::Automaton(automaton),
            Matcher::Program(program) => Searcher::Program(program.search(steps)?),
        })
    }
}

/// Searches with one pattern.
enum Searcher<'r> {
    Automaton(&'r regex::Regex),
    Program(Search<'r>),
}

impl Searcher<'_> {
    /// Returns the first match at or after the byte offset `from`.
    fn find_at(&mut self, text: &str, from: usize) -> Result<Option<Range<usize>>, Abort> {
        match self {
            Searcher::Automaton(automaton) => {
                Ok(automaton.find_at(text, from).map(|matched| matched.range()))
            }
            Searcher::Program(search) => search.find_at(text, from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles a pattern for each engine.
    fn both(pattern: &str) -> [Result<Regex, ParseError>; 2] {
        [Regex::compile(pattern), Regex::check(pattern)]
    }

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
            for regex in both(pattern) {
                assert_eq!(regex.unwrap().is_match(text), matches, "{pattern}");
            }
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
            for regex in both(pattern) {
                let expected = Err(ParseError::new(format!("error parsing regexp: {message}")));
                assert_eq!(regex.map(drop), expected, "{pattern}");
            }
        }
    }

    #[test]
    fn occurrences_do_not_overlap() {
        let cases: [(&str, &str, i64, &[&str]); 12] = [
            ("ab*", "abab a", -1, &["ab", "ab", "a"]),
            ("ab*", "abab a", 1, &["ab"]),
            ("ab*", "abab a", 0, &[]),
            ("ab*", "x", -1, &[]),
            ("(?U)b+b+?", "bbbb", -1, &["bbbb"]),
            ("b*", "abba", -1, &["", "bb", ""]),
            ("b*?", "bé", -1, &["", "", ""]),
            ("a|ab|abc", "abcab", -1, &["a", "a"]),
            ("(|a)*", "aa", -1, &["", "", ""]),
            ("(|a)+", "aa", -1, &["", "", ""]),
            ("a{2,3}?|a", "aaaaa", -1, &["aa", "aa", "a"]),
            (r"\b", "ab c", -1, &["", "", "", ""]),
        ];
        for (pattern, text, limit, expected) in cases {
            for regex in both(pattern) {
                let actual = regex.unwrap().find_all(text, limit, &StepBudget::unlimited()).unwrap();
                assert_eq!(actual, expected, "{pattern}");
            }
        }
    }

    #[test]
    fn engines_agree() {
        const ELEMENTS: [&str; 12] =
            ["a", "b", ".", "[^a]", r"\pL", "(a|ab)", "(|b)", "^", "$", r"\b", "(?i)A", "(b|a*)"];
        const OPERATORS: [&str; 8] = ["", "*", "+", "?", "*?", "{2}", "{1,3}", "{2,}?"];
        let repeated = |element: &str| OPERATORS.map(|operator| format!("{element}{operator}"));
        let parts: Vec<String> = ELEMENTS.into_iter().flat_map(repeated).collect();
        let steps = StepBudget::unlimited();
        for (at, first) in parts.iter().enumerate() {
            for second in parts.iter().skip(at % 23).step_by(23) {
                for pattern in [format!("{first}{second}"), format!("({first}|{second})+b")] {
                    let [automaton, program] = both(&pattern).map(Result::unwrap);
                    for text in ["", "ab", "aabb ba", "bébab\nA"] {
                        let matches = program.find_all(text, -1, &steps);
                        assert_eq!(automaton.find_all(text, -1, &steps), matches, "{pattern} {text:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn repeated_classes_stay_small() {
        for pattern in [r"(\pL\pN\pS){200}", r"(\PL\PN){500}", &r"\pL\pN\pS".repeat(1_000)] {
            let Ok(Regex(Matcher::Program(program))) = Regex::check(pattern) else { panic!("{pattern}") };
            assert!(program.len() <= 3_001, "{}", program.len());
            assert!(Regex::compile(pattern).is_ok(), "{pattern}");
        }
        let large = format!("({}){{1000}}", "a".repeat(3_000));
        assert_eq!(Regex::check(&large).map(drop), Err(parse_error("expression too large", &large)));
        let empty = format!("(a{}){{1000}}", "()".repeat(3_000));
        assert_eq!(Regex::check(&empty).map(drop), Err(parse_error("expression too large", &empty)));
    }

    #[test]
    fn trees_are_bounded_before_parsing() {
        let fits = [
            r"\pL\pN\pS".repeat(1_000),
            format!("(?i){}", r"[\s\S]\W+[^\pL_]".repeat(50)),
            format!("(?i){}", r"\S+\s\D*[a-z_][^a-z]".repeat(500)),
            format!("[{}]", "\u{4e00}\u{4e02}".repeat(5_000)),
            format!("^({})$", "some-name|".repeat(10_000)),
        ];
        for pattern in &fits {
            assert_eq!(check(pattern), Ok(()), "{}", &pattern[..12]);
        }
        let elements = [
            "a",
            "ab|",
            "()",
            "a*",
            "(?i)",
            r"\Qa\E",
            "[a]",
            r"\d",
            r"\pL",
            r"\p{ L_}",
            r"\PZ",
            r"[\pLa]",
            r"[^\W\pN]",
            "[!-\u{fffd}]",
        ];
        let items = ["a", "\u{4e00}\u{4e02}", "a-z", r"\d", r"\D", r"\pL", "[:alpha:]", "[:^alpha:]"];
        let sequences = elements.iter().map(|element| ("", element, ""));
        let classes = items.iter().map(|item| ("[", item, "]"));
        for (start, part, end) in sequences.chain(classes) {
            for flags in ["", "(?i)"] {
                let pattern = format!("{flags}{start}{}{end}", part.repeat((1 << 20) / part.len()));
                let error = parse_error(TOO_LARGE, &pattern);
                assert!(check(&pattern) == Err(error), "{flags}{start}{part}");
            }
        }
    }

    #[test]
    fn classes_consume_steps_before_parsing() {
        let pattern = r"\pL".repeat(100);
        let steps = StepBudget::default();
        assert!(Regex::compile_once(&pattern, &steps).is_ok());
        steps.spend(19_940_000).unwrap();
        assert_eq!(Regex::compile_once(&pattern, &steps).map(drop), Err(Abort::CostLimit));
    }

    #[test]
    fn copies_consume_steps_before_compilation() {
        let steps = StepBudget::default();
        steps.spend(19_990_000).unwrap();
        let large = format!("({}){{1000}}", "a".repeat(3_000));
        assert_eq!(Regex::compile_once(&large, &steps).map(drop), Err(Abort::CostLimit));
    }

    #[test]
    fn searches_consume_steps_by_program_size() {
        let regex = Regex::check(&format!("b|({}){{1000}}", "a".repeat(200))).unwrap();
        let steps = StepBudget::default();
        steps.spend(19_990_000).unwrap();
        let searches = (0..10).try_for_each(|_| regex.is_match_within("b", &steps).map(drop));
        assert_eq!(searches, Err(Abort::CostLimit));
        let once = StepBudget::default();
        assert_eq!(regex.find_all(&"b".repeat(10_000), -1, &once).map(|matches| matches.len()), Ok(10_000));
    }

    #[test]
    fn search_steps_are_limited() {
        let pattern = "(a?){1000}b";
        let text = "a".repeat(200_000);
        let steps = StepBudget::default();
        let regex = Regex::compile_once(pattern, &steps).unwrap().unwrap();
        assert_eq!(regex.is_match_within(&text, &steps), Err(Abort::CostLimit));
        assert_eq!(regex.is_match_within("ab", &StepBudget::default()), Ok(true));
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
