//! Tests with a fake OpenID provider and a complete server.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use component_base::clock::Clock;
use jsontree::{Value, json};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use rcgen::{KeyPair, PublicKeyData};

use crate::system::SystemClock;
use crate::test_client::Client;
use crate::test_cluster::TestServer;
use crate::test_https::Https;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
/// Timeout for a change to take effect. The file is checked every second.
const CHANGE_MAX: Duration = Duration::from_secs(60);

/// Fake provider: issues tokens and publishes their keys.
struct Provider {
    url: String,
    /// CA certificate in PEM.
    authority: String,
    state: Arc<Mutex<State>>,
    _server: Https,
}

#[derive(Default)]
struct State {
    url: String,
    /// False makes the provider unreachable.
    up: bool,
    keys: Value,
    /// Distributed group claims as a token.
    groups: String,
}

impl Provider {
    /// Starts an unreachable provider.
    async fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let server = Https::start(&["127.0.0.1"], move |path, _| {
            let state = shared.lock().unwrap();
            state.up.then(|| document(&state.url, path, &state))
        });
        let server = server.await;
        let url = format!("https://127.0.0.1:{}", server.port);
        state.lock().unwrap().url.clone_from(&url);
        Provider { url, authority: server.authority.clone(), state, _server: server }
    }

    /// Publishes exactly these keys.
    fn publish(&self, keys: &[&Key]) {
        let keys: Vec<&Value> = keys.iter().map(|key| &key.published).collect();
        self.state.lock().unwrap().keys = json!({"keys": keys});
    }

    /// Issues a token for one hour, with additional claims.
    fn token(&self, key: &Key, more: &Value) -> String {
        let now = SystemClock.now().seconds;
        let mut claims = json!({"iss": self.url, "aud": "cluster", "exp": now + 3600, "sub": "ann"});
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        let header = Header { kid: Some(key.id.to_owned()), ..Header::new(Algorithm::ES256) };
        encode(&header, &claims, &key.signing).unwrap()
    }

    /// Builds a configuration with this provider and these claim mappings.
    fn configuration(&self, mappings: &Value) -> String {
        let issuer =
            json!({"url": self.url, "audiences": ["cluster"], "certificateAuthority": self.authority});
        json!({
            "kind": "AuthenticationConfiguration",
            "apiVersion": "apiserver.config.k8s.io/v1",
            "jwt": [{"issuer": issuer, "claimMappings": mappings}],
            "anonymous": {"enabled": true, "conditions": [{"path": "/livez"}]},
        })
        .to_string()
    }
}

fn document(issuer: &str, path: &str, state: &State) -> String {
    match path {
        "/.well-known/openid-configuration" => {
            json!({"issuer": issuer, "jwks_uri": format!("{issuer}/keys")}).to_string()
        }
        "/keys" => state.keys.to_string(),
        "/groups" => state.groups.clone(),
        _ => String::new(),
    }
}

struct Key {
    id: &'static str,
    signing: EncodingKey,
    published: Value,
}

impl Key {
    fn new(id: &'static str) -> Self {
        let pair = KeyPair::generate().unwrap();
        let (x, y) = pair.der_bytes()[1..].split_at(32);
        let x = URL_SAFE_NO_PAD.encode(x);
        let y = URL_SAFE_NO_PAD.encode(y);
        let published = json!({"kty": "EC", "crv": "P-256", "kid": id, "x": x, "y": y, "use": "sig"});
        Key { id, signing: EncodingKey::from_ec_der(&pair.serialize_der()), published }
    }
}

/// Returns the user of a token.
async fn user_info(server: &TestServer, token: &str) -> Option<Value> {
    let client = Client::of(server).with_token(token.to_owned().leak());
    let (code, review) = client.send("POST", REVIEWS, json!({})).await;
    (code == 201).then(|| review["status"]["userInfo"].clone())
}

/// Waits until a token is accepted for a user name. Returns the user.
async fn until_known(server: &TestServer, token: &str, name: &str) -> Value {
    let polling = async {
        loop {
            match user_info(server, token).await {
                Some(user) if user["username"] == name => return user,
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    };
    tokio::time::timeout(CHANGE_MAX, polling).await.unwrap()
}

/// Waits until the metrics contain a line.
async fn until_counted(server: &TestServer, sample: &str) {
    let polling = async {
        loop {
            let (_, page) = Client::of(server).text("GET", "/metrics").await;
            if page.lines().any(|line| line.starts_with(sample)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(CHANGE_MAX, polling).await.unwrap();
}

async fn server_of(text: String) -> (TestServer, PathBuf) {
    let mut written = PathBuf::new();
    let server = TestServer::start_with(|config| {
        written = config.serving.cert_dir.join("authentication.yaml");
        std::fs::write(&written, text).unwrap();
        config.authentication.configuration_file = Some(written.clone());
    })
    .await
    .unwrap();
    (server, written)
}

fn mappings(prefix: &str) -> Value {
    json!({"username": {"expression": format!("'{prefix}' + claims.sub")}, "groups": {"claim": "groups", "prefix": "g:"}})
}

#[tokio::test]
async fn tokens_are_valid_while_their_key_is_published() {
    let provider = Provider::start().await;
    let first = Key::new("1");
    let second = Key::new("2");
    provider.publish(&[&first]);
    let (server, _) = server_of(provider.configuration(&mappings("oidc:"))).await;
    let token = provider.token(&first, &json!({"groups": ["dev"]}));
    assert_eq!(user_info(&server, &token).await, None, "nobody knows the provider's keys");
    provider.state.lock().unwrap().up = true;
    let user = until_known(&server, &token, "oidc:ann").await;
    assert_eq!(user["groups"], json!(["g:dev", "system:authenticated"]));
    for (case, refused) in [
        ("another audience", provider.token(&first, &json!({"aud": "other"}))),
        ("another issuer", provider.token(&first, &json!({"iss": "https://127.0.0.1:1"}))),
        ("expired", provider.token(&first, &json!({"exp": 1}))),
        ("another's key", provider.token(&second, &json!({}))),
        ("another's key by this name", provider.token(&Key { id: "1", ..Key::new("") }, &json!({}))),
    ] {
        assert_eq!(user_info(&server, &refused).await, None, "{case}");
    }
    // A new key becomes valid with the first token that it signs.
    provider.publish(&[&second]);
    let rotated = provider.token(&second, &json!({"sub": "bob"}));
    assert_eq!(
        user_info(&server, &rotated).await.map(|user| user["username"].clone()),
        Some(json!("oidc:bob"))
    );
    let old = provider.token(&first, &json!({"sub": "eve"}));
    assert_eq!(user_info(&server, &old).await, None, "the key is not published any more");
    server.stop().await;
}

#[tokio::test]
async fn distributed_groups_are_resolved() {
    let provider = Provider::start().await;
    let key = Key::new("1");
    provider.publish(&[&key]);
    let groups = provider.token(&key, &json!({"groups": ["far"]}));
    (provider.state.lock().unwrap().up, provider.state.lock().unwrap().groups) = (true, groups);
    let (server, _) = server_of(provider.configuration(&mappings(""))).await;
    let endpoint = format!("{}/groups", provider.url);
    let sources = json!({"s": {"endpoint": endpoint, "access_token": "secret"}});
    let claims = json!({"_claim_names": {"groups": "s"}, "_claim_sources": sources});
    let user = until_known(&server, &provider.token(&key, &claims), "ann").await;
    assert_eq!(user["groups"], json!(["g:far", "system:authenticated"]));
    server.stop().await;
}

#[tokio::test]
async fn valid_file_is_reloaded() {
    const RELOADS: &str =
        "apiserver_authentication_config_controller_automatic_reloads_total{apiserver_id_hash=";
    let provider = Provider::start().await;
    let key = Key::new("1");
    provider.publish(&[&key]);
    provider.state.lock().unwrap().up = true;
    let (server, file) = server_of(provider.configuration(&mappings("one:"))).await;
    let token = provider.token(&key, &json!({}));
    until_known(&server, &token, "one:ann").await;
    let hash = authentication::oidc::label_hash(crate::identity::of_this_machine().as_bytes());
    std::fs::write(&file, provider.configuration(&json!({}))).unwrap();
    until_counted(&server, &format!("{RELOADS}\"{hash}\",status=\"failure\"}} 1")).await;
    until_counted(&server, "mainstay_weakened_decisions_total{kind=\"stale_configuration\"} 1").await;
    assert_eq!(user_info(&server, &token).await.map(|user| user["username"].clone()), Some(json!("one:ann")));
    std::fs::write(&file, provider.configuration(&mappings("two:"))).unwrap();
    until_known(&server, &token, "two:ann").await;
    until_counted(&server, &format!("{RELOADS}\"{hash}\",status=\"success\"}} 1")).await;
    server.stop().await;
}

#[tokio::test]
async fn file_configures_anonymous_paths() {
    let provider = Provider::start().await;
    let (server, _) = server_of(provider.configuration(&mappings(""))).await;
    let nobody = Client::of(&server).with_token("");
    let code = async |path: &str| nobody.text("GET", path).await.0;
    assert_eq!((code("/livez").await, code("/readyz").await, code("/api").await), (200, 401, 401));
    server.stop().await;
}

#[tokio::test]
async fn invalid_file_prevents_start() {
    let provider = Provider::start().await;
    let check = async |text: String, expected: &str| {
        let failed = TestServer::start_with(|config| {
            let file = config.serving.cert_dir.join("authentication.yaml");
            std::fs::write(&file, text).unwrap();
            config.authentication.configuration_file = Some(file);
        });
        let error = failed.await.err().unwrap().to_string();
        assert!(error.ends_with(expected), "{error}");
    };
    check(
        provider.configuration(&json!({})),
        "invalid authentication configuration: jwt[0].claimMappings.username: Required value: claim or expression is required",
    )
    .await;
    check(
        "kind: AuthenticationConfiguration\napiVersion: apiserver.config.k8s.io/v1\njwts: []\n".to_owned(),
        "strict decoding error: unknown field \"jwts\"",
    )
    .await;
    check(String::new(), "empty config data").await;
}

#[tokio::test]
async fn missing_egress_proxy_prevents_start() {
    let provider = Provider::start().await;
    let mut text: Value = serde_json::from_str(&provider.configuration(&mappings("p:"))).unwrap();
    text["jwt"][0]["issuer"]["egressSelectorType"] = json!("cluster");
    let check = async |selections: Option<&str>, expected: Result<(), &str>| {
        let started = TestServer::start_with(|config| {
            let file = config.serving.cert_dir.join("authentication.yaml");
            std::fs::write(&file, text.to_string()).unwrap();
            config.authentication.configuration_file = Some(file);
            let Some(selections) = selections else { return };
            let file = config.serving.cert_dir.join("egress.yaml");
            let head = "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\n";
            std::fs::write(&file, format!("{head}egressSelections: {selections}")).unwrap();
            config.egress = crate::config::egress(&file).unwrap();
        });
        let started = started.await.map(drop).map_err(|error| error.to_string());
        assert_eq!(started, expected.map_err(str::to_owned));
    };
    check(None, Err("oidc: egress lookup required with egress selector type \"cluster\"")).await;
    let other = "[{name: controlplane, connection: {proxyProtocol: Direct}}]";
    check(Some(other), Err("oidc: egress lookup for \"cluster\" is not configured")).await;
    check(Some(&other.replace("controlplane", "cluster")), Ok(())).await;
}
