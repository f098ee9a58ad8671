//! Converts the parser's errors to upstream's texts.
//!
//! Upstream's parser counts lines from 0 and omits line 0. Lines in errors of its scanner are then counted
//! from 1, those of its parser are not.

use saphyr_parser::ScanError;

use super::Error;

/// The source of the error, and upstream's text.
enum UpstreamError<'a> {
    Scanner(&'a str),
    Parser(&'a str),
    /// At the end of the text.
    End(&'a str),
    /// At the first later line that is indented by a tab.
    Tab(&'a str),
    /// An unknown anchor, without a line.
    Anchor,
}

/// Converts an error to upstream's.
pub(super) fn translate(text: &str, error: &ScanError) -> Error {
    let marker = error.marker();
    let line = marker.line().saturating_sub(1);
    let (line, message) = match classify_error(error.info()) {
        UpstreamError::Scanner(message) => (number_from_one(line), message),
        UpstreamError::Parser(message) => {
            // The end of the text counts as a separate line.
            let at_end = marker.col() > 0 && text.chars().nth(marker.index()).is_none();
            (line + usize::from(at_end), message)
        }
        UpstreamError::End(message) => (number_from_one(text.matches('\n').count()), message),
        UpstreamError::Tab(message) => (number_from_one(tab_line(text, line)), message),
        UpstreamError::Anchor => {
            let name = anchor_name(text, marker.index());
            return Error::Text(format!("yaml: unknown anchor '{name}' referenced"));
        }
    };
    match line {
        0 => Error::Text(format!("yaml: {message}")),
        line => Error::Text(format!("yaml: line {line}: {message}")),
    }
}

fn number_from_one(line: usize) -> usize {
    if line == 0 { 0 } else { line + 1 }
}

fn tab_line(text: &str, from: usize) -> usize {
    let indented_by_tab = |line: &str| line.trim_start_matches(' ').starts_with('\t');
    let tab_line = text.lines().enumerate().skip(from + 1).find(|(_, line)| indented_by_tab(line));
    tab_line.map_or(from, |(at, _)| at)
}

fn classify_error(info: &str) -> UpstreamError<'_> {
    match info {
        "while parsing a quoted scalar, did not find expected hexadecimal number" => {
            UpstreamError::Scanner("did not find expected hexdecimal number")
        }
        "simple key expect ':'" | "simple key expected" => {
            UpstreamError::Scanner("could not find expected ':'")
        }
        "misplaced bracket" => UpstreamError::Parser("did not find expected node content"),
        "invalid trailing content after double-quoted scalar" => {
            UpstreamError::Parser("did not find expected key")
        }
        "invalid indentation in quoted scalar" => UpstreamError::End("found unexpected end of stream"),
        "while parsing a flow sequence, expected ',' or ']'" => {
            UpstreamError::Parser("did not find expected ',' or ']'")
        }
        "while scanning a plain scalar, found a tab" => {
            UpstreamError::Tab("found a tab character that violates indentation")
        }
        "while parsing node, found unknown anchor" => UpstreamError::Anchor,
        _ if info.starts_with("while parsing a quoted scalar, ") => {
            UpstreamError::Scanner(info.split_once(", ").map_or(info, |(_, message)| message))
        }
        "recursion limit exceeded" => UpstreamError::Scanner("exceeded max depth of 10000"),
        "tab cannot be used as indentation" | "tabs disallowed in this context" => {
            UpstreamError::Scanner("found character that cannot start any token")
        }
        _ if info.starts_with("unexpected character") || info.starts_with("tabs disallowed within") => {
            UpstreamError::Scanner("found character that cannot start any token")
        }
        _ => match info.split_once(", ") {
            Some((_, message @ "found unexpected end of stream")) => UpstreamError::End(message),
            Some((context, message)) if context.starts_with("while parsing") => {
                UpstreamError::Parser(message)
            }
            Some((context, message)) if context.starts_with("while scanning") => {
                UpstreamError::Scanner(message)
            }
            _ => UpstreamError::Scanner(info),
        },
    }
}

/// The name after the `*` of an alias.
pub(super) fn anchor_name(text: &str, at: usize) -> String {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}');
    text.chars().skip(at + 1).take_while(|&c| !ends(c)).collect()
}
