//! A request's query, decoded as Go's `net/url` does it.

use std::borrow::Cow;

/// The parameters of a query, in order. Pairs that contain `;` or broken escapes are left out, as
/// Go leaves them out.
#[derive(Debug, Default)]
pub struct Query<'q>(Vec<(Cow<'q, str>, Cow<'q, str>)>);

impl<'q> Query<'q> {
    /// Decodes the part of a URL after `?`.
    pub fn parse(raw: &'q str) -> Self {
        let pairs =
            raw.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(key, true)?, decode(value, true)?))
            });
        Query(pairs.collect())
    }

    /// The first value of a parameter.
    pub fn first(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_ref())
    }

    /// Every value of a parameter.
    pub fn all<'s>(&'s self, key: &'s str) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(move |(k, _)| k == key).map(|(_, value)| value.as_ref())
    }
}

/// Decodes a path. `None` for a broken escape, which Go's server answers with 400.
pub(crate) fn decode_path(raw: &str) -> Option<Cow<'_, str>> {
    decode(raw, false)
}

/// Undoes `%XX`, and `+` where it means a space. Bytes that are no UTF-8 become U+FFFD.
fn decode(raw: &str, plus_is_space: bool) -> Option<Cow<'_, str>> {
    if !raw.contains(['%', '+']) {
        return Some(Cow::Borrowed(raw));
    }
    let mut bytes = raw.bytes();
    let mut out = Vec::with_capacity(raw.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    Some(Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_as_go_decodes_them() {
        let check = |raw: &str, expected: &[(&str, &str)]| {
            let query = Query::parse(raw);
            let got: Vec<_> = query.0.iter().map(|(k, v)| (k.as_ref(), v.as_ref())).collect();
            assert_eq!(got, expected, "{raw}");
        };
        check("", &[]);
        check("a=1&b&a=2", &[("a", "1"), ("b", ""), ("a", "2")]);
        check("a=x+y%20z%3D", &[("a", "x y z=")]);
        check("a=%zz&b=%4&c=%&d=1;e=2&f=3", &[("f", "3")]);
        check("a=b=c&=x", &[("a", "b=c"), ("", "x")]);
        check("a=%ff", &[("a", "\u{fffd}")]);
    }

    #[test]
    fn the_first_value_counts_and_all_can_be_had() {
        let query = Query::parse("exclude=etcd&exclude=ping&verbose");
        assert_eq!(
            (query.first("exclude"), query.first("verbose"), query.first("x")),
            (Some("etcd"), Some(""), None)
        );
        assert_eq!(query.all("exclude").collect::<Vec<_>>(), ["etcd", "ping"]);
    }

    #[test]
    fn a_plus_in_a_path_is_a_plus() {
        assert_eq!(decode_path("/a+b%2Fc").as_deref(), Some("/a+b/c"));
        assert_eq!(decode_path("/a%2"), None);
    }
}
