//! Tests of external keys and signatures.

use std::sync::atomic::{AtomicUsize, Ordering};

use component_base::clock::TestClock;
use component_base::metrics::MetricsRegistry;
use serde_json::json;

use super::*;
use crate::Error;
use crate::service_account::testing::*;
use crate::service_account::{Claims, Issuer, OpenIdMetadata, Signer, SigningKey, VerificationKeys};

/// A configurable fake signer.
struct Fake {
    keys: std::sync::Mutex<Result<ExternalKeySet, SignerError>>,
    header: std::sync::Mutex<serde_json::Value>,
    signs_with: &'static str,
    fetches: AtomicUsize,
}

#[async_trait]
impl ExternalSigner for Fake {
    async fn sign(&self, claims: &str) -> Result<ExternalSignature, SignerError> {
        let header = URL_SAFE_NO_PAD.encode(self.header.lock().unwrap().to_string());
        let key = SigningKey::from_pem(self.signs_with).unwrap();
        let algorithm = key.public.algorithm.library().unwrap();
        let message = format!("{header}.{claims}");
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key.encoding, algorithm).unwrap();
        Ok(ExternalSignature { header, signature })
    }

    async fn keys(&self) -> Result<ExternalKeySet, SignerError> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        tokio::task::yield_now().await;
        self.keys.lock().unwrap().clone()
    }
}

fn key(id: &str, file: &str) -> ExternalKey {
    let spki = pem::parse(file).unwrap().into_contents();
    ExternalKey { id: id.to_owned(), spki, excluded_from_discovery: false }
}

fn set(keys: Vec<ExternalKey>) -> ExternalKeySet {
    ExternalKeySet { keys, refresh_after_seconds: 100, data: UnixTime { seconds: 5, nanos: 0 } }
}

fn fake(keys: Vec<ExternalKey>) -> Arc<Fake> {
    Arc::new(Fake {
        keys: std::sync::Mutex::new(Ok(set(keys))),
        header: std::sync::Mutex::new(json!({"alg": "ES256", "kid": "one", "typ": "JWT"})),
        signs_with: P256_SEC1,
        fetches: AtomicUsize::new(0),
    })
}

async fn keys_of(fake: &Arc<Fake>) -> Arc<ExternalKeys> {
    counted_keys_of(fake, SignerMetrics::default()).await
}

async fn counted_keys_of(fake: &Arc<Fake>, metrics: SignerMetrics) -> Arc<ExternalKeys> {
    let clock = Arc::new(TestClock::at(now()));
    let signer = Arc::clone(fake) as Arc<dyn ExternalSigner>;
    Arc::new(ExternalKeys::fetch(signer, Arc::new(metrics), clock).await.unwrap())
}

async fn issue(keys: &Arc<ExternalKeys>) -> Result<String, Error> {
    Issuer::new(ISSUER.to_owned(), Signer::External(Arc::clone(keys))).issue(Claims::of(grant())).await
}

async fn verify(keys: &Arc<ExternalKeys>, token: &str) -> Result<bool, Error> {
    let keys = VerificationKeys::External(Arc::clone(keys));
    let verifier = crate::service_account::verifier::Verifier::new(
        texts(&[ISSUER]),
        keys,
        texts(&[API]),
        Arc::default(),
    );
    verifier.verify::<Claims>(token, &texts(&[API])).await.map(|verified| verified.is_some())
}

#[tokio::test]
async fn external_signature_verifies_with_fetched_keys() {
    let keys = keys_of(&fake(vec![key("one", P256_PUBLIC)])).await;
    let token = issue(&keys).await.unwrap();
    assert_eq!(verify(&keys, &token).await, Ok(true));
    let wrong = keys_of(&fake(vec![key("one", P384_PUBLIC)])).await;
    assert!(verify(&wrong, &token).await.is_err());
}

#[tokio::test]
async fn unknown_key_is_fetched() {
    let fake = fake(vec![key("zero", P384_PUBLIC)]);
    let keys = keys_of(&fake).await;
    *fake.keys.lock().unwrap() = Ok(set(vec![key("zero", P384_PUBLIC), key("one", P256_PUBLIC)]));
    let token = issue(&keys).await.unwrap();
    assert_eq!(verify(&keys, &token).await, Ok(true));
    *fake.keys.lock().unwrap() = Ok(set(vec![key("zero", P384_PUBLIC)]));
    assert_eq!(verify(&keys, &token).await, Ok(true), "keys stay until they are fetched again");
    keys.refresh().await.unwrap();
    assert_eq!(
        verify(&keys, &token).await.map_err(|error| error.to_string()),
        Err("invalid signature, no keys found".to_owned())
    );
}

#[tokio::test]
async fn concurrent_callers_share_one_fetch() {
    let fake = fake(vec![key("one", P256_PUBLIC)]);
    let keys = keys_of(&fake).await;
    let waiting = (0..50).map(|_| keys.keys_with_id("unknown"));
    futures::future::join_all(waiting).await;
    assert_eq!(fake.fetches.load(Ordering::SeqCst), 2, "the first one, and one for all who wait");
}

#[tokio::test]
async fn failed_refresh_keeps_keys() {
    let fake = fake(vec![key("one", P256_PUBLIC)]);
    let keys = keys_of(&fake).await;
    let token = issue(&keys).await.unwrap();
    *fake.keys.lock().unwrap() = Err(SignerError::local("gone".to_owned()));
    assert!(keys.refresh().await.is_err());
    assert_eq!(verify(&keys, &token).await, Ok(true));
    assert!(keys.keys_with_id("unknown").await.with_id("").next().is_none());
}

#[tokio::test(start_paused = true)]
async fn failed_periodic_refresh_is_weakened_decision() {
    let fake = fake(vec![key("one", P256_PUBLIC)]);
    let keys = keys_of(&fake).await;
    let weakened = WeakenedDecisions::default();
    let run = async |seconds| {
        let refreshing = keys.refresh_periodically(&weakened);
        let _ = tokio::time::timeout(Duration::from_secs(seconds), refreshing).await;
        weakened.count(WeakenedKind::StaleConfiguration)
    };
    assert_eq!(run(105).await, 0, "the signer responds");
    *fake.keys.lock().unwrap() = Err(SignerError::local("gone".to_owned()));
    assert!(run(105).await > 0);
    let decision = weakened.recent().remove(0);
    assert_eq!(decision.name, "--service-account-signing-endpoint");
    assert!(decision.cause.contains("gone"), "{decision:?}");
}

#[tokio::test]
async fn invalid_keys_fail_with_upstream_messages() {
    let check = async |set: ExternalKeySet, expected: &str| {
        let fake = fake(Vec::new());
        *fake.keys.lock().unwrap() = Ok(set);
        let error =
            ExternalKeys::fetch(fake, Arc::default(), Arc::new(TestClock::default())).await.err().unwrap();
        let expected = format!(
            "while initially filling key cache: while performing initial cache fill: \
             while fetching token verification keys: {expected}"
        );
        assert_eq!(error.to_string(), expected);
    };
    let one = || key("one", P256_PUBLIC);
    let hint = |seconds| ExternalKeySet { refresh_after_seconds: seconds, ..set(vec![one()]) };
    check(hint(0), "found invalid refresh hint (0s)").await;
    check(hint(-1), "found invalid refresh hint (-1s)").await;
    check(set(Vec::new()), "found no keys").await;
    check(set(vec![ExternalKey { id: String::new(), ..one() }]), "found invalid public key id \"\"").await;
    check(set(vec![ExternalKey { spki: Vec::new(), ..one() }]), "found empty public key").await;
    let garbage = ExternalKey { spki: b"x".to_vec(), ..one() };
    check(set(vec![garbage]), "while parsing external public keys: not an RSA or ECDSA key").await;
}

#[tokio::test]
async fn unacceptable_header_is_rejected() {
    let retired = ExternalKey { excluded_from_discovery: true, ..key("old", P384_PUBLIC) };
    let fake = fake(vec![key("one", P256_PUBLIC), retired]);
    let keys = keys_of(&fake).await;
    let check = async |header: serde_json::Value, expected: &str| {
        *fake.header.lock().unwrap() = header;
        assert_eq!(
            issue(&keys).await.unwrap_err().to_string(),
            format!("while validating header: {expected}")
        );
    };
    let head = |alg: &str, kid: &str, typ: &str| json!({"alg": alg, "kid": kid, "typ": typ});
    check(head("ES256", "one", "jwt"), "bad type").await;
    check(head("ES256", "", "JWT"), "key id missing").await;
    check(head("ES256", &"k".repeat(1025), "JWT"), "key id longer than 1 kb").await;
    check(head("HS256", "one", "JWT"), "bad signing algorithm \"HS256\"").await;
    let excluded = "key used for signing JWT (kid: old) is excluded from OIDC discovery docs";
    check(head("ES256", "old", "JWT"), excluded).await;
}

#[tokio::test]
async fn documents_follow_keys_without_retired_ones() {
    let retired = ExternalKey { excluded_from_discovery: true, ..key("old", P384_PUBLIC) };
    let fake = fake(vec![key("one", P256_PUBLIC), retired]);
    let keys = keys_of(&fake).await;
    let live = VerificationKeys::External(Arc::clone(&keys));
    let metadata = OpenIdMetadata::new(ISSUER.to_owned(), None, "x".to_owned(), live).unwrap();
    let ids = || {
        let (documents, max_age) = metadata.current();
        assert!(max_age <= 100);
        let set: serde_json::Value = serde_json::from_slice(&documents.keys).unwrap();
        let keys = set["keys"].as_array().unwrap().clone();
        keys.iter().map(|key| key["kid"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(), ["one"]);
    *fake.keys.lock().unwrap() = Ok(set(vec![key("two", RSA_PUBLIC)]));
    keys.refresh().await.unwrap();
    assert_eq!(ids(), ["two"]);
}

#[tokio::test]
async fn signer_calls_are_counted() {
    let fake = fake(vec![key("one", P256_PUBLIC)]);
    let registry = MetricsRegistry::default();
    let keys = counted_keys_of(&fake, SignerMetrics::new(&registry)).await;
    issue(&keys).await.unwrap();
    *fake.keys.lock().unwrap() = Err(SignerError { code: "Unavailable", text: "gone".to_owned() });
    let _ = keys.refresh().await;
    *fake.header.lock().unwrap() = json!({"typ": "no"});
    let _ = issue(&keys).await;
    keys.metrics.record_call("/v1.ExternalJWTSigner/Sign", "OK", Duration::from_millis(7));
    let page = registry.to_string();
    for line in [
        "externaljwt_fetch_keys_data_timestamp 5\n",
        "externaljwt_fetch_keys_request_total{code=\"OK\"} 1\n",
        "externaljwt_fetch_keys_request_total{code=\"Unavailable\"} 1\n",
        "externaljwt_sign_request_total{code=\"OK\"} 1\n",
        "externaljwt_sign_request_total{code=\"unknown-non-grpc\"} 1\n",
        "bucket{code=\"OK\",method=\"/v1.ExternalJWTSigner/Sign\",le=\"0.01\"} 1\n",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
}
