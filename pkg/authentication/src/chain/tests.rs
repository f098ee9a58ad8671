//! Tests of the authentication chain.
#![allow(clippy::unwrap_used)]

use apimachinery::request_notes::Notes;

use super::*;
use crate::Error;
use crate::TokenFile;

fn authenticator(anonymous: bool) -> Authenticator {
    let tokens = "good,ann,1,\"dev\"\nanon,system:anonymous,2\nauthd,bob,3,\"system:authenticated,x\"\n";
    Authenticator {
        tokens: vec![Arc::new(Picky), Arc::new(Aware), Arc::new(TokenFile::parse("t", tokens).unwrap())],
        api_audiences: vec!["api".to_owned(), "too".to_owned()],
        anonymous: if anonymous { Anonymous::AllPaths } else { Anonymous::Disabled },
        request_headers: None,
    }
}

/// Rejects tokens that begin with `picky` and ignores all others.
struct Picky;

#[async_trait]
impl TokenAuthenticator for Picky {
    async fn authenticate(&self, token: &str, _: &[String], _: &Notes) -> Result<Option<TokenUser>, Error> {
        if token.starts_with("picky") { Err(Error::credential("picky".to_owned())) } else { Ok(None) }
    }
}

/// Accepts tokens of the form `for-AUDIENCE`.
struct Aware;

#[async_trait]
impl TokenAuthenticator for Aware {
    async fn authenticate(
        &self,
        token: &str,
        audiences: &[String],
        _: &Notes,
    ) -> Result<Option<TokenUser>, Error> {
        let Some(audience) = token.strip_prefix("for-").map(str::to_owned) else { return Ok(None) };
        let user = UserInfo { name: "aware".to_owned(), ..UserInfo::default() };
        if audiences.is_empty() || audiences.contains(&audience) {
            Ok(Some(TokenUser { user, audiences: vec![audience] }))
        } else {
            Err(Error::credential(format!("not for {audiences:?}")))
        }
    }
}

fn holder(name: &str, not_after: i64) -> PresentedCertificate {
    let user = UserInfo { name: name.to_owned(), groups: vec!["o".to_owned()], ..UserInfo::default() };
    PresentedCertificate::Verified(ClientCertificate { user: (!name.is_empty()).then_some(user), not_after })
}

async fn check(
    anonymous: bool,
    certificate: Option<PresentedCertificate>,
    authorization: Option<&str>,
    expected: Result<(&str, &[&str]), u16>,
) {
    let presented = PresentedCertificates { client: certificate.clone(), proxy: None };
    let credentials = Credentials {
        certificates: Some(&presented),
        authorization,
        headers: None,
        path: "",
        source: None,
        now: 100,
        notes: None,
    };
    let got = authenticator(anonymous).authenticate(credentials).await;
    let got = got.map(|proof| (proof.user().name.clone(), proof.user().groups.clone())).map_err(|_| 401);
    let expected = expected
        .map(|(name, groups)| (name.to_owned(), groups.iter().map(|&g| g.to_owned()).collect::<Vec<_>>()));
    assert_eq!(got, expected, "{anonymous} {certificate:?} {authorization:?}");
}

const ANONYMOUS: Result<(&str, &[&str]), u16> = Ok(("system:anonymous", &["system:unauthenticated"]));

#[tokio::test]
async fn missing_credential_is_anonymous_if_allowed() {
    for header in [
        None,
        Some("Bearer "),
        Some("Bearer"),
        Some("Basic Zm9vOmJhcg=="),
        Some("Bearer  good"),
        Some("good"),
    ] {
        check(true, None, header, ANONYMOUS).await;
        check(false, None, header, Err(401)).await;
    }
    check(true, Some(holder("", 200)), None, ANONYMOUS).await;
}

#[tokio::test]
async fn invalid_credential_is_never_anonymous() {
    check(true, None, Some("Bearer bad"), Err(401)).await;
    check(true, None, Some("Bearer picky1"), Err(401)).await;
    check(true, Some(PresentedCertificate::Rejected("unknown issuer".to_owned())), None, Err(401)).await;
    check(true, Some(holder("cert", 99)), None, Err(401)).await;
    let long = format!("Bearer {}", "x".repeat(TOKEN_BYTES_MAX + 1));
    check(true, None, Some(&long), Err(401)).await;
}

#[tokio::test]
async fn one_valid_credential_suffices() {
    check(false, None, Some("Bearer good"), Ok(("ann", &["dev", "system:authenticated"]))).await;
    check(
        true,
        Some(PresentedCertificate::Rejected(String::new())),
        Some("Bearer good"),
        Ok(("ann", &["dev", "system:authenticated"])),
    )
    .await;
    check(true, Some(holder("cert", 100)), Some("Bearer bad"), Ok(("cert", &["o", "system:authenticated"])))
        .await;
    check(true, Some(holder("cert", 100)), Some("Bearer good"), Ok(("cert", &["o", "system:authenticated"])))
        .await;
}

#[tokio::test]
async fn authenticated_group_is_added_once() {
    check(true, None, Some("Bearer authd"), Ok(("bob", &["system:authenticated", "x"]))).await;
    check(true, None, Some("Bearer anon"), Ok(("system:anonymous", &[]))).await;
}

#[tokio::test]
async fn token_for_other_audience_is_rejected() {
    check(true, None, Some("Bearer for-api"), Ok(("aware", &["system:authenticated"]))).await;
    check(true, None, Some("Bearer for-others"), Err(401)).await;
}

#[tokio::test]
async fn review_returns_user_and_audiences() {
    let check = async |token: &str, audiences: &[&str], expected: Result<(&str, &[&str]), &str>| {
        let audiences: Vec<String> = audiences.iter().map(|&audience| audience.to_owned()).collect();
        let got =
            authenticator(true).review(&UserInfo::default(), token, &audiences, &Notes::default()).await;
        let got = got.map(Option::unwrap).map(|token_user| (token_user.user.name, token_user.audiences));
        let owned = |list: &[&str]| list.iter().map(|&item| item.to_owned()).collect::<Vec<_>>();
        let expected = expected.map(|(name, list)| (name.to_owned(), owned(list))).map_err(str::to_owned);
        assert_eq!(got.map_err(|error| error.to_string()), expected, "{token:?} {audiences:?}");
    };
    check("good", &[], Ok(("ann", &["api", "too"]))).await;
    check("good x", &["else", "too"], Ok(("ann", &["too"]))).await;
    check("good", &["else"], Err("invalid bearer token")).await;
    check("bad", &[], Err("invalid bearer token")).await;
    check("for-else", &["else"], Ok(("aware", &["else"]))).await;
    check("for-else", &[], Err("[invalid bearer token, not for [\"api\", \"too\"]]")).await;
    check(" good", &["else"], Ok(("system:anonymous", &["else"]))).await;
}

#[tokio::test]
async fn review_without_token_is_empty_without_anonymous() {
    assert_eq!(
        authenticator(false).review(&UserInfo::default(), " good", &[], &Notes::default()).await,
        Ok(None)
    );
}

#[tokio::test]
async fn proxy_headers_take_precedence_over_its_certificate() {
    let headers = |user: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert("x-remote-user", http::HeaderValue::from_static(user));
        headers
    };
    let trusted = RequestHeaders { allowed_names: vec!["front".to_owned()], ..RequestHeaders::standard() };
    let authenticator = Authenticator { request_headers: Some(Arc::new(trusted)), ..authenticator(true) };
    let check =
        async |proxy: Option<PresentedCertificate>, client: Option<PresentedCertificate>, user, expected| {
            let presented = PresentedCertificates { client, proxy };
            let headers = headers(user);
            let credentials = Credentials {
                certificates: Some(&presented),
                authorization: None,
                headers: Some(&headers),
                path: "",
                source: None,
                now: 100,
                notes: None,
            };
            let got = authenticator.authenticate(credentials).await;
            assert_eq!(got.map(|got| got.user().name.clone()).map_err(|_| 401), expected);
        };
    let name = |name: &str| Ok(name.to_owned());
    check(Some(holder("front", 200)), None, "ann", name("ann")).await;
    check(Some(holder("front", 99)), None, "ann", Err(401)).await;
    check(Some(holder("other", 200)), Some(holder("other", 200)), "ann", name("other")).await;
    check(Some(holder("other", 200)), None, "ann", Err(401)).await;
    check(None, None, "ann", name("system:anonymous")).await;
    check(Some(holder("front", 200)), None, "", name("system:anonymous")).await;
    check(Some(holder("front", 200)), None, "system:anonymous", name("system:anonymous")).await;
}

#[tokio::test]
async fn websocket_subprotocol_token_is_accepted() {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.Z29vZA, v5.channel.k8s.io"),
    ] {
        headers.insert(name, http::HeaderValue::from_static(value));
    }
    let credentials = Credentials { headers: Some(&headers), now: 100, ..Credentials::default() };
    let got = authenticator(true).authenticate(credentials).await.unwrap();
    assert_eq!(got.user().name, "ann");
}

#[tokio::test]
async fn anonymous_access_can_be_limited_to_paths() {
    let anonymous = Anonymous::Paths(Arc::new(["/livez".to_owned()]));
    let authenticator = Authenticator { anonymous, ..authenticator(false) };
    let check = async |path: &str, authorization: Option<&str>, expected: Result<&str, u16>| {
        let credentials = Credentials { authorization, path, ..Credentials::default() };
        let got = authenticator.authenticate(credentials).await;
        let got = got.map(|got| got.user().name.clone()).map_err(|_| 401);
        assert_eq!(got, expected.map(str::to_owned), "{path}");
    };
    check("/livez", None, Ok("system:anonymous")).await;
    check("/livez/ping", None, Err(401)).await;
    check("/livez", Some("Bearer wrong"), Err(401)).await;
    assert_eq!(authenticator.review(&UserInfo::default(), " ", &[], &Notes::default()).await, Ok(None));
}
