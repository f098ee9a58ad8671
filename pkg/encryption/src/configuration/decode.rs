//! Strict decoding of a configuration file.

use std::time::Duration;

use super::EncryptionConfigurationError;
use apimachinery::go_json;
use apimachinery::time::parse_duration;
use jsontree::{Object, Value};
use schema::configuration::{ConfigurationFile, FileKind, Members, ReadError, Shape};

const KEY: Members = Members { name: "Key", all: &[("name", Shape::Text), ("secret", Shape::Text)] };
const KEYS: Shape = Shape::List(&Shape::Struct(&KEY));
const AES: Members = Members { name: "AESConfiguration", all: &[("keys", KEYS)] };
const SECRETBOX: Members = Members { name: "SecretboxConfiguration", all: &[("keys", KEYS)] };
const IDENTITY: Members = Members { name: "IdentityConfiguration", all: &[] };
const KMS: Members = Members {
    name: "KMSConfiguration",
    all: &[
        ("apiVersion", Shape::Text),
        ("name", Shape::Text),
        ("cachesize", Shape::Int32),
        ("endpoint", Shape::Text),
        ("timeout", Shape::Any),
    ],
};
const PROVIDER: Members = Members {
    name: "ProviderConfiguration",
    all: &[
        ("aesgcm", Shape::Struct(&AES)),
        ("aescbc", Shape::Struct(&AES)),
        ("secretbox", Shape::Struct(&SECRETBOX)),
        ("identity", Shape::Struct(&IDENTITY)),
        ("kms", Shape::Struct(&KMS)),
    ],
};
const RESOURCES: Members = Members {
    name: "ResourceConfiguration",
    all: &[("resources", Shape::List(&Shape::Text)), ("providers", Shape::List(&Shape::Struct(&PROVIDER)))],
};
const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[FileKind { group: "apiserver.config.k8s.io", version: "v1", kind: "EncryptionConfiguration" }],
    scheme: "k8s.io/apiserver/pkg/server/options/encryptionconfig/config.go:142",
    strict: true,
    members: &Members {
        name: "EncryptionConfiguration",
        all: &[("resources", Shape::List(&Shape::Struct(&RESOURCES)))],
    },
};

/// Default `apiVersion` of a plugin.
const DEFAULT_API_VERSION: &str = "v1";
/// Default size of a v1 plugin's data key cache, in keys.
const DEFAULT_CACHE_SIZE: i64 = 1000;
/// Default timeout of a call, in nanoseconds.
const DEFAULT_TIMEOUT: i64 = 3_000_000_000;

/// A decoded rule with defaults, not yet validated.
#[derive(Default)]
pub(super) struct Rule {
    pub(super) resources: Vec<String>,
    pub(super) providers: Vec<Provider>,
}

/// An element of the list of providers. Exactly one field should be set.
#[derive(Default)]
pub(super) struct Provider {
    pub(super) aesgcm: Option<Vec<Key>>,
    pub(super) aescbc: Option<Vec<Key>>,
    pub(super) secretbox: Option<Vec<Key>>,
    pub(super) identity: bool,
    pub(super) kms: Option<Kms>,
}

/// An encoded key.
pub(super) struct Key {
    pub(super) name: String,
    pub(super) secret: String,
}

pub(super) struct Kms {
    pub(super) api_version: String,
    pub(super) name: String,
    pub(super) cache_size: Option<i64>,
    pub(super) endpoint: String,
    /// In nanoseconds.
    pub(super) timeout: i64,
}

impl Kms {
    /// Returns the timeout, or zero if it is negative.
    pub(super) fn timeout(&self) -> Duration {
        u64::try_from(self.timeout).map_or(Duration::ZERO, Duration::from_nanos)
    }
}

/// Decodes a configuration file.
///
/// # Errors
/// The strict decoder's errors. The error for a file without `kind` or `apiVersion` would quote the whole
/// file with its keys, so they are redacted.
pub(super) fn file(text: &[u8]) -> Result<Vec<Rule>, EncryptionConfigurationError> {
    let read = FILE.read(text).map_err(|error| match error {
        ReadError::Unknown(message) => {
            ReadError::Unknown(message.replace(&*String::from_utf8_lossy(text), "REDACTED"))
        }
        ReadError::Invalid(_) => error,
    })?;
    objects(&read.members, "resources").map(rule).collect()
}

fn rule(rule: &Object) -> Result<Rule, EncryptionConfigurationError> {
    let resources = list(rule, "resources").filter_map(Value::as_str).map(str::to_owned).collect();
    let providers = objects(rule, "providers").map(provider).collect::<Result<_, _>>()?;
    Ok(Rule { resources, providers })
}

fn provider(provider: &Object) -> Result<Provider, EncryptionConfigurationError> {
    let object = |name: &str| provider.get(name).and_then(Value::as_object);
    Ok(Provider {
        aesgcm: object("aesgcm").map(keys),
        aescbc: object("aescbc").map(keys),
        secretbox: object("secretbox").map(keys),
        identity: object("identity").is_some(),
        kms: object("kms").map(kms).transpose()?,
    })
}

fn keys(of: &Object) -> Vec<Key> {
    objects(of, "keys").map(|key| Key { name: text(key, "name"), secret: text(key, "secret") }).collect()
}

fn kms(kms: &Object) -> Result<Kms, EncryptionConfigurationError> {
    let api_version = match text(kms, "apiVersion") {
        version if version.is_empty() => DEFAULT_API_VERSION.to_owned(),
        version => version,
    };
    let default_size = (api_version == "v1").then_some(DEFAULT_CACHE_SIZE);
    let timeout = match kms.get("timeout") {
        None => DEFAULT_TIMEOUT,
        Some(Value::String(text)) => parse_duration(text)?,
        Some(value) => return Err(EncryptionConfigurationError::TimeoutType(go_json::kind_of(value))),
    };
    Ok(Kms {
        cache_size: kms.get("cachesize").and_then(Value::as_i64).or(default_size),
        name: text(kms, "name"),
        endpoint: text(kms, "endpoint"),
        api_version,
        timeout,
    })
}

fn text(of: &Object, name: &str) -> String {
    of.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'m>(of: &'m Object, name: &str) -> impl Iterator<Item = &'m Value> {
    of.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn objects<'m>(of: &'m Object, name: &str) -> impl Iterator<Item = &'m Object> {
    list(of, name).filter_map(Value::as_object)
}
