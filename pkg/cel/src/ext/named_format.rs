//! Kubernetes' named formats: `format.dns1123Label()` and the like.

use apimachinery::names;

/// Named format with its validation, the value of `format.NAME()`.
#[derive(Clone, Copy, Debug)]
pub struct NamedFormat {
    /// Name in expressions.
    pub name: &'static str,
    /// Pattern size in characters, which determines the cost of a validation.
    pub pattern_size: u64,
    /// Returns the errors of a text; empty if it is valid.
    validate: fn(&str) -> Vec<String>,
}

const fn format(name: &'static str, pattern_size: u64, validate: fn(&str) -> Vec<String>) -> NamedFormat {
    NamedFormat { name, pattern_size, validate }
}

/// Pattern length of a UUID.
const UUID_PATTERN: u64 = 70;
/// Pattern length of a time of day.
const TIME_PATTERN: u64 = 71;

pub(crate) const FORMATS: [NamedFormat; 13] = [
    format("dns1123Label", 30, |text| names::name_is_dns_label(text, false)),
    format("dns1123Subdomain", 60, |text| names::name_is_dns_subdomain(text, false)),
    format("dns1035Label", 30, |text| names::name_is_dns1035_label(text, false)),
    format("qualifiedName", 60, names::is_label_key),
    format("dns1123LabelPrefix", 30, |text| names::name_is_dns_label(text, true)),
    format("dns1123SubdomainPrefix", 60, |text| names::name_is_dns_subdomain(text, true)),
    format("dns1035LabelPrefix", 30, |text| names::name_is_dns1035_label(text, true)),
    format("labelValue", 40, names::is_label_value),
    format("uri", 1103, |text| {
        super::url::parse_request_uri(text).err().iter().map(ToString::to_string).collect()
    }),
    format("uuid", UUID_PATTERN, |text| unless(is_uuid(text), "does not match the UUID format")),
    format("byte", 84, |text| unless(is_base64(text), "invalid base64")),
    format("date", TIME_PATTERN, |text| unless(is_date(text), "invalid date")),
    format("datetime", TIME_PATTERN, |text| unless(is_datetime(text), "invalid datetime")),
];

/// Returns the format with this name; `None` if there is none.
pub fn find_format(name: &str) -> Option<&'static NamedFormat> {
    const ALL: &[NamedFormat] = &FORMATS;
    ALL.iter().find(|format| format.name == name)
}

impl PartialEq for NamedFormat {
    fn eq(&self, other: &NamedFormat) -> bool {
        self.name == other.name
    }
}

impl Eq for NamedFormat {}

impl NamedFormat {
    /// Returns the errors of a text; empty if it is valid.
    pub fn validate(&self, text: &str) -> Vec<String> {
        (self.validate)(text)
    }
}

fn unless(valid: bool, message: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![message.to_owned()] }
}

/// Returns true for groups of 8, 4, 4, 4 and 12 hexadecimal digits with optional hyphens.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (place, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        match rest.as_bytes().get(..length) {
            Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => rest = &rest[length..],
            _ => return false,
        }
    }
    rest.is_empty()
}

/// Returns true for non-empty groups of four characters, with `=` padding in the last group.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !text.is_empty() && text.len().is_multiple_of(4) && padding <= 2 && digits.bytes().all(is_digit)
}

fn is_date(text: &str) -> bool {
    let shape = text.len() == 10 && text.is_ascii();
    shape && apimachinery::time::parse_time(&format!("{text}T00:00:00Z")).is_ok()
}

/// Returns true for a date, a `t`, and a time of day with a zone. Hours must be below 24, minutes and seconds
/// below 60.
fn is_datetime(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time_of_day(time)
}

fn is_time_of_day(text: &str) -> bool {
    let two = |text: &str, at: usize| -> Option<u32> {
        let digits = text.get(at..at + 2)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let is_colon = |at: usize| text.as_bytes().get(at) == Some(&b':');
    let (Some(hours), Some(minutes), Some(seconds)) = (two(text, 0), two(text, 3), two(text, 6)) else {
        return false;
    };
    if !is_colon(2) || !is_colon(5) || hours > 23 || minutes > 59 || seconds > 59 {
        return false;
    }
    let Some(zone) = text.get(8..) else { return false };
    is_zone(zone) || is_zone(without_fraction(zone))
}

/// Removes one character and the digits after it.
fn without_fraction(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    let digits = chars.as_str();
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest.len() < digits.len() { rest } else { text }
}

fn is_zone(text: &str) -> bool {
    let numeric = |zone: &str| {
        let bytes = zone.as_bytes();
        let digits = [0, 1, 3, 4].into_iter().all(|at| bytes.get(at).is_some_and(u8::is_ascii_digit));
        bytes.len() == 5 && bytes[2] == b':' && digits
    };
    text == "z" || text.strip_prefix(['+', '-']).is_some_and(numeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_the_same_texts_as_upstream() {
        let cases = [
            ("uuid", "123E4567-e89b12d3a456-426614174000", true),
            ("uuid", "123e4567-e89b-12d3-a456-42661417400", false),
            ("byte", "aGVsbG8=", true),
            ("byte", "aGVsbG8", false),
            ("byte", "", false),
            ("date", "2021-02-29", false),
            ("date", "2020-02-29", true),
            ("datetime", "2021-01-01T00:00:00Z", true),
            ("datetime", "2021-01-01t23:59:59.25+01:00", true),
            ("datetime", "2021-01-01T24:00:00Z", false),
            ("datetime", "2021-01-01 00:00:00Z", false),
            ("uri", "http://example.com", true),
            ("uri", "example", false),
            ("dns1123Label", "my-label", true),
            ("dns1123LabelPrefix", "my-label-", true),
            ("labelValue", "-", false),
        ];
        for (name, text, valid) in cases {
            assert_eq!(find_format(name).unwrap().validate(text).is_empty(), valid, "{name} {text}");
        }
        assert_eq!(find_format("uri").unwrap().validate("a"), ["parse \"a\": invalid URI for request"]);
        assert!(find_format("nope").is_none());
    }
}
