//! Tests of legacy tokens.
#![allow(clippy::unwrap_used)]

use component_base::clock::TestClock;
use serde_json::{Value, json};

use apimachinery::request_notes::Notes;

use super::*;
use crate::Error;
use crate::service_account::testing::*;
use crate::service_account::{ObjectState, SecretState};

/// Returns the claims of a legacy token, with changes.
fn claims(changes: &[(&str, &str)]) -> Value {
    let mut claims = json!({
        "iss": ISSUER_OF_SECRETS,
        "sub": "system:serviceaccount:ns:sa",
        "kubernetes.io/serviceaccount/namespace": "ns",
        "kubernetes.io/serviceaccount/secret.name": "tok",
        "kubernetes.io/serviceaccount/service-account.name": "sa",
        "kubernetes.io/serviceaccount/service-account.uid": "uid-sa",
    });
    for (name, value) in changes {
        claims[name] = json!(value);
    }
    claims
}

const ISSUER_OF_SECRETS: &str = super::ISSUER;

async fn authenticate(token: &str, objects: Option<Arc<Objects>>) -> Result<Option<TokenUser>, Error> {
    let objects = objects.map(|objects| objects as Arc<dyn TokenObjects>);
    let metrics = Arc::new(TokenMetrics::default());
    counted(token, objects, &metrics, &Notes::default()).await
}

async fn counted(
    token: &str,
    objects: Option<Arc<dyn TokenObjects>>,
    metrics: &Arc<TokenMetrics>,
    notes: &Notes,
) -> Result<Option<TokenUser>, Error> {
    let clock = Arc::new(TestClock::at(now()));
    let tokens = LegacyTokens::new(keys(&[RSA_PUBLIC]), texts(&[API]), objects, clock, Arc::clone(metrics));
    tokens.authenticate(token, &texts(&[API]), notes).await
}

#[tokio::test]
async fn claims_must_be_complete_and_consistent() {
    let check = async |changes: &[(&str, &str)], expected: Result<(), &str>| {
        let got = authenticate(&sign(RSA_PKCS1, &claims(changes)), None).await.map(|_| ());
        assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{changes:?}");
    };
    let claim_name = |name: &str| format!("kubernetes.io/serviceaccount/{name}");
    check(&[], Ok(())).await;
    check(&[("sub", "")], Err("sub claim is missing")).await;
    check(&[(&claim_name("namespace"), "")], Err("namespace claim is missing")).await;
    check(&[(&claim_name("secret.name"), "")], Err("secretName claim is missing")).await;
    check(&[(&claim_name("service-account.name"), "")], Err("serviceAccountName claim is missing")).await;
    check(&[(&claim_name("service-account.uid"), "")], Err("serviceAccountUID claim is missing")).await;
    for subject in [
        "ns:sa",
        "system:serviceaccount:other:sa",
        "system:serviceaccount:ns:other",
        "system:serviceaccount:ns",
    ] {
        check(&[("sub", subject)], Err("sub claim is invalid")).await;
    }
    let unfit =
        [("sub", "system:serviceaccount:ns:_"), ("kubernetes.io/serviceaccount/service-account.name", "_")];
    check(&unfit, Err("sub claim is invalid")).await;
    assert_eq!(authenticate(&sign(RSA_PKCS1, &claims(&[("iss", "x")])), None).await, Ok(None));
}

#[tokio::test]
async fn token_user_is_its_service_account() {
    let token_user = authenticate(&sign(RSA_PKCS1, &claims(&[])), None).await.unwrap().unwrap();
    assert_eq!((&*token_user.user.name, &*token_user.user.uid), ("system:serviceaccount:ns:sa", "uid-sa"));
    assert_eq!(token_user.user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
    assert_eq!((token_user.user.extra.len(), token_user.audiences), (0, texts(&[API])));
}

#[tokio::test]
async fn token_is_valid_while_secret_contains_it() {
    let token = sign(RSA_PKCS1, &claims(&[]));
    let held = || SecretState { token: token.clone().into_bytes(), ..SecretState::default() };
    let deleted = ObjectState { deletion: Some(NOW), ..ObjectState::default() };
    let account = |uid: &str, deletion| Some((uid.to_owned(), deletion));
    let check = async |secret: Option<SecretState>,
                       account: Option<(String, Option<i64>)>,
                       expected: Result<(), &str>| {
        let objects = Objects::default();
        *objects.secret.lock().unwrap() = secret;
        if let Some((uid, deletion)) = account {
            objects.put(ObjectKind::ServiceAccount, "sa", &uid, deletion);
        }
        let got = authenticate(&token, Some(Arc::new(objects))).await.map(|_| ());
        assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned));
    };
    let invalidated = Err("Token has been invalidated");
    check(Some(held()), account("uid-sa", None), Ok(())).await;
    check(None, account("uid-sa", None), invalidated).await;
    check(Some(SecretState { state: deleted, ..held() }), account("uid-sa", None), invalidated).await;
    let other = SecretState { token: b"other".to_vec(), ..held() };
    check(Some(other), account("uid-sa", None), Err("Token does not match server's copy")).await;
    check(Some(held()), None, Err("service account \"sa\" not found")).await;
    check(Some(held()), account("uid-sa", Some(0)), Err("ServiceAccount ns/sa has been deleted")).await;
    let mismatch = "ServiceAccount UID (new) does not match claim (uid-sa)";
    check(Some(held()), account("new", None), Err(mismatch)).await;
    let invalid = SecretState { invalid_since: "2026-01-01".to_owned(), ..held() };
    let text = "the token in secret ns/tok for service account ns/sa has been marked invalid. Use tokens from \
                the TokenRequest API or manually created secret-based tokens, or remove the \
                'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of \
                this token";
    check(Some(invalid), account("uid-sa", None), Err(text)).await;
}

#[tokio::test]
async fn every_use_is_recorded() {
    let token = sign(RSA_PKCS1, &claims(&[]));
    let metrics = Arc::new(TokenMetrics::default());
    let check = async |invalid: &str, last_used: &str, listed: &[&str], marked: &[&str], counts: [u64; 4]| {
        let objects = Arc::new(Objects::default());
        let secret = SecretState {
            token: token.clone().into_bytes(),
            invalid_since: invalid.to_owned(),
            last_used: last_used.to_owned(),
            ..SecretState::default()
        };
        *objects.secret.lock().unwrap() = Some(secret);
        *objects.listed.lock().unwrap() = texts(listed);
        objects.put(ObjectKind::ServiceAccount, "sa", "uid-sa", None);
        let notes = Notes::default();
        let _ = counted(&token, Some(Arc::clone(&objects) as Arc<dyn TokenObjects>), &metrics, &notes).await;
        let (kind, value) = match (invalid, listed) {
            ("", ["tok"]) => ("legacy-token-autogenerated-secret", "tok"),
            ("", _) => ("legacy-token-manual-secret", "tok"),
            _ => ("legacy-token-invalidated", "tok/ns"),
        };
        let mut expected = vec![(format!("authentication.k8s.io/{kind}").into(), value.to_owned())];
        if invalid.is_empty() {
            let subject = "system:serviceaccount:ns:sa".to_owned();
            expected.push(("authentication.k8s.io/legacy-token".into(), subject));
        }
        assert_eq!(notes.annotations(), expected);
        assert_eq!(notes.warnings().len(), usize::from(kind == "legacy-token-autogenerated-secret"));
        assert_eq!(*objects.used.lock().unwrap(), texts(marked), "{last_used}");
        let TokenMetrics { invalid, auto, manual, legacy, .. } = &*metrics;
        let seen = [invalid, auto, manual, legacy];
        assert_eq!(seen.map(|counter| counter.get()), counts);
    };
    let today = "1970-01-12";
    check("", "", &["other"], &[today], [0, 0, 1, 1]).await;
    check("", "1970-01-11", &["tok"], &[today], [0, 1, 1, 2]).await;
    check("", today, &[], &[], [0, 1, 2, 3]).await;
    check("", "1970-01-13", &[], &[], [0, 1, 3, 4]).await;
    check("1970-01-02", "", &["tok"], &[today], [1, 1, 3, 4]).await;
}
