//! Indented JSON, for people with curl.

use super::string::plain_len;

/// Appends compact JSON with two spaces of indentation, as Go's `json.Indent` lays it out: empty
/// objects and arrays stay together. `json` must be valid.
pub fn indent(json: &[u8], out: &mut Vec<u8>) {
    out.reserve(json.len() * 2);
    let mut depth = 0_usize;
    let mut rest = json;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'{' | b'[' => {
                out.push(byte);
                match rest.first() {
                    Some(&close @ (b'}' | b']')) => {
                        out.push(close);
                        rest = rest.get(1..).unwrap_or_default();
                    }
                    _ => {
                        depth += 1;
                        new_line(depth, out);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                new_line(depth, out);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                new_line(depth, out);
            }
            b':' => out.extend_from_slice(b": "),
            b'"' => {
                let (string, after) = rest.split_at_checked(string_len(rest)).unwrap_or_default();
                out.push(byte);
                out.extend_from_slice(string);
                rest = after;
            }
            _ => out.push(byte),
        }
    }
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', depth * 2));
}

/// The length of a string behind its opening quote, closing quote included.
fn string_len(rest: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += plain_len(rest.get(at..).unwrap_or_default());
        match rest.get(at) {
            None => return rest.len(),
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
        at = at.min(rest.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_json_is_laid_out_in_lines() {
        let check = |json: &str, expected: &str| {
            let mut out = Vec::new();
            indent(json.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        };
        check("{}", "{}");
        check("1", "1");
        check(
            r#"{"a":[],"b":{"c":[1,"x,\"{"]}}"#,
            "{\n  \"a\": [],\n  \"b\": {\n    \"c\": [\n      1,\n      \"x,\\\"{\"\n    ]\n  }\n}",
        );
    }
}
