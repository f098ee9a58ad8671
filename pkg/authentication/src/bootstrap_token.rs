//! `--enable-bootstrap-token-auth`: tokens for joining nodes (`ID.SECRET`). Each is stored in a Secret of
//! type `bootstrap.kubernetes.io/token` in `kube-system`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apimachinery::request_notes::Notes;
use apimachinery::time::parse_time;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use component_base::clock::Clock;

use crate::Error;
use crate::chain::{TokenAuthenticator, TokenUser};

const SECRET_TYPE: &str = "bootstrap.kubernetes.io/token";
const NAME_PREFIX: &str = "bootstrap-token-";
const USER_PREFIX: &str = "system:bootstrap:";
const GROUP: &str = "system:bootstrappers";
/// Required prefix of additional groups.
const GROUP_PREFIX: &str = "system:bootstrappers:";
/// Maximum length in bytes of an additional group's name after the prefix.
const GROUP_REST_BYTES_MAX: usize = 256;

/// The relevant parts of a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootstrapSecret {
    /// True if the Secret has a deletion timestamp.
    pub deleting: bool,
    pub kind: String,
    /// Decoded data.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// Source of the Secrets in `kube-system`.
#[async_trait]
pub trait BootstrapSecrets: Send + Sync + 'static {
    /// Returns the Secret with this name, if it exists.
    ///
    /// # Errors
    /// A message if the look-up failed.
    async fn secret(&self, name: &str) -> Result<Option<BootstrapSecret>, Error>;
}

/// Authenticator for bootstrap tokens.
pub struct BootstrapTokens {
    secrets: Arc<dyn BootstrapSecrets>,
    clock: Arc<dyn Clock>,
}

impl BootstrapTokens {
    pub fn new(secrets: Arc<dyn BootstrapSecrets>, clock: Arc<dyn Clock>) -> Self {
        BootstrapTokens { secrets, clock }
    }

    /// Returns the groups of a token, or the reason for its rejection, for the log.
    fn groups(&self, stored: &BootstrapSecret, id: &str, secret: &str) -> Result<Vec<String>, &'static str> {
        let data = |key: &str| stored.data.get(key).map_or(&b""[..], Vec::as_slice);
        if stored.deleting {
            return Err("it is deleted and awaiting removal");
        }
        if stored.kind != SECRET_TYPE {
            return Err("it has an invalid type");
        }
        if verify_slices_are_equal(data("token-secret"), secret.as_bytes()).is_err() {
            return Err("it has an invalid value for key token-secret");
        }
        if data("token-id") != id.as_bytes() {
            return Err("it has an invalid value for key token-id");
        }
        if self.expired(data("expiration")) {
            return Err("it has expired");
        }
        if data("usage-bootstrap-authentication") != b"true" {
            return Err("it is not marked usage-bootstrap-authentication=true");
        }
        groups(data("auth-extra-groups")).ok_or("it has an invalid value for key auth-extra-groups")
    }

    /// True if the token has expired. An unparsable time counts as expired.
    fn expired(&self, expiration: &[u8]) -> bool {
        let time = std::str::from_utf8(expiration).ok().and_then(|text| parse_time(text).ok());
        !expiration.is_empty() && time.is_none_or(|time| time <= self.clock.now())
    }
}

/// Returns all groups of a token, sorted. `None` if an additional group has an invalid name.
fn groups(further: &[u8]) -> Option<Vec<String>> {
    let mut groups = BTreeSet::from([GROUP.to_owned()]);
    if !further.is_empty() {
        for group in std::str::from_utf8(further).ok()?.split(',') {
            let rest = group.strip_prefix(GROUP_PREFIX)?.as_bytes();
            let is_allowed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b':' | b'-');
            let ends_well = rest.last().is_some_and(|byte| !matches!(byte, b':' | b'-'));
            if rest.len() > GROUP_REST_BYTES_MAX || !rest.iter().all(is_allowed) || !ends_well {
                return None;
            }
            groups.insert(group.to_owned());
        }
    }
    Some(groups.into_iter().collect())
}

/// Splits a bootstrap token into id and secret.
fn parse(token: &str) -> Option<(&str, &str)> {
    let (id, secret) = token.split_once('.')?;
    let fine = |text: &str, bytes: usize| {
        text.len() == bytes && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
    };
    (fine(id, 6) && fine(secret, 16)).then_some((id, secret))
}

#[async_trait]
impl TokenAuthenticator for BootstrapTokens {
    async fn authenticate(&self, token: &str, _: &[String], _: &Notes) -> Result<Option<TokenUser>, Error> {
        let Some((id, secret)) = parse(token) else { return Ok(None) };
        let name = format!("{NAME_PREFIX}{id}");
        let Some(stored) = self.secrets.secret(&name).await? else { return Ok(None) };
        let groups = match self.groups(&stored, id, secret) {
            Ok(groups) => groups,
            Err(reason) => {
                tracing::debug!(secret = name, reason, "bootstrap token rejected");
                return Ok(None);
            }
        };
        let user = UserInfo { name: format!("{USER_PREFIX}{id}"), groups, ..UserInfo::default() };
        Ok(Some(TokenUser { user, audiences: Vec::new() }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use apimachinery::time::UnixTime;
    use component_base::clock::TestClock;

    use super::*;

    struct One(BootstrapSecret);

    #[async_trait]
    impl BootstrapSecrets for One {
        async fn secret(&self, name: &str) -> Result<Option<BootstrapSecret>, Error> {
            Ok((name == "bootstrap-token-abcdef").then(|| self.0.clone()))
        }
    }

    const TOKEN: &str = "abcdef.0123456789abcdef";

    fn secret(further: &[(&str, &str)]) -> BootstrapSecret {
        let usual = [
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        let data =
            usual.iter().chain(further).map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        BootstrapSecret { deleting: false, kind: SECRET_TYPE.to_owned(), data: data.collect() }
    }

    /// Returns the groups of a token's user at 2026-01-01T00:00:00Z.
    async fn groups_of(token: &str, secret: BootstrapSecret) -> Option<Vec<String>> {
        let clock = Arc::new(TestClock::at(UnixTime::from_seconds(1_767_225_600)));
        let token_user = BootstrapTokens::new(Arc::new(One(secret)), clock)
            .authenticate(token, &[], &Notes::default())
            .await
            .unwrap();
        token_user.map(|token_user| {
            assert_eq!(token_user.user.name, "system:bootstrap:abcdef");
            token_user.user.groups
        })
    }

    #[tokio::test]
    async fn a_token_stands_for_its_groups() {
        assert_eq!(groups_of(TOKEN, secret(&[])).await.unwrap(), ["system:bootstrappers"]);
        let further = (
            "auth-extra-groups",
            "system:bootstrappers:z,system:bootstrappers:kubeadm:default-node-token,system:bootstrappers:z",
        );
        let expected = [
            "system:bootstrappers",
            "system:bootstrappers:kubeadm:default-node-token",
            "system:bootstrappers:z",
        ];
        assert_eq!(groups_of(TOKEN, secret(&[further])).await.unwrap(), expected);
        let later = ("expiration", "2026-01-01T00:00:01Z");
        assert!(groups_of(TOKEN, secret(&[later])).await.is_some());
    }

    #[tokio::test]
    async fn invalid_secret_rejects_token() {
        for wrong in [
            ("token-id", "abcdeg"),
            ("token-secret", "0123456789abcdeg"),
            ("token-secret", ""),
            ("expiration", "2026-01-01T00:00:00Z"),
            ("expiration", "tomorrow"),
            ("usage-bootstrap-authentication", "yes"),
            ("auth-extra-groups", "system:masters"),
            ("auth-extra-groups", "system:bootstrappers:"),
            ("auth-extra-groups", "system:bootstrappers:a:"),
            ("auth-extra-groups", "system:bootstrappers:A"),
            ("auth-extra-groups", "system:bootstrappers:a,"),
        ] {
            assert_eq!(groups_of(TOKEN, secret(&[wrong])).await, None, "{wrong:?}");
        }
        assert_eq!(groups_of(TOKEN, BootstrapSecret { deleting: true, ..secret(&[]) }).await, None);
        assert_eq!(
            groups_of(TOKEN, BootstrapSecret { kind: "Opaque".to_owned(), ..secret(&[]) }).await,
            None
        );
    }

    #[tokio::test]
    async fn other_token_formats_are_ignored() {
        for token in [
            "",
            "abcdef",
            "abcdef.",
            "abcdef.0123456789abcde",
            "ABCDEF.0123456789abcdef",
            "bcdefa.0123456789abcdef",
        ] {
            assert_eq!(groups_of(token, secret(&[])).await, None, "{token}");
        }
    }
}
