//! Directives (lines that begin with `%`) before a document. Upstream's YAML is version 1.1, and it rejects
//! all others.
#![warn(clippy::arithmetic_side_effects, clippy::indexing_slicing, clippy::as_conversions)]

use super::Error;

/// Maximum number of digits of a number in a version.
const DIGITS_MAX: usize = 2;

/// Checks the directives at the start of a text. `%TAG` is handled by the parser.
///
/// # Errors
/// A version that is not 1.1, invalid or duplicate; an unknown directive.
pub(super) fn check(text: &str) -> Result<(), Error> {
    let mut versions = 0_usize;
    for (line, content) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let blank = content.trim_start_matches([' ', '\t']);
        if blank.is_empty() || blank.starts_with('#') {
            continue;
        }
        let Some(directive) = content.strip_prefix('%') else { break };
        let name_end = directive.find(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
        let (name, value) =
            directive.split_at_checked(name_end.unwrap_or(directive.len())).unwrap_or_default();
        // The scanner counts lines from 1, the parser from 0, and both omit the first line.
        let scanner = |text: &str| error_at(if line == 0 { 0 } else { line.saturating_add(1) }, text);
        match name {
            "TAG" => {}
            "YAML" => {
                let version = version(value).map_err(scanner)?;
                versions = versions.saturating_add(1);
                if versions > 1 {
                    return Err(error_at(line, "found duplicate %YAML directive"));
                }
                if version != (1, 1) {
                    return Err(error_at(line, "found incompatible YAML document"));
                }
            }
            "" => return Err(scanner("could not find expected directive name")),
            _ => return Err(scanner("found unknown directive name")),
        }
    }
    Ok(())
}

fn error_at(line: usize, text: &str) -> Error {
    Error::Text(if line == 0 { format!("yaml: {text}") } else { format!("yaml: line {line}: {text}") })
}

/// Parses `1.1` and an optional rest.
fn version(text: &str) -> Result<(u8, u8), &'static str> {
    const BLANK: [char; 2] = [' ', '\t'];
    let (major, rest) = number(text.trim_start_matches(BLANK))?;
    let (minor, rest) =
        number(rest.strip_prefix('.').ok_or("did not find expected digit or '.' character")?)?;
    let comment = rest.trim_start_matches(BLANK);
    if comment.is_empty() || comment.starts_with('#') {
        Ok((major, minor))
    } else {
        Err("did not find expected comment or line break")
    }
}

fn number(text: &str) -> Result<(u8, &str), &'static str> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).unwrap_or_default();
    match digits.len() {
        0 => Err("did not find expected version number"),
        1..=DIGITS_MAX => Ok((digits.parse().unwrap_or(u8::MAX), rest)),
        _ => Err("found extremely long version number"),
    }
}
