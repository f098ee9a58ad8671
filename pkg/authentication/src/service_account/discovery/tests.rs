//! Tests of the discovery documents.
#![allow(clippy::unwrap_used)]

use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use serde_json::{Value, json};

use super::*;
use crate::service_account::testing::*;

#[test]
fn configuration_contains_issuer_and_keys_url() {
    let check = |keys_uri: Option<&str>, expected: &str| {
        let keys = keys(&[RSA_PUBLIC, P256_PUBLIC, RSA_CERTIFICATE]);
        let documents = OpenIdDocuments::new(ISSUER, keys_uri, "192.0.2.1:6443", &keys).unwrap();
        let expected = format!(
            "{{\"issuer\":\"https://issuer\",\"jwks_uri\":\"{expected}\",\"response_types_supported\":[\"id_token\"],\
             \"subject_types_supported\":[\"public\"],\"id_token_signing_alg_values_supported\":[\"ES256\",\"RS256\"]}}"
        );
        assert_eq!(String::from_utf8(documents.configuration).unwrap(), expected);
    };
    check(None, "https://192.0.2.1:6443/openid/v1/jwks");
    check(Some("https://keys/x"), "https://keys/x");
}

#[test]
fn the_published_keys_verify_what_is_issued() {
    let keys = keys(&[RSA_PUBLIC, P256_PUBLIC, P384_PUBLIC]);
    let documents = OpenIdDocuments::new(ISSUER, None, "x", &keys).unwrap();
    let set: JwkSet = serde_json::from_slice(&documents.keys).unwrap();
    for signer in [RSA_PKCS1, P256_SEC1, P384_SEC1] {
        let token = issue(signer, grant());
        let header = decode_header(&token).unwrap();
        let key = set.find(&header.kid.unwrap()).unwrap();
        let mut validation = Validation::new(header.alg);
        validation.validate_exp = false;
        validation.set_audience(&[API]);
        let data = decode::<Value>(&token, &DecodingKey::from_jwk(key).unwrap(), &validation).unwrap();
        assert_eq!(data.claims["iss"], json!(ISSUER));
    }
    let set: Value = serde_json::from_slice(&documents.keys).unwrap();
    let members = |at: usize| set["keys"][at].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(members(0), ["alg", "e", "kid", "kty", "n", "use"].map(str::to_owned).into());
    assert_eq!(members(1), ["alg", "crv", "kid", "kty", "use", "x", "y"].map(str::to_owned).into());
}

#[test]
fn invalid_issuer_has_no_documents() {
    let check = |issuer: &str, keys_uri: Option<&str>, files: &[&str], expected: &str| {
        let refused = OpenIdDocuments::new(issuer, keys_uri, "x", &keys(files)).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    };
    let rsa = &[RSA_PUBLIC];
    check("", None, rsa, "empty issuer URL");
    check("api", None, rsa, "issuer URL must use https scheme, got: api");
    check("http://x", None, rsa, "issuer URL must use https scheme, got: http://x");
    check("https://x?y", None, rsa, "issuer URL may not include a query, got: https://x?y");
    check("https://x#y?z", None, rsa, "issuer URL may not include a fragment, got: https://x#y?z");
    check("https://x", Some("http://k"), rsa, "jwksURI requires https scheme, parsed as: http://k");
    check("https://x", None, &[], "no keys provided for validating keyset");
}
