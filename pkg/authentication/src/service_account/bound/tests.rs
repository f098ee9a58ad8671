//! Tests of bound tokens.
#![allow(clippy::unwrap_used)]

use component_base::clock::TestClock;
use serde_json::json;

use apimachinery::request_notes::Notes;

use super::*;
use crate::EXTRA_CREDENTIAL_ID;
use crate::Error;
use crate::service_account::testing::*;
use crate::service_account::{Attestations, Grant, WARN_AFTER_SECONDS};

/// An authenticator and fake objects with the service account `sa`.
struct World {
    tokens: BoundTokens,
    objects: Arc<Objects>,
    clock: Arc<TestClock>,
    notes: Notes,
}

impl World {
    fn new() -> Self {
        let objects = Arc::new(Objects::default());
        let clock = Arc::new(TestClock::at(now()));
        objects.put(ObjectKind::ServiceAccount, "sa", "uid-sa", None);
        let files = [RSA_PUBLIC, P256_PUBLIC, P384_PUBLIC, P521_PUBLIC];
        let issuers = texts(&[ISSUER, "https://former"]);
        let tokens = BoundTokens::new(
            issuers,
            keys(&files),
            texts(&[API]),
            Arc::clone(&objects) as _,
            Arc::clone(&clock) as _,
            Arc::default(),
        );
        World { tokens, objects, clock, notes: Notes::default() }
    }

    async fn authenticate(&self, token: &str) -> Result<Option<TokenUser>, Error> {
        self.tokens.authenticate(token, &texts(&[API]), &self.notes).await
    }

    async fn refused(&self, token: &str, reason: &str) {
        assert_eq!(self.authenticate(token).await.map_err(|error| error.to_string()), Err(reason.to_owned()));
    }

    async fn accepted(&self, token: &str) -> UserInfo {
        self.authenticate(token).await.unwrap().unwrap().user
    }
}

#[tokio::test]
async fn all_key_types_are_accepted() {
    for key in [RSA_PKCS1, RSA_PKCS8, P256_SEC1, P256_PKCS8, P384_SEC1, P521_SEC1] {
        let user = World::new().accepted(&issue(key, grant())).await;
        assert_eq!((&*user.name, &*user.uid), ("system:serviceaccount:ns:sa", "uid-sa"));
        assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:ns"]);
        assert_eq!(json!(user.extra), json!({EXTRA_CREDENTIAL_ID: ["JTI=id"]}));
    }
}

#[tokio::test]
async fn rsa_key_verifies_all_rsa_algorithms() {
    let key = crate::service_account::SigningKey::from_pem(RSA_PKCS1).unwrap();
    let claims = Claims { issuer: ISSUER.to_owned(), ..Claims::of(grant()) };
    for algorithm in [jsonwebtoken::Algorithm::RS512, jsonwebtoken::Algorithm::PS256] {
        // Without a key id, all keys are tried.
        let header = jsonwebtoken::Header::new(algorithm);
        let token = jsonwebtoken::encode(&header, &claims, &key.encoding).unwrap();
        World::new().accepted(&token).await;
    }
}

#[tokio::test]
async fn other_issuer_is_ignored() {
    let world = World::new();
    let foreign = sign(RSA_PKCS1, &json!({"iss": "https://other"}));
    let twice = issue(RSA_PKCS1, grant()) + ".x";
    let short = issue(RSA_PKCS1, grant()).rsplit_once('.').unwrap().0.to_owned();
    for token in ["", "x", "a.b.c", "{\"iss\": \"https://issuer\"}", &foreign, &twice, &short] {
        assert_eq!(world.authenticate(token).await, Ok(None), "{token}");
    }
}

#[tokio::test]
async fn forged_signature_is_rejected() {
    let world = World::new();
    let forged = "go-jose/go-jose: error in cryptographic primitive";
    let good = issue(RSA_PKCS1, grant());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let other = issue(RSA_PKCS1, Grant { seconds: 7200, ..grant() });
    let (_, other_signature) = other.rsplit_once('.').unwrap();
    world.refused(&format!("{message}.{other_signature}"), forged).await;
    world.refused(&format!("{message}."), forged).await;
    world.refused(&format!("{message}.{}", signature.to_uppercase()), forged).await;
    let unknown = crate::service_account::SigningKey::generate_pem().unwrap();
    world.refused(&issue(&unknown, grant()), "invalid signature, no keys found").await;
    // The key id must match the signing key, and a public key is not secret.
    let key = crate::service_account::SigningKey::from_pem(P256_SEC1).unwrap();
    let rsa = crate::service_account::SigningKey::from_pem(RSA_PKCS1).unwrap();
    let claims = Claims { issuer: ISSUER.to_owned(), ..Claims::of(grant()) };
    let header = |algorithm| jsonwebtoken::Header {
        kid: Some(rsa.public.id.clone()),
        ..jsonwebtoken::Header::new(algorithm)
    };
    let token =
        jsonwebtoken::encode(&header(key.public.algorithm.library().unwrap()), &claims, &key.encoding)
            .unwrap();
    world.refused(&token, forged).await;
    let critical =
        jsonwebtoken::Header { crit: Some(vec!["x".to_owned()]), ..header(jsonwebtoken::Algorithm::RS256) };
    world.refused(&jsonwebtoken::encode(&critical, &claims, &rsa.encoding).unwrap(), forged).await;
    // A P-521 signature must match its own token.
    let es512 = issue(P521_SEC1, grant());
    let (message, signature) = es512.rsplit_once('.').unwrap();
    let other = issue(P521_SEC1, Grant { seconds: 7200, ..grant() });
    world.refused(&format!("{message}.{}", other.rsplit_once('.').unwrap().1), forged).await;
    world.refused(&format!("{message}.{}", &signature[4..]), forged).await;
    // {"alg":"ES512"}, signed with another algorithm or not at all.
    let (_, payload) = good.rsplit_once('.').unwrap().0.split_once('.').unwrap();
    world.refused(&format!("eyJhbGciOiJFUzUxMiJ9.{payload}.{signature}"), forged).await;
    world.refused(&format!("eyJhbGciOiJFUzUxMiJ9.{payload}."), forged).await;
    // {"alg":"none"}
    world.refused(&format!("eyJhbGciOiJub25lIn0.{payload}."), forged).await;
    let secret = jsonwebtoken::EncodingKey::from_secret(RSA_PUBLIC.as_bytes());
    let token = jsonwebtoken::encode(&header(jsonwebtoken::Algorithm::HS256), &claims, &secret).unwrap();
    world.refused(&token, forged).await;
}

#[tokio::test]
async fn audience_must_match() {
    let tokens = World::new().tokens;
    let check = async |token_audiences: &[&str], requested: &[&str], expected: Result<&[&str], &str>| {
        let token = issue(P256_SEC1, Grant { audiences: texts(token_audiences), ..grant() });
        let audiences = tokens.authenticate(&token, &texts(requested), &Notes::default()).await;
        let audiences =
            audiences.map(|token_user| token_user.map(|token_user| token_user.audiences).unwrap_or_default());
        assert_eq!(
            audiences.map_err(|error| error.to_string()),
            expected.map(texts).map_err(str::to_owned),
            "{token_audiences:?} {requested:?}"
        );
    };
    check(&[API], &[API], Ok(&[API])).await;
    check(&[API, "a"], &["b", "a", API], Ok(&["a", API])).await;
    check(&[], &[API], Ok(&[API])).await;
    let wrong = "token audiences [\"a\" \"b\\\"\"] is invalid for the target audiences [\"https://api\"]";
    check(&["a", "b\""], &[API], Err(wrong)).await;
    let implicit = "token audiences [\"https://api\"] is invalid for the target audiences [\"a\" \"b\"]";
    check(&[], &["a", "b"], Err(implicit)).await;
}

#[tokio::test]
async fn lifetime_has_one_minute_leeway() {
    let check = async |shift: i64, nanos: u32, expected: Result<(), &str>| {
        let world = World::new();
        world.clock.set(UnixTime { seconds: NOW + shift, nanos });
        let got = world.authenticate(&issue(P256_SEC1, grant())).await.map(|_| ());
        assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{shift}");
    };
    check(0, 0, Ok(())).await;
    check(-60, 0, Ok(())).await;
    check(-61, 999, Err("service account token is not valid yet")).await;
    check(3660, 0, Ok(())).await;
    check(3660, 1, Err("service account token has expired")).await;
    let world = World::new();
    let future = json!({"iss": ISSUER, "aud": API, "iat": NOW + 61});
    world.refused(&sign(P256_SEC1, &future), "service account token is issued in the future").await;
    let text = json!({"iss": ISSUER, "aud": API, "exp": "x"});
    let reason = "go-jose/go-jose/jwt: expected number value to unmarshal NumericDate";
    world.refused(&sign(P256_SEC1, &text), reason).await;
}

#[tokio::test]
async fn a_token_ends_with_its_service_account() {
    let world = World::new();
    let token = issue(P256_SEC1, grant());
    let kind = ObjectKind::ServiceAccount;
    world.objects.put(kind, "sa", "uid-sa", Some(-60));
    world.accepted(&token).await;
    world.objects.put(kind, "sa", "uid-sa", Some(-61));
    world.refused(&token, "service account ns/sa has been deleted").await;
    world.objects.put(kind, "sa", "new", None);
    world.refused(&token, "service account UID (new) does not match claim (uid-sa)").await;
    world.objects.states.lock().unwrap().clear();
    world.refused(&token, "service account \"sa\" not found").await;
}

#[tokio::test]
async fn token_ends_with_bound_object() {
    let check = async |kind: ObjectKind, grant: Grant, mismatch: &str| {
        let mut world = World::new();
        world.tokens.accepts_webhook_tokens = true;
        let token = issue(P256_SEC1, grant);
        let invalidated = "service account token has been invalidated";
        world.refused(&token, invalidated).await;
        world.objects.put(kind, "o", "uid-o", Some(-60));
        world.accepted(&token).await;
        world.objects.put(kind, "o", "uid-o", Some(-61));
        world.refused(&token, invalidated).await;
        world.objects.put(kind, "o", "new", None);
        world.refused(&token, mismatch).await;
    };
    let bound = || Some(named("o"));
    let mismatch = "pod UID (new) does not match service account pod ref claim (uid-o)";
    check(ObjectKind::Pod, Grant { pod: bound(), ..grant() }, mismatch).await;
    let mismatch = "secret UID (new) does not match service account secret ref claim (uid-o)";
    check(ObjectKind::Secret, Grant { secret: bound(), ..grant() }, mismatch).await;
    let mismatch = "node UID (new) does not match service account node ref claim (uid-o)";
    check(ObjectKind::Node, Grant { node: bound(), ..grant() }, mismatch).await;
    let webhook = || Grant { attestations: attestations(), ..grant() };
    let kind = ObjectKind::ValidatingWebhookConfiguration;
    let mismatch = "ValidatingWebhookConfiguration UID (new) does not match service account validating ref claim (uid-o)";
    check(kind, Grant { validating_webhook: bound(), ..webhook() }, mismatch).await;
    let kind = ObjectKind::MutatingWebhookConfiguration;
    let mismatch =
        "MutatingWebhookConfiguration UID (new) does not match service account validating ref claim (uid-o)";
    check(kind, Grant { mutating_webhook: bound(), ..webhook() }, mismatch).await;
}

fn attestations() -> Attestations {
    [(ADMISSION_REVIEW_API_GROUPS.to_owned(), vec!["apps".to_owned()])].into()
}

#[tokio::test]
async fn webhook_token_needs_gate_and_attestation() {
    let mut world = World::new();
    let grant = Grant { validating_webhook: Some(named("o")), ..grant() };
    let token = issue(P256_SEC1, grant);
    let disabled =
        "feature gate \"APIServerWebhookAuthenticationToken\" is disabled, but token is webhook bound";
    world.refused(&token, disabled).await;
    world.tokens.accepts_webhook_tokens = true;
    let missing =
        "bound object was a webhook config, but \"admissionReviewAPIGroups\" attestation is missing";
    world.refused(&token, missing).await;
}

#[tokio::test]
async fn user_extra_contains_bound_objects() {
    let check = async |grant: Grant, extra: serde_json::Value| {
        let mut world = World::new();
        world.tokens.accepts_webhook_tokens = true;
        world.objects.put(ObjectKind::Pod, "p", "uid-p", None);
        world.objects.put(ObjectKind::Node, "n", "uid-n", None);
        world.objects.put(ObjectKind::ValidatingWebhookConfiguration, "v", "uid-v", None);
        let user = world.accepted(&issue(P256_SEC1, grant)).await;
        assert_eq!(json!(user.extra), extra);
    };
    let key = |name: &str| format!("authentication.kubernetes.io/{name}");
    let id = key("credential-id");
    let pod_name = key("pod-name");
    let pod_uid = key("pod-uid");
    let node_name = key("node-name");
    let node_uid = key("node-uid");
    // The node of a pod may be missing.
    let elsewhere = Some(Reference { name: "gone".to_owned(), uid: String::new() });
    check(
        Grant { pod: Some(named("p")), node: elsewhere, ..grant() },
        json!({&id: ["JTI=id"], &pod_name: ["p"], &pod_uid: ["uid-p"], &node_name: ["gone"]}),
    )
    .await;
    check(
        Grant { node: Some(named("n")), id: String::new(), ..grant() },
        json!({&node_name: ["n"], &node_uid: ["uid-n"]}),
    )
    .await;
    check(Grant { warn_after: Some(WARN_AFTER_SECONDS), ..grant() }, json!({&id: ["JTI=id"]})).await;
    let webhook_name = key("validatingwebhookconfiguration-name");
    let webhook_uid = key("validatingwebhookconfiguration-uid");
    let groups = "attestation.authentication.kubernetes.io/admissionReviewAPIGroups";
    check(
        Grant { validating_webhook: Some(named("v")), attestations: attestations(), ..grant() },
        json!({&id: ["JTI=id"], &webhook_name: ["v"], &webhook_uid: ["uid-v"], groups: ["apps"]}),
    )
    .await;
}

#[tokio::test]
async fn stale_token_use_is_recorded() {
    let grant = || Grant { warn_after: Some(WARN_AFTER_SECONDS), seconds: 100_000, ..grant() };
    let world = World::new();
    world.accepted(&issue(RSA_PKCS1, grant())).await;
    assert_eq!(world.notes.annotations(), []);
    world.clock.advance_seconds(u32::try_from(WARN_AFTER_SECONDS).unwrap() + 5);
    world.accepted(&issue(RSA_PKCS1, grant())).await;
    let text = "subject: system:serviceaccount:ns:sa, seconds after warning threshold: 5";
    assert_eq!(world.notes.annotations(), [("authentication.k8s.io/stale-token".into(), text.to_owned())]);
}
