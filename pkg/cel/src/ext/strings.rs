//! String functions. Positions count code points.

use super::error::RangeError;

/// Result of a function that fails if an index or range is outside of the string.
pub type Result<T> = std::result::Result<T, RangeError>;

fn out_of_range<T>(index: i64) -> Result<T> {
    Err(RangeError::Index(index))
}

/// Returns the byte offset of a code point. The index after the last one is the end; `None` beyond.
fn byte_at(text: &str, index: i64) -> Option<usize> {
    let index = usize::try_from(index).ok()?;
    if text.is_ascii() {
        return (index <= text.len()).then_some(index);
    }
    text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(index)
}

fn count(text: &str) -> i64 {
    text.chars().count() as i64
}

/// Returns the character at an index; the empty string directly after the last one.
pub fn char_at(text: &str, index: i64) -> Result<&str> {
    let Some(start) = byte_at(text, index) else { return out_of_range(index) };
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    Ok(&text[start..start + length])
}

/// Returns the index of the first occurrence from an index on, or -1.
pub fn index_of(text: &str, part: &str, from: i64) -> Result<i64> {
    if from < 0 {
        return out_of_range(from);
    }
    if part.is_empty() {
        return Ok(from.min(count(text)));
    }
    let Some(start) = byte_at(text, from) else { return Ok(-1) };
    Ok(text[start..].find(part).map_or(-1, |at| from + count(&text[start..start + at])))
}

/// Returns the index of the last occurrence, or -1.
pub fn last_index_of(text: &str, part: &str) -> i64 {
    if part.is_empty() {
        return count(text);
    }
    text.rfind(part).map_or(-1, |at| count(&text[..at]))
}

/// Returns the index of the last occurrence at or before an index, or -1. Also -1 if that index is after the
/// end.
pub fn last_index_of_before(text: &str, part: &str, from: i64) -> Result<i64> {
    if from < 0 {
        return out_of_range(from);
    }
    if part.is_empty() {
        return Ok(from.min(count(text)));
    }
    match byte_at(text, from) {
        None => Ok(-1),
        Some(start) if start == text.len() => Ok(-1),
        Some(start) => {
            let mut end = (start + part.len()).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            Ok(last_index_of(&text[..end], part))
        }
    }
}

/// Returns the part from an index to the end.
pub fn substring(text: &str, start: i64) -> Result<&str> {
    byte_at(text, start).map_or_else(|| out_of_range(start), |start| Ok(&text[start..]))
}

/// Returns the part between two indices.
pub fn substring_between(text: &str, start: i64, end: i64) -> Result<&str> {
    if start > end {
        return Err(RangeError::Substring { start, end });
    }
    let Some(from) = byte_at(text, start) else { return out_of_range(start) };
    let Some(to) = byte_at(text, end) else { return out_of_range(end) };
    Ok(&text[from..to])
}

/// Replaces at most `limit` occurrences; all if it is negative.
pub fn replace(text: &str, old: &str, new: &str, limit: i64) -> String {
    match usize::try_from(limit) {
        Ok(limit) => text.replacen(old, new, limit),
        Err(_) => text.replace(old, new),
    }
}

/// Splits a text into at most `limit` parts; unlimited if it is negative. An empty separator splits between
/// all characters.
pub fn split<'a>(text: &'a str, separator: &str, limit: i64) -> Vec<&'a str> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    if !separator.is_empty() {
        return text.splitn(limit, separator).collect();
    }
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if parts.len() + 1 == limit {
            parts.push(rest);
            break;
        }
        let (part, after) = rest.split_at(first.len_utf8());
        parts.push(part);
        rest = after;
    }
    parts
}

/// Reverses the characters of a text.
pub fn reverse(text: &str) -> String {
    text.chars().rev().collect()
}

/// Puts the text in double quotes and escapes quotes, backslashes and control characters that have a letter
/// escape.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Escapes a key as a JSON pointer segment.
pub fn escape_json_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_code_points() {
        assert_eq!(char_at("taça", 2), Ok("ç"));
        assert_eq!(char_at("taça", 4), Ok(""));
        assert_eq!(char_at("taça", 5), Err(RangeError::Index(5)));
        assert_eq!(index_of("ççaça", "a", 3), Ok(4));
        assert_eq!(index_of("abc", "", 7), Ok(3));
        assert_eq!(index_of("abc", "c", 9), Ok(-1));
        assert_eq!(last_index_of("çaçaç", "ça"), 2);
        assert_eq!(last_index_of_before("çaçaç", "ça", 1), Ok(0));
        assert_eq!(last_index_of_before("abab", "ab", 4), Ok(-1));
        assert_eq!(substring_between("çaç", 1, 3), Ok("aç"));
        assert_eq!(substring("çaç", 4), Err(RangeError::Index(4)));
    }

    #[test]
    fn splitting_by_nothing_yields_characters() {
        assert_eq!(split("çab", "", -1), ["ç", "a", "b"]);
        assert_eq!(split("çab", "", 2), ["ç", "ab"]);
        assert_eq!(split("", "", -1), Vec::<&str>::new());
        assert_eq!(split("", ",", -1), [""]);
        assert_eq!(split("a,b,c", ",", 2), ["a", "b,c"]);
        assert_eq!(split("a,b,c", ",", 0), Vec::<&str>::new());
        assert_eq!(replace("ab", "", "-", -1), "-a-b-");
        assert_eq!(replace("aaa", "a", "b", 2), "bba");
    }
}
