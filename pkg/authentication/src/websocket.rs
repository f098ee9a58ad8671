//! Bearer tokens of WebSocket requests. Browsers can set only the list of subprotocols, so one entry is
//! `base64url.bearer.authorization.k8s.io.` plus the token in base64url without padding.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::{CONNECTION, HeaderValue, SEC_WEBSOCKET_PROTOCOL, UPGRADE};

const PREFIX: &str = "base64url.bearer.authorization.k8s.io.";

/// Returns the token of a WebSocket request; `None` if there is none, or for other requests.
///
/// # Errors
/// Upstream's message about an invalid list.
pub(crate) fn token(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    if !is_websocket(headers) {
        return Ok(None);
    }
    let mut token = None;
    let mut others = false;
    for protocol in protocols(headers) {
        let Some(encoded) = protocol.strip_prefix(PREFIX) else {
            others = true;
            continue;
        };
        if token.is_some() {
            return Err("multiple base64.bearer.authorization tokens specified");
        }
        let decoded = URL_SAFE_NO_PAD.decode(encoded);
        let decoded = decoded.map_err(|_| "invalid base64.bearer.authorization token encoding")?;
        token = Some(String::from_utf8(decoded).map_err(|_| "invalid base64.bearer.authorization token")?);
    }
    match token.filter(|token| !token.is_empty()) {
        Some(_) if !others => Err("missing additional subprotocol"),
        token => Ok(token),
    }
}

/// Removes tokens from the list of subprotocols, so that later stages cannot see them.
pub fn clear(headers: &mut HeaderMap) {
    if !protocols(headers).any(|protocol| protocol.starts_with(PREFIX)) {
        return;
    }
    let remaining: Vec<_> = protocols(headers).filter(|protocol| !protocol.starts_with(PREFIX)).collect();
    match HeaderValue::try_from(remaining.join(",")) {
        Ok(remaining) if !remaining.is_empty() => headers.insert(SEC_WEBSOCKET_PROTOCOL, remaining),
        _ => headers.remove(SEC_WEBSOCKET_PROTOCOL),
    };
}

fn protocols(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let texts = values.map(|value| std::str::from_utf8(value.as_bytes()).unwrap_or_default());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

fn is_websocket(headers: &HeaderMap) -> bool {
    let text =
        |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let upgrades = text(CONNECTION).split(',').any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
    upgrades && text(UPGRADE).eq_ignore_ascii_case("websocket")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(protocols: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONNECTION, HeaderValue::from_static("keep-alive, Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("WebSocket"));
        for protocol in protocols {
            headers.append(SEC_WEBSOCKET_PROTOCOL, protocol.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_subprotocol_may_carry_a_token() {
        let check = |protocols: &[&str], expected: Result<Option<&str>, &str>| {
            let actual = token(&headers(protocols));
            assert_eq!(actual.as_ref().map(Option::as_deref), expected.as_ref().copied(), "{protocols:?}");
        };
        let bearer = |encoded: &str| format!("{PREFIX}{encoded}");
        check(&[], Ok(None));
        check(&["v5.channel.k8s.io"], Ok(None));
        check(&[&format!("{}, v5.channel.k8s.io", bearer("dG9rZW4"))], Ok(Some("token")));
        check(&["v5.channel.k8s.io", &bearer("dG9rZW4")], Ok(Some("token")));
        check(&[&bearer("dG9rZW4")], Err("missing additional subprotocol"));
        check(&["x", &bearer("")], Ok(None));
        check(&["x", &bearer("dG9rZW4=")], Err("invalid base64.bearer.authorization token encoding"));
        check(&["x", &bearer("_w")], Err("invalid base64.bearer.authorization token"));
        check(
            &["x", &bearer("YQ"), &bearer("Yg")],
            Err("multiple base64.bearer.authorization tokens specified"),
        );
        let mut plain = headers(&["x", &bearer("dG9rZW4")]);
        plain.remove(UPGRADE);
        assert_eq!(token(&plain), Ok(None), "no request for a WebSocket");
    }

    #[test]
    fn token_is_removed_from_subprotocols() {
        let mut with = headers(&[&format!("a, {PREFIX}dG9rZW4"), "b"]);
        clear(&mut with);
        let remaining: Vec<_> = with.get_all(SEC_WEBSOCKET_PROTOCOL).iter().collect();
        assert_eq!(remaining, ["a,b"]);
        let mut alone = headers(&[&format!("{PREFIX}dG9rZW4")]);
        clear(&mut alone);
        assert!(!alone.contains_key(SEC_WEBSOCKET_PROTOCOL));
    }
}
