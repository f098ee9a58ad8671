//! Parses tokens before signature verification, and checks their claims afterwards. Performs no I/O.

use apimachinery::go_quote::quote;
use apimachinery::time::UnixTime;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsontree::Value;
use serde::Deserialize;

use super::claims::{Claims, one_or_many};
use crate::Error;

/// Tolerated clock skew of an issuer that is ahead, in seconds.
const LEEWAY_SECONDS: i64 = 60;
/// An issuer whose tokens omit the scheme in `iss`.
const GOOGLE: (&str, &str) = ("accounts.google.com", "https://accounts.google.com");

/// Header fields that describe the signature.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Header {
    #[serde(rename = "alg")]
    pub(super) algorithm: String,
    /// Id of the signing key; may be empty.
    #[serde(rename = "kid", default)]
    pub(super) key: String,
    #[serde(default)]
    crit: Option<Value>,
    #[serde(default)]
    b64: Option<Value>,
}

impl Header {
    /// Parses the header of a token. The algorithm must be one of `allowed`.
    ///
    /// # Errors
    /// Upstream's message, without the token.
    pub(super) fn of(token: &str, allowed: &[String]) -> Result<Self, Error> {
        let malformed = || Error::credential("oidc: malformed jwt".to_owned());
        let (header, _) = token.split_once('.').ok_or_else(malformed)?;
        let header = URL_SAFE_NO_PAD.decode(header).map_err(|_| malformed())?;
        let header: Header = serde_json::from_slice(&header).map_err(|_| malformed())?;
        // Critical extensions (RFC 7515, 4.1.11; RFC 7797). None is supported.
        if header.crit.is_some() || header.b64.is_some() {
            return Err(malformed());
        }
        if !allowed.contains(&header.algorithm) {
            let expected: Vec<String> = allowed.iter().map(|name| quote(name)).collect();
            return Err(Error::credential(format!(
                "oidc: id token signed with unsupported algorithm, expected [{}] got {}",
                expected.join(" "),
                quote(&header.algorithm)
            )));
        }
        Ok(header)
    }
}

/// Returns the `iss` claim of a token. The signature is not verified yet.
pub(super) fn untrusted_issuer(token: &str) -> Option<String> {
    let mut segments = token.split('.');
    let (Some(_), Some(payload), Some(_), None) =
        (segments.next(), segments.next(), segments.next(), segments.next())
    else {
        return None;
    };
    #[derive(Deserialize)]
    struct IssuerClaim {
        #[serde(default)]
        iss: String,
    }
    let issued: IssuerClaim = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    Some(if issued.iss == GOOGLE.0 { GOOGLE.1.to_owned() } else { issued.iss })
}

/// Checks issuer, audiences and times of verified claims.
///
/// # Errors
/// Upstream's message.
pub(super) fn check(claims: &Claims, issuer: &str, audiences: &[String], now: UnixTime) -> Result<(), Error> {
    let unreadable =
        |message: &str| Error::credential(format!("oidc: failed to unmarshal claims: {message}"));
    let issued = match claims.get("iss") {
        None | Some(Value::Null) => "",
        Some(Value::String(issued)) => issued,
        Some(_) => return Err(unreadable("iss is no text")),
    };
    if issued != issuer && (issued, issuer) != GOOGLE {
        return Err(Error::credential(format!(
            "oidc: id token issued by a different provider, expected {} got {}",
            quote(issuer),
            quote(issued)
        )));
    }
    let token_audiences = claims.get("aud").map_or(Ok(Vec::new()), one_or_many);
    let token_audiences =
        token_audiences.map_err(|error| error.context("oidc: failed to unmarshal claims"))?;
    if !audiences.iter().any(|audience| token_audiences.contains(audience)) {
        let list = |texts: &[String]| texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(" ");
        return Err(Error::credential(match audiences {
            [one] => format!("oidc: expected audience {} got [{}]", quote(one), list(&token_audiences)),
            several => {
                let mut sorted = several.to_vec();
                sorted.sort_unstable();
                format!("oidc: expected audience in [{}] got [{}]", list(&sorted), list(&token_audiences))
            }
        }));
    }
    let expires = date(claims, "exp").map_err(unreadable)?;
    if expires.is_none_or(|expires| expires < now.seconds || (expires == now.seconds && now.nanos > 0)) {
        let shown = expires.map_or_else(|| "0001-01-01 00:00:00 +0000 UTC".to_owned(), go_time);
        return Err(Error::credential(format!("oidc: token is expired (Token Expiry: {shown})")));
    }
    match date(claims, "nbf").map_err(unreadable)? {
        Some(begins) if now.seconds.saturating_add(LEEWAY_SECONDS) < begins => {
            Err(Error::credential(format!(
                "oidc: current time {} before the nbf (not before) time: {}",
                go_time(now.seconds),
                go_time(begins)
            )))
        }
        _ => Ok(()),
    }
}

/// Reads a date in seconds since 1970. The fraction is dropped.
fn date<'n>(claims: &Claims, name: &'n str) -> Result<Option<i64>, &'n str> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) => {
            Ok(Some(number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64)))
        }
        Some(_) => Err(name),
    }
}

/// Formats a time as Go does.
fn go_time(seconds: i64) -> String {
    let text = UnixTime { seconds, nanos: 0 }.rfc3339().to_string();
    match text.strip_suffix('Z').and_then(|text| text.split_once('T')) {
        Some((date, time)) => format!("{date} {time} +0000 UTC"),
        None => text,
    }
}

#[cfg(test)]
mod tests;
