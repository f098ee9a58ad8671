//! Keys of service account tokens. Upstream does not start without them, and neither does this program on etcd.
//! A standalone server without configured keys generates a signing key in `--cert-dir`, so that tokens work by
//! default.

use component_base::metrics::MetricsRegistry;
use std::path::Path;
use std::{fs, io};

use std::sync::Arc;
use std::time::Duration;

use authentication::service_account::{
    ExternalKeys, PublicKeys, Signer, SignerMetrics, SigningKey, VerificationKeys,
};
use token_signer::SocketSigner;

use super::certificates::{self, Durability};
use crate::config::{Config, ServerRole};
use crate::error::RunError;
use crate::system::SystemClock;

/// File name of the key in `--cert-dir`, as in kubeadm.
const FILE: &str = "sa.key";

/// Keys to sign and verify tokens.
pub(crate) struct ServiceAccountKeys {
    /// `None` if tokens are only verified.
    pub(crate) signing: Option<Signer>,
    pub(crate) verifying: VerificationKeys,
    /// Maximum token lifetime of an external signer.
    pub(crate) lifetime_max: Option<Duration>,
}

/// Lower bound for the maximum token lifetime of an external signer, in seconds.
const LIFETIME_MIN_SECONDS: i64 = 600;

impl ServiceAccountKeys {
    /// Returns the maximum token lifetime: the configured one, or that of an external signer; zero for no
    /// limit.
    ///
    /// # Errors
    /// [`RunError::TokenLifetime`] if the configured one exceeds the signer's.
    pub(crate) fn token_lifetime_max(&self, configured: Duration) -> Result<Duration, RunError> {
        match self.lifetime_max {
            Some(external) if configured.is_zero() => Ok(external),
            Some(external) if configured > external => {
                Err(RunError::TokenLifetime { configured, supported: external })
            }
            _ => Ok(configured),
        }
    }
}

/// Reads the configured keys, connects to the external signer, or generates a key if neither is configured.
///
/// # Errors
/// [`RunError::File`], [`RunError::Key`], [`RunError::Signer`], [`RunError::SignerLifetime`].
pub(crate) async fn load(config: &Config, metrics: &MetricsRegistry) -> Result<ServiceAccountKeys, RunError> {
    match &config.service_accounts.signing_endpoint {
        Some(socket) => external(socket, metrics).await,
        None => of_files(config),
    }
}

/// Fetches keys and limits from an external signer.
async fn external(socket: &str, metrics: &MetricsRegistry) -> Result<ServiceAccountKeys, RunError> {
    let failed = |error| RunError::Signer(error).within("while setting up external-jwt-signer");
    let metrics = Arc::new(SignerMetrics::new(metrics));
    let signer = SocketSigner::new(socket, Arc::clone(&metrics));
    let keys = ExternalKeys::fetch(Arc::new(signer.clone()), metrics, Arc::new(SystemClock)).await;
    let keys = Arc::new(keys.map_err(failed)?);
    let seconds = signer.token_seconds_max().await.map_err(failed)?;
    let Some(lifetime) = u64::try_from(seconds).ok().filter(|_| seconds >= LIFETIME_MIN_SECONDS) else {
        return Err(RunError::SignerLifetime { seconds, min: LIFETIME_MIN_SECONDS });
    };
    Ok(ServiceAccountKeys {
        signing: Some(Signer::External(Arc::clone(&keys))),
        verifying: VerificationKeys::External(keys),
        lifetime_max: Some(Duration::from_secs(lifetime)),
    })
}

fn of_files(config: &Config) -> Result<ServiceAccountKeys, RunError> {
    let files = &config.service_accounts;
    let signing = match &files.signing_key_file {
        Some(path) => Some(read(path)?),
        None if !files.key_files.is_empty() => None,
        // A fork has its parent's directory, but not its key: a token belongs to one server.
        None if config.role == ServerRole::Fork => Some(generate()?),
        None => Some(load_or_generate(&config.serving.cert_dir.join(FILE), Durability::of(config))?),
    };
    let mut verifying = PublicKeys::default();
    for path in &files.key_files {
        let file = path.display();
        verifying
            .add_pem(&read(path)?)
            .map_err(|error| RunError::Key(error).within(format!("failed to parse key file \"{file}\"")))?;
    }
    let signing = match signing {
        None => None,
        Some(text) => {
            let failed =
                |error| RunError::Key(error).within("failed to parse service-account-issuer-key-file");
            if files.key_files.is_empty() {
                verifying.add_pem(&text).map_err(failed)?;
            }
            Some(Signer::Key(Box::new(SigningKey::from_pem(&text).map_err(failed)?)))
        }
    };
    Ok(ServiceAccountKeys { signing, verifying: verifying.into(), lifetime_max: None })
}

fn read(path: &Path) -> Result<String, RunError> {
    fs::read_to_string(path).map_err(|source| RunError::read(path, source))
}

fn generate() -> Result<String, RunError> {
    Ok(SigningKey::generate_pem()?)
}

/// Returns the generated key. The first call generates it.
fn load_or_generate(path: &Path, keeping: Durability) -> Result<String, RunError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = generate()?;
            certificates::write_private(path, &text, keeping)
                .map_err(|source| RunError::read(path, source))?;
            Ok(text)
        }
        found => found.map_err(|source| RunError::read(path, source)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::test_cluster::TestDir;

    #[test]
    fn server_without_keys_generates_private_file() {
        let dir = TestDir::new().unwrap();
        let config = Config::for_tests(dir.path().to_owned());
        assert!(of_files(&config).unwrap().signing.is_some());
        let path = dir.path().join(FILE);
        let key = fs::read_to_string(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(of_files(&config).unwrap().signing.is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), key);
    }

    #[test]
    fn external_signer_limits_token_lifetime() {
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let check = |external: Option<u64>, configured: u64, expected: Result<u64, &str>| {
            let lifetime_max = external.map(hours);
            let verifying = PublicKeys::default().into();
            let keys = ServiceAccountKeys { signing: None, verifying, lifetime_max };
            let got = keys.token_lifetime_max(hours(configured)).map_err(|error| error.to_string());
            assert_eq!(got, expected.map(hours).map_err(str::to_owned));
        };
        check(None, 0, Ok(0));
        check(None, 5, Ok(5));
        check(Some(5), 0, Ok(5));
        check(Some(5), 4, Ok(4));
        check(Some(5), 5, Ok(5));
        let refused = "service-account-max-token-expiration cannot be set longer than the token expiration \
                       supported by service-account-signing-endpoint: 6h0m0s > 5h0m0s";
        check(Some(5), 6, Err(refused));
    }

    #[test]
    fn configured_keys_are_exclusive() {
        let dir = TestDir::new().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, SigningKey::generate_pem().unwrap()).unwrap();
        let mut config = Config::for_tests(dir.path().to_owned());
        config.service_accounts.key_files = vec![path.clone()];
        assert!(of_files(&config).unwrap().signing.is_none());
        config.service_accounts.signing_key_file = Some(path.clone());
        assert!(of_files(&config).unwrap().signing.is_some());
        assert!(!dir.path().join(FILE).exists());
        fs::write(&path, "text").unwrap();
        let error = of_files(&config).err().unwrap().to_string();
        let expected = format!(
            "failed to parse key file {path:?}: data does not contain any valid RSA or ECDSA public keys"
        );
        assert_eq!(error, expected);
        config.service_accounts.key_files.clear();
        let error = of_files(&config).err().unwrap().to_string();
        assert!(error.starts_with("failed to parse service-account-issuer-key-file: "), "{error}");
    }
}
