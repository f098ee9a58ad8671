//! Tests of token headers and claims.
#![allow(clippy::unwrap_used)]

use jsontree::json;

use super::*;

fn token(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.c2ln", part(header), part(claims))
}

#[test]
fn signing_algorithm_must_be_allowed() {
    let check = |header: Value, expected: Result<(&str, &str), &str>| {
        let got = Header::of(&token(&header, &json!({})), &["RS256".to_owned(), "ES256".to_owned()]);
        let got = got.map(|header| (header.algorithm, header.key));
        let expected = expected.map(|(a, k)| (a.to_owned(), k.to_owned())).map_err(str::to_owned);
        assert_eq!(got.map_err(|error| error.to_string()), expected, "{header}");
    };
    check(json!({"alg": "RS256", "kid": "k"}), Ok(("RS256", "k")));
    check(json!({"alg": "ES256"}), Ok(("ES256", "")));
    let unsupported = "oidc: id token signed with unsupported algorithm, expected [\"RS256\" \"ES256\"] got ";
    check(json!({"alg": "none"}), Err(&format!("{unsupported}\"none\"")));
    check(json!({"alg": "HS256"}), Err(&format!("{unsupported}\"HS256\"")));
    check(json!({"kid": "k"}), Err("oidc: malformed jwt"));
    check(json!({"alg": "RS256", "crit": ["exp"]}), Err("oidc: malformed jwt"));
    check(json!({"alg": "RS256", "b64": false}), Err("oidc: malformed jwt"));
}

#[test]
fn a_token_names_its_issuer() {
    let of = |claims: Value| untrusted_issuer(&token(&json!({}), &claims));
    assert_eq!(of(json!({"iss": "https://i"})).as_deref(), Some("https://i"));
    assert_eq!(of(json!({"iss": "accounts.google.com"})).as_deref(), Some("https://accounts.google.com"));
    assert_eq!(of(json!({"iss": 1})), None);
    for text in ["", "a", "a.b", "a.b.c", "a.e30.c.d", "..", "{}"] {
        assert_eq!(untrusted_issuer(text), None, "{text}");
    }
}

#[test]
fn issuer_audience_and_times_are_checked() {
    let check = |claims: Value, audiences: &[&str], expected: Result<(), &str>| {
        let Value::Object(members) = claims.clone() else { panic!("{claims}") };
        let audiences: Vec<String> = audiences.iter().map(|&text| text.to_owned()).collect();
        let got = super::check(&members, "https://i", &audiences, UnixTime { seconds: 1000, nanos: 1 });
        assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{claims}");
    };
    let claims = |exp: Value, nbf: Value| json!({"iss": "https://i", "aud": "a", "exp": exp, "nbf": nbf});
    check(claims(json!(1001), json!(1060)), &["a"], Ok(()));
    check(claims(json!(1001.5), Value::Null), &["b", "a"], Ok(()));
    let expired = |at: &str| format!("oidc: token is expired (Token Expiry: {at})");
    check(claims(json!(1000), Value::Null), &["a"], Err(&expired("1970-01-01 00:16:40 +0000 UTC")));
    check(claims(Value::Null, Value::Null), &["a"], Err(&expired("0001-01-01 00:00:00 +0000 UTC")));
    check(claims(json!("1001"), Value::Null), &["a"], Err("oidc: failed to unmarshal claims: exp"));
    let early = "oidc: current time 1970-01-01 00:16:40 +0000 UTC before the nbf (not before) time: 1970-01-01 \
                 00:17:41 +0000 UTC";
    check(claims(json!(2000), json!(1061)), &["a"], Err(early));
    let good = claims(json!(2000), Value::Null);
    check(good.clone(), &["b"], Err("oidc: expected audience \"b\" got [\"a\"]"));
    check(good, &["c", "b"], Err("oidc: expected audience in [\"b\" \"c\"] got [\"a\"]"));
    let other = "oidc: id token issued by a different provider, expected \"https://i\" got \"https://j\"";
    check(json!({"iss": "https://j"}), &["a"], Err(other));
}
