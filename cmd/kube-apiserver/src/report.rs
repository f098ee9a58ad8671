//! The line that reports the reason why the server does not start.

use crate::flags::Flags;

/// Shortest value that identifies a flag.
const VALUE_LENGTH_MIN: usize = 3;

/// Returns a message that names the flag with the file, address or value that it is about. Messages of libraries
/// contain the value at most. A message that names a flag is not changed.
pub(crate) fn naming_flag(message: &str, flags: &Flags) -> String {
    let parts = flags.given().flat_map(|(name, value)| parts(value).map(move |part| (name, part)));
    let is_about = |(_, part): &(&str, &str)| part.len() >= VALUE_LENGTH_MIN && contains(message, part);
    // The longest part is the most specific: a file rather than its directory.
    let about = parts.filter(is_about).max_by_key(|(_, part)| part.len());
    match about {
        Some((name, _)) if !contains(message, name) && !contains(message, &format!("--{name}")) => {
            format!("--{name}: {message}")
        }
        _ => message.to_owned(),
    }
}

/// Returns a value, its items, and the names of items such as `name=value`.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let name = |item: &'_ str| item.find('=').unwrap_or(item.len());
    let items = value.split(',').flat_map(move |item| [Some(item), item.get(..name(item))]);
    std::iter::once(value).chain(items.flatten())
}

/// True if a message contains a text that is not part of a longer word.
fn contains(message: &str, text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    message.match_indices(text).any(|(at, _)| {
        let before = message.get(..at).and_then(|before| before.chars().next_back());
        let after = message.get(at + text.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flag_of_a_file_is_named() {
        let check = |line: &str, message: &str, expected: &str| {
            let flags = Flags::parse(line.split(' ').map(str::to_owned)).unwrap();
            assert_eq!(naming_flag(message, &flags), expected, "{line}");
        };
        let line = "--client-ca-file /etc/ca.crt --cert-dir /etc --v 2";
        check(line, "/etc/ca.crt: No such file", "--client-ca-file: /etc/ca.crt: No such file");
        check(line, "open \"/etc/ca.crt\": denied", "--client-ca-file: open \"/etc/ca.crt\": denied");
        check(line, "/etc/ca.crt2: No such file", "--cert-dir: /etc/ca.crt2: No such file");
        check(
            "--feature-gates=A=true,Magic=true",
            "unknown gate: Magic",
            "--feature-gates: unknown gate: Magic",
        );
        check(line, "--client-ca-file /etc/ca.crt is empty", "--client-ca-file /etc/ca.crt is empty");
        check(line, "2 errors", "2 errors");
        check(
            "--bind-address=10.0.0.1",
            "cannot listen on 10.0.0.1:1",
            "--bind-address: cannot listen on 10.0.0.1:1",
        );
    }
}
