//! Tests of claim mapping.
#![allow(clippy::unwrap_used)]

use apimachinery::field::Path;
use jsontree::json;

use super::super::expressions::Compiler;
use super::super::validate::{Limits, authenticator};
use super::*;

/// Returns the user for claims: name, groups, uid and extra.
fn user(config: &Json, claims: Json) -> Result<Json, Error> {
    let mut config = config.clone();
    config["issuer"] = json!({"url": "https://i", "audiences": ["a"]});
    let config: JwtAuthenticator = jsontree::from_value(config).unwrap();
    let (expressions, errors) = authenticator(&Compiler::new(), &config, &Path::NIL, &Limits::default());
    assert_eq!(errors, []);
    let Json::Object(claims) = claims else { panic!("{claims}") };
    let user = ClaimMapper { config, expressions }.user(&claims)?;
    Ok(json!([user.name, user.groups, user.uid, user.extra]))
}

fn check(config: &Json, claims: Json, expected: Result<Json, &str>) {
    let shown = claims.to_string();
    assert_eq!(
        user(config, claims).map_err(|error| error.to_string()),
        expected.map_err(str::to_owned),
        "{shown}"
    );
}

#[test]
fn claims_map_to_name_groups_and_uid() {
    let config = json!({"claimMappings": {
        "username": {"claim": "sub", "prefix": "u:"},
        "groups": {"claim": "roles", "prefix": "g:"},
        "uid": {"claim": "id"},
    }});
    let ann = |roles: Json| json!({"sub": "ann", "roles": roles, "id": "7", "jti": "x"});
    let extra = json!({EXTRA_CREDENTIAL_ID: ["JTI=x"]});
    check(&config, ann(json!(["a", "b"])), Ok(json!(["u:ann", ["g:a", "g:b"], "7", extra])));
    check(&config, ann(json!("a")), Ok(json!(["u:ann", ["g:a"], "7", extra])));
    check(&config, json!({"sub": "ann", "id": "7"}), Ok(json!(["u:ann", [], "7", {}])));
    check(&config, json!({"id": "7"}), Err("oidc: parse username claims \"sub\": claim not present"));
    let mistyped =
        "oidc: parse username claims \"sub\": json: cannot unmarshal number into Go value of type string";
    check(&config, json!({"sub": 1}), Err(mistyped));
    let mistyped =
        "oidc: parse groups claim \"roles\": json: cannot unmarshal object into Go value of type string";
    check(&config, ann(json!({})), Err(mistyped));
    check(&config, json!({"sub": "ann"}), Err("oidc: parse uid claim \"id\": claim not present"));
}

#[test]
fn unverified_email_is_rejected() {
    let config = json!({"claimMappings": {"username": {"claim": "email", "prefix": ""}}});
    let ann = |verified: Json| json!({"email": "a@b", "email_verified": verified});
    check(&config, ann(json!(true)), Ok(json!(["a@b", [], "", {}])));
    check(&config, json!({"email": "a@b"}), Ok(json!(["a@b", [], "", {}])));
    check(&config, ann(json!(false)), Err("oidc: email not verified"));
    let mistyped =
        "oidc: parse 'email_verified' claim: json: cannot unmarshal string into Go value of type bool";
    check(&config, ann(json!("true")), Err(mistyped));
}

#[test]
fn expressions_map_claims() {
    let config = json!({"claimMappings": {
        "username": {"expression": "claims.name + ':' + claims.org.name__dash__x"},
        "groups": {"expression": "claims.?roles.orValue([])"},
        "uid": {"expression": "string(claims.number)"},
        "extra": [
            {"key": "a.b/c", "valueExpression": "claims.?more.orValue('')"},
            {"key": "a.b/d", "valueExpression": "[string(claims.org.name__dash__x), '', 'z']"},
        ],
    }});
    let ann = json!({"name": "ann", "org": {"name-x": "o"}, "number": 5, "roles": ["r", ""]});
    check(&config, ann, Ok(json!(["ann:o", ["r"], "5", {"a.b/d": ["o", "z"]}])));
    let ann = |roles: Json, number: Json| json!({"name": "ann", "org": {"name-x": "o"}, "number": number, "roles": roles, "more": "m"});
    let extra = json!({"a.b/c": ["m"], "a.b/d": ["o", "z"]});
    check(&config, ann(json!("r"), json!("n")), Ok(json!(["ann:o", ["r"], "n", extra])));
    let refused =
        "oidc: error evaluating group claim expression: expression must return a string or a list of strings";
    check(&config, ann(json!([1]), json!("n")), Err(refused));
    let refused = "oidc: error evaluating username claim expression: expression 'claims.name + ':' + \
                   claims.org.name__dash__x' resulted in error: no such key: name";
    check(&config, json!({}), Err(refused));
}

#[test]
fn name_expression_must_return_nonempty_string() {
    let config = json!({"claimMappings": {"username": {"expression": "claims.name"}}});
    check(&config, json!({"name": ""}), Err("oidc: empty username via CEL expression is not allowed"));
    let refused =
        "oidc: error evaluating username claim expression: username claim expression must return a string";
    check(&config, json!({"name": 1}), Err(refused));
}

#[test]
fn rules_reject_claims_and_users() {
    let config = json!({
        "claimMappings": {"username": {"claim": "sub", "prefix": ""}, "groups": {"claim": "g", "prefix": ""}},
        "claimValidationRules": [
            {"claim": "hd", "requiredValue": "example.com"},
            {"expression": "claims.exp - claims.nbf <= 86400.0", "message": "lives too long"},
        ],
        "userValidationRules": [
            {"expression": "!user.username.startsWith('system:')", "message": "reserved"},
            {"expression": "user.groups.all(g, g != 'bad')"},
        ],
    });
    let claims = |sub: &str, group: &str, hd: Json, exp: i64| json!({"sub": sub, "g": [group], "hd": hd, "exp": exp, "nbf": 0});
    check(&config, claims("ann", "g", json!("example.com"), 60), Ok(json!(["ann", ["g"], "", {}])));
    let missing = "oidc: required claim hd not present in ID token";
    check(&config, json!({"sub": "ann"}), Err(missing));
    let other = "oidc: required claim hd value does not match. Got = x, want = example.com";
    check(&config, claims("ann", "g", json!("x"), 60), Err(other));
    let number = "oidc: parse claim hd: json: cannot unmarshal number into Go value of type string";
    check(&config, claims("ann", "g", json!(5), 60), Err(number));
    let long = "oidc: error evaluating claim validation expression: validation expression 'claims.exp - claims.nbf <= \
                86400.0' failed: lives too long";
    check(&config, claims("ann", "g", json!("example.com"), 90_000), Err(long));
    let reserved = "oidc: error evaluating user info validation rule: validation expression \
                    '!user.username.startsWith('system:')' failed: reserved";
    check(&config, claims("system:x", "g", json!("example.com"), 60), Err(reserved));
    let bad = "oidc: error evaluating user info validation rule: validation expression 'user.groups.all(g, g != \
               'bad')' failed: ";
    check(&config, claims("ann", "bad", json!("example.com"), 60), Err(bad));
}
