//! Formats of strings and numbers (kube-openapi's `strfmt`) that definitions may use.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cel::ext::named_format;
use cel::ext::regex::Regex;

use super::kind::Kind;

#[derive(Debug)]
pub(super) struct Format {
    /// Name in the schema.
    pub(super) name: Box<str>,
    check: Check,
}

#[derive(Debug)]
enum Check {
    /// No check: number formats are checked by name, and passwords never.
    Unchecked,
    Function(fn(&str) -> bool),
    Pattern(Regex),
}

const UUID3: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$";
const UUID4: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
const UUID5: &str = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$";
const HEX_COLOR: &str = "^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$";
const RGB_COLOR: &str = r"^rgb\(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*,\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*\)$";
const HOSTNAME: &str = r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$";
const SHORT_NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const LONG_NAME: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

impl Format {
    /// Returns the format with a name for values of a type, or `None` if the format is unknown and not
    /// checked.
    pub(super) fn from_name(kind: Kind, name: &str) -> Option<Format> {
        let check = match kind {
            Kind::Integer if matches!(name, "int32" | "int64") => Check::Unchecked,
            Kind::Number if matches!(name, "float" | "double") => Check::Unchecked,
            Kind::Any | Kind::String | Kind::IntOrString | Kind::Unsupported => {
                of_strings(&name.replace('-', ""))?
            }
            _ => return None,
        };
        Some(Format { name: name.into(), check })
    }

    /// True if a string has the format.
    pub(super) fn accepts(&self, text: &str) -> bool {
        match &self.check {
            Check::Unchecked => true,
            Check::Function(check) => check(text),
            Check::Pattern(regex) => {
                regex.is_match(text) && (self.name.as_ref() != "hostname" || is_short(text))
            }
        }
    }
}

/// Returns the check of a format name without dashes.
fn of_strings(name: &str) -> Option<Check> {
    let pattern = |text: &str| Regex::compile(text).ok().map(Check::Pattern);
    Some(match name {
        "uri" => Check::Function(|text| is_named("uri", text)),
        "uuid" => Check::Function(|text| is_named("uuid", text)),
        "byte" => Check::Function(|text| is_named("byte", text)),
        "date" => Check::Function(|text| is_named("date", text)),
        "datetime" => Check::Function(|text| is_named("datetime", text)),
        "email" => Check::Function(is_email),
        "ipv4" => Check::Function(is_ipv4),
        "ipv6" => Check::Function(|text| text.contains(':') && text.parse::<Ipv6Addr>().is_ok()),
        "cidr" => Check::Function(is_cidr),
        "mac" => Check::Function(is_mac),
        "isbn" => Check::Function(|text| is_isbn10(text) || is_isbn13(text)),
        "isbn10" => Check::Function(is_isbn10),
        "isbn13" => Check::Function(is_isbn13),
        "creditcard" => Check::Function(is_credit_card),
        "ssn" => Check::Function(is_ssn),
        "duration" => Check::Function(is_duration),
        "bsonobjectid" => {
            Check::Function(|text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit()))
        }
        "password" => Check::Unchecked,
        "uuid3" => pattern(UUID3)?,
        "uuid4" => pattern(UUID4)?,
        "uuid5" => pattern(UUID5)?,
        "hexcolor" => pattern(HEX_COLOR)?,
        "rgbcolor" => pattern(RGB_COLOR)?,
        "hostname" => pattern(HOSTNAME)?,
        "k8sshortname" => Check::Function(|text| text.len() <= 63 && matches(SHORT_NAME, text)),
        "k8slongname" => Check::Function(|text| text.len() <= 253 && matches(LONG_NAME, text)),
        _ => return None,
    })
}

fn matches(pattern: &str, text: &str) -> bool {
    Regex::compile(pattern).is_ok_and(|regex| regex.is_match(text))
}

fn is_named(name: &str, text: &str) -> bool {
    named_format::find_format(name).is_none_or(|format| format.validate(text).is_empty())
}

/// The length of a name is limited, and that of each label.
fn is_short(name: &str) -> bool {
    name.len() <= 255 && name.split('.').all(|label| label.len() <= 63)
}

/// True for an email address, optionally with a display name (Go's `mail.ParseAddress` without comments and
/// groups).
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(named) => match named.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let is_atom =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte) || byte >= 0x80;
    let is_dotted = |text: &str| text.split('.').all(|atom| !atom.is_empty() && atom.bytes().all(is_atom));
    let is_quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let is_literal = domain.starts_with('[') && domain.ends_with(']');
    (is_dotted(local) || is_quoted) && (is_dotted(domain) || is_literal)
}

/// Leading zeros are allowed, as before Go 1.17.
fn is_ipv4(text: &str) -> bool {
    sloppy_ipv4(text).is_some() || text.contains('.') && text.parse::<Ipv6Addr>().is_ok()
}

fn sloppy_ipv4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let digits =
            parts.next().filter(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))?;
        let value = digits.trim_start_matches('0');
        *octet = if value.is_empty() { 0 } else { value.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let address =
        sloppy_ipv4(address).map(IpAddr::from).or_else(|| address.parse::<Ipv6Addr>().ok().map(IpAddr::from));
    let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    let bits = bits.parse::<u32>().ok().filter(|_| digits);
    match (address, bits) {
        (Some(IpAddr::V4(_)), Some(bits)) => bits <= 32,
        (Some(IpAddr::V6(_)), Some(bits)) => bits <= 128,
        _ => false,
    }
}

/// True for six, eight or twenty bytes, in pairs with colons or dashes, or in groups of four with dots.
fn is_mac(text: &str) -> bool {
    let grouped = |separator: char, digits: usize, counts: &[usize]| {
        let groups: Vec<&str> = text.split(separator).collect();
        let is_group = |group: &&str| group.len() == digits && group.bytes().all(|b| b.is_ascii_hexdigit());
        counts.contains(&groups.len()) && groups.iter().all(is_group)
    };
    let is_plain = [12, 16, 40].contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_plain || grouped(':', 2, &[6, 8, 20]) || grouped('-', 2, &[6, 8, 20]) || grouped('.', 4, &[3, 4, 10])
}

/// Returns the digits of a text without the ignored characters.
fn digits(text: &str, ignored: fn(char) -> bool) -> Option<Vec<u32>> {
    text.chars().filter(|c| !ignored(*c)).map(|c| c.to_digit(10)).collect()
}

fn space_or_minus(c: char) -> bool {
    c.is_ascii_whitespace() || c == '-'
}

fn is_isbn10(text: &str) -> bool {
    let text: String = text.chars().filter(|c| !space_or_minus(*c)).collect();
    let (Some(body), Some(last)) = (text.get(..9), text.get(9..)) else { return false };
    let check = match last {
        "X" => Some(10),
        digit if digit.len() == 1 => digit.parse::<u32>().ok(),
        _ => None,
    };
    let (Some(body), Some(check)) = (digits(body, |_| false), check) else { return false };
    let sum: u32 = body.iter().zip(1..).map(|(digit, weight)| digit * weight).sum();
    (sum + 10 * check).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let Some(digits) = digits(text, space_or_minus).filter(|digits| digits.len() == 13) else { return false };
    let sum: u32 = digits.iter().zip([1, 3].into_iter().cycle()).map(|(digit, weight)| digit * weight).sum();
    sum.is_multiple_of(10)
}

const CREDIT_CARD: &str = r"^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$";

/// True for the number of a known brand with a valid check digit. Other characters are ignored.
fn is_credit_card(text: &str) -> bool {
    let number: String = text.chars().filter(char::is_ascii_digit).collect();
    let Some(digits) = digits(&number, |_| false).filter(|_| matches(CREDIT_CARD, &number)) else {
        return false;
    };
    let doubled = |digit: u32| if digit >= 5 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    sum.is_multiple_of(10)
}

/// True for a social security number. Upstream accepts it with both separators or with none.
fn is_ssn(text: &str) -> bool {
    text.len() == 11 && matches(r"^\d{3}[- ]?\d{2}[- ]?\d{4}$", text)
}

/// True for a Go duration, or for numbers with units up to weeks anywhere in the text.
fn is_duration(text: &str) -> bool {
    if apimachinery::time::parse_duration(text).is_ok() {
        return true;
    }
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    let is_unit = |unit: &str| {
        let unit = unit.to_lowercase();
        UNITS
            .iter()
            .any(|names| names.contains(&&*unit) || names.last().is_some_and(|last| unit.starts_with(last)))
    };
    let Ok(regex) = Regex::compile(r"\d+\s*[A-Za-zµ]+") else { return false };
    let mut has_unit = false;
    for part in regex.all(text) {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        let (number, unit) = part.split_at(digits);
        if number.parse::<i64>().is_err() {
            return false;
        }
        has_unit |= is_unit(unit.trim());
    }
    has_unit
}
