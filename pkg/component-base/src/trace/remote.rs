//! Span of another process from its headers: W3C Trace Context, parsed like Go's propagator.

/// Span of another process, to which a request's span can be added or linked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSpan {
    /// Id of the trace, never all zeros.
    pub trace_id: [u8; 16],
    /// Id of the span within the trace, never all zeros.
    pub span_id: [u8; 8],
    /// True if the other process has sampled the span.
    pub sampled: bool,
    /// `tracestate` of vendors, passed on unchanged; empty if absent.
    pub state: String,
}

impl RemoteSpan {
    /// Parses `traceparent` and `tracestate`. Returns `None` if the former is absent or invalid.
    pub fn parse(parent: &str, state: &str) -> Option<Self> {
        let mut parts = parent.split('-');
        let [version] = hex(parts.next()?)?;
        let trace_id = hex(parts.next()?)?;
        let span_id = hex(parts.next()?)?;
        let [flags] = hex::<1>(parts.next()?)?;
        let understood = match version {
            0 => parts.next().is_none() && flags <= 2,
            0xff => false,
            _ => true,
        };
        let valid = trace_id != [0; 16] && span_id != [0; 8];
        let remote = RemoteSpan { trace_id, span_id, sampled: flags & 1 == 1, state: state.to_owned() };
        (understood && valid).then_some(remote)
    }
}

/// Parses exactly `N` bytes in lower-case hexadecimal.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let lower = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !lower || pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traceparent_parses_like_go() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let check = |text: &str, expected: Option<bool>| {
            let got = RemoteSpan::parse(text, "a=b");
            assert_eq!(got.as_ref().map(|span| span.sampled), expected, "{text}");
            if let Some(span) = got {
                assert_eq!(
                    (span.trace_id[..2].to_vec(), span.span_id[7]),
                    (vec![0x0a, 0xf7], 0x31),
                    "{text}"
                );
                assert_eq!(span.state, "a=b");
            }
        };
        check(&format!("00-{trace}-b7ad6b7169203331-01"), Some(true));
        check(&format!("00-{trace}-b7ad6b7169203331-00"), Some(false));
        check(&format!("00-{trace}-b7ad6b7169203331-02"), Some(false));
        check(&format!("00-{trace}-b7ad6b7169203331-03"), None);
        check(&format!("00-{trace}-b7ad6b7169203331-01-more"), None);
        check(&format!("cc-{trace}-b7ad6b7169203331-01-more"), Some(true));
        check(&format!("ff-{trace}-b7ad6b7169203331-01"), None);
        check(&format!("00-{}-b7ad6b7169203331-01", trace.to_uppercase()), None);
        check(&format!("00-{trace}-0000000000000000-01"), None);
        check("00-00000000000000000000000000000000-b7ad6b7169203331-01", None);
        check(&format!("00-{trace}-b7ad6b716920333-01"), None);
        check(&format!("00-{trace}-b7ad6b7169203é1-01"), None);
        check("", None);
        check("00-", None);
    }
}
