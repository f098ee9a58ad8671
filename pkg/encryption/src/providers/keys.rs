//! Providers whose keys are in the configuration.

use bytes::Bytes;

use crate::cipher::{Cbc, Gcm, Secretbox};
use crate::configuration::Key;
use crate::{DecryptedValue, Error};

/// Algorithm of a provider with local keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    AesGcm,
    AesCbc,
    Secretbox,
}

impl Algorithm {
    fn prefix(self) -> &'static str {
        match self {
            Algorithm::AesGcm => "k8s:enc:aesgcm:v1:",
            Algorithm::AesCbc => "k8s:enc:aescbc:v1:",
            Algorithm::Secretbox => "k8s:enc:secretbox:v1:",
        }
    }

    fn missing_key_error(self) -> &'static str {
        match self {
            Algorithm::AesGcm | Algorithm::AesCbc => {
                "no matching key was found for the provided AES transformer"
            }
            Algorithm::Secretbox => "no matching key was found for the provided Secretbox transformer",
        }
    }
}

enum Cipher {
    Gcm(Gcm),
    /// Boxed because it has a key schedule for each direction.
    Cbc(Box<Cbc>),
    Secretbox(Secretbox),
}

/// Keys of one algorithm: the first one writes, all of them read.
pub(crate) struct Keys {
    algorithm: Algorithm,
    /// Each key with its part of the prefix: the key's name and a colon.
    keys: Vec<(String, Cipher)>,
}

impl Keys {
    /// Creates a provider from keys.
    ///
    /// # Errors
    /// A key has a length that the algorithm does not support.
    pub(crate) fn new(algorithm: Algorithm, keys: &[Key]) -> Result<Self, Error> {
        let cipher = |Key { name, secret }: &Key| {
            let cipher = match algorithm {
                Algorithm::AesGcm => Gcm::new(secret).map(Cipher::Gcm),
                Algorithm::AesCbc => Cbc::new(secret).map(|cbc| Cipher::Cbc(Box::new(cbc))),
                Algorithm::Secretbox => Secretbox::new(secret).map(Cipher::Secretbox),
            };
            let failed = || format!("error while creating cipher for named key {name}");
            Ok((format!("{name}:"), cipher.map_err(|error| error.context(&failed()))?))
        };
        Ok(Keys { algorithm, keys: keys.iter().map(cipher).collect::<Result<_, _>>()? })
    }

    /// Returns the prefix of encrypted values.
    pub(crate) fn prefix(&self) -> &'static str {
        self.algorithm.prefix()
    }

    /// The part of the prefix that follows, for each key.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|(name, _)| &**name)
    }

    /// Decrypts the part behind the provider's prefix. Calls `tried` for each key whose name matches, and
    /// once with `None` if no name matches.
    pub(super) fn open(
        &self,
        stored: &[u8],
        context: &[u8],
        tried: impl Fn(Option<usize>, Result<(), &Error>),
    ) -> Result<DecryptedValue, Error> {
        let mut errors = Vec::new();
        for (at, (name, cipher)) in self.keys.iter().enumerate() {
            let Some(sealed) = stored.strip_prefix(name.as_bytes()) else { continue };
            let opened = match cipher {
                Cipher::Gcm(gcm) => gcm.open(sealed, context),
                Cipher::Cbc(cbc) => cbc.open(sealed),
                Cipher::Secretbox(secretbox) => secretbox.open(sealed),
            };
            tried(Some(at), opened.as_ref().map(drop));
            match opened {
                Ok(plain) => return Ok(DecryptedValue { plain: plain.into(), stale: at > 0 }),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            let error = Error::new(self.algorithm.missing_key_error());
            tried(None, Err(&error));
            return Err(error);
        }
        Err(Error::all(errors))
    }

    /// Encrypts a value with the first key and adds the prefixes.
    pub(super) fn seal(
        &self,
        plain: &[u8],
        context: &[u8],
        random: &dyn Fn(&mut [u8]),
    ) -> Result<Bytes, Error> {
        /// Upper bound of the bytes that any algorithm adds.
        const OVERHEAD: usize = 64;
        let (name, cipher) =
            self.keys.first().ok_or_else(|| Error::new(self.algorithm.missing_key_error()))?;
        let prefix = self.prefix();
        let mut out = Vec::with_capacity(prefix.len() + name.len() + plain.len() + OVERHEAD);
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(name.as_bytes());
        match cipher {
            Cipher::Gcm(gcm) => gcm.seal(&mut out, plain, context, random)?,
            Cipher::Cbc(cbc) => cbc.seal(&mut out, plain, random)?,
            Cipher::Secretbox(secretbox) => secretbox.seal(&mut out, plain, random)?,
        }
        Ok(out.into())
    }
}
