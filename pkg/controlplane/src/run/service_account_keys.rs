//! The keys of service accounts' tokens. Upstream does not start without them; here a server that was
//! given none makes a signing key in `--cert-dir` and keeps it, so that tokens work out of the box.

use std::fs;
use std::io;
use std::path::Path;

use authentication::service_account::{PublicKeys, SigningKey};

use super::{RunError, certificates};
use crate::config::Config;

/// The name of the key in `--cert-dir`; kubeadm's.
const FILE: &str = "sa.key";

/// What tokens are signed and verified with.
pub(crate) struct ServiceAccountKeys {
    /// `None` where tokens are verified but not issued.
    pub(crate) signing: Option<SigningKey>,
    /// One of them has to have signed a token.
    pub(crate) verifying: PublicKeys,
}

/// Reads the keys that are configured, or makes one where none are.
///
/// # Errors
/// [`RunError::File`], [`RunError::Credentials`].
pub(crate) fn load(config: &Config) -> Result<ServiceAccountKeys, RunError> {
    let files = &config.service_accounts;
    let signing = match &files.signing_key_file {
        Some(path) => Some(read(path)?),
        None if files.key_files.is_empty() => Some(own(&config.serving.cert_dir.join(FILE))?),
        None => None,
    };
    let mut verifying = PublicKeys::default();
    for path in &files.key_files {
        let file = path.display();
        verifying.add_pem(&read(path)?).map_err(|error| {
            RunError::Credentials(format!("failed to parse key file \"{file}\": {error}"))
        })?;
    }
    let signing = match signing {
        None => None,
        Some(text) => {
            let failed = |error| {
                RunError::Credentials(format!("failed to parse service-account-issuer-key-file: {error}"))
            };
            if files.key_files.is_empty() {
                verifying.add_pem(&text).map_err(failed)?;
            }
            Some(SigningKey::from_pem(&text).map_err(failed)?)
        }
    };
    Ok(ServiceAccountKeys { signing, verifying })
}

fn read(path: &Path) -> Result<String, RunError> {
    fs::read_to_string(path).map_err(|source| RunError::read(path, source))
}

/// The key of this server's own making, made when it is first asked for.
fn own(path: &Path) -> Result<String, RunError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text =
                SigningKey::generate_pem().map_err(|error| RunError::Credentials(error.to_string()))?;
            certificates::write_private(path, &text).map_err(|source| RunError::read(path, source))?;
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
    fn a_server_without_keys_makes_one_and_keeps_it_to_itself() {
        let dir = TestDir::new().unwrap();
        let config = Config::for_tests(dir.path().to_owned());
        assert!(load(&config).unwrap().signing.is_some());
        let path = dir.path().join(FILE);
        let key = fs::read_to_string(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(load(&config).unwrap().signing.is_some());
        assert_eq!(fs::read_to_string(&path).unwrap(), key);
    }

    #[test]
    fn keys_that_are_configured_are_the_only_ones() {
        let dir = TestDir::new().unwrap();
        let path = dir.path().join("key");
        fs::write(&path, SigningKey::generate_pem().unwrap()).unwrap();
        let mut config = Config::for_tests(dir.path().to_owned());
        config.service_accounts.key_files = vec![path.clone()];
        assert!(load(&config).unwrap().signing.is_none());
        config.service_accounts.signing_key_file = Some(path.clone());
        assert!(load(&config).unwrap().signing.is_some());
        assert!(!dir.path().join(FILE).exists());
        fs::write(&path, "text").unwrap();
        let error = load(&config).err().unwrap().to_string();
        let expected = format!(
            "failed to parse key file {path:?}: data does not contain any valid RSA or ECDSA public keys"
        );
        assert_eq!(error, expected);
        config.service_accounts.key_files.clear();
        let error = load(&config).err().unwrap().to_string();
        assert!(error.starts_with("failed to parse service-account-issuer-key-file: "), "{error}");
    }
}
