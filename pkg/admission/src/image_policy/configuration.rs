//! `imagePolicy`: location and cache lifetimes of the image policy webhook. The file format predates
//! versioned configurations.

use std::borrow::Cow;
use std::path::PathBuf;
use std::time::Duration;

use apimachinery::go_json;
use apimachinery::time::format_duration;
use jsontree::{Object, Value};
use schema::json::TypeError;

use crate::PluginConfigurationError;

const NANOS_OF_SECOND: i64 = 1_000_000_000;
const NANOS_OF_MILLISECOND: i64 = 1_000_000;
const NANOS_OF_MINUTE: i64 = 60 * NANOS_OF_SECOND;

/// Unit, minimum, maximum and default of a number in the file. All values are in nanoseconds.
struct DurationBounds {
    unit: i64,
    min: i64,
    max: i64,
    default: i64,
}

const BACKOFF: DurationBounds = DurationBounds {
    unit: NANOS_OF_MILLISECOND,
    min: 1,
    max: 5 * NANOS_OF_MINUTE,
    default: 500 * NANOS_OF_MILLISECOND,
};
const ALLOW: DurationBounds = DurationBounds {
    unit: NANOS_OF_SECOND,
    min: NANOS_OF_SECOND,
    max: 30 * NANOS_OF_MINUTE,
    default: 5 * NANOS_OF_MINUTE,
};
const DENY: DurationBounds = DurationBounds { default: 30 * NANOS_OF_SECOND, ..ALLOW };

/// Configuration of the image policy webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImagePolicyConfiguration {
    /// The kubeconfig with the webhook's address.
    pub kubeconfig: PathBuf,
    /// The initial retry back-off.
    pub retry_backoff: Duration,
    /// Cache lifetime of an approval; zero disables caching.
    pub(super) allow_ttl: Duration,
    /// Cache lifetime of a rejection; zero disables caching.
    pub(super) deny_ttl: Duration,
    /// True if images are allowed while the webhook is unavailable.
    pub(super) default_allow: bool,
}

impl ImagePolicyConfiguration {
    /// Parses YAML or JSON; `None` means that there is no file. Only the first document counts.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: Option<&[u8]>) -> Result<Self, PluginConfigurationError> {
        let text = text.ok_or_else(|| PluginConfigurationError::Invalid("no config specified".to_owned()))?;
        let yaml = schema::yaml::to_json(text)?;
        let root: Value = serde_json::from_slice(&yaml.json)?;
        let empty = Object::new();
        let members = match &root {
            Value::Null => &empty,
            Value::Object(members) => members,
            other => {
                let actual = go_json::kind_of(other);
                return Err(mistyped(actual, "", "", "imagepolicy.AdmissionConfig"));
            }
        };
        let policy = match member(members, "imagePolicy") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(policy)) => policy,
            Some(other) => {
                let actual = go_json::kind_of(other);
                let expected = "imagepolicy.imagePolicyWebhookConfig";
                return Err(mistyped(actual, "AdmissionConfig", "imagePolicy", expected));
            }
        };
        let default_allow = match member(policy, "defaultAllow") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(allow)) => *allow,
            Some(other) => return Err(mistyped_member(go_json::kind_of(other), "defaultAllow", "bool")),
        };
        let kubeconfig = match member(policy, "kubeConfigFile") {
            None | Some(Value::Null) => PathBuf::new(),
            Some(Value::String(path)) => PathBuf::from(path),
            Some(other) => return Err(mistyped_member(go_json::kind_of(other), "kubeConfigFile", "string")),
        };
        let backoff = number(policy, "retryBackoff")?;
        let allow = number(policy, "allowTTL")?;
        let deny = number(policy, "denyTTL")?;
        Ok(ImagePolicyConfiguration {
            kubeconfig,
            retry_backoff: BACKOFF.duration(backoff)?,
            allow_ttl: ALLOW.duration(allow)?,
            deny_ttl: DENY.duration(deny)?,
            default_allow,
        })
    }
}

impl DurationBounds {
    /// Converts a number of the file: -1 means none, and 0 means the default.
    fn duration(&self, number: i64) -> Result<Duration, PluginConfigurationError> {
        let nanos = match number {
            -1 => 0,
            0 => self.default,
            _ => {
                let nanos = number.wrapping_mul(self.unit);
                if !(self.min..=self.max).contains(&nanos) {
                    let [min, max, nanos] = [self.min, self.max, nanos].map(format_duration);
                    return Err(PluginConfigurationError::Invalid(format!(
                        "valid value is between {min} and {max}, got {nanos}"
                    )));
                }
                nanos
            }
        };
        Ok(Duration::from_nanos(nanos.unsigned_abs()))
    }
}

/// Returns a member. Go compares names case-insensitively.
fn member<'v>(members: &'v Object, name: &str) -> Option<&'v Value> {
    let any_case = || members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value);
    members.get(name).or_else(any_case)
}

fn number(policy: &Object, name: &str) -> Result<i64, PluginConfigurationError> {
    match member(policy, name) {
        None | Some(Value::Null) => Ok(0),
        Some(Value::Number(number)) => {
            number.as_i64().ok_or_else(|| mistyped_member(format!("number {number}"), name, "time.Duration"))
        }
        Some(other) => Err(mistyped_member(go_json::kind_of(other), name, "time.Duration")),
    }
}

fn mistyped_member(
    value: impl Into<Cow<'static, str>>,
    name: &str,
    go_type: &'static str,
) -> PluginConfigurationError {
    mistyped(value, "imagePolicyWebhookConfig", &format!("imagePolicy.{name}"), go_type)
}

fn mistyped(
    value: impl Into<Cow<'static, str>>,
    struct_name: &'static str,
    field: &str,
    go_type: &'static str,
) -> PluginConfigurationError {
    let field = field.to_owned();
    let error =
        TypeError { value: value.into(), struct_name: struct_name.into(), field, go_type: go_type.into() };
    Box::new(error).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_have_units_defaults_and_disabled_value() {
        let check = |rest: &str, expected: Result<[u64; 3], &str>| {
            let text = format!("imagePolicy: {{kubeConfigFile: /k{rest}}}");
            let got = ImagePolicyConfiguration::parse(Some(text.as_bytes())).map(|read| {
                assert_eq!(read.kubeconfig, PathBuf::from("/k"));
                [read.retry_backoff, read.allow_ttl, read.deny_ttl]
                    .map(|span| span.as_millis().try_into().unwrap())
            });
            assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{rest}");
        };
        check("", Ok([500, 300_000, 30_000]));
        check(", retryBackoff: 1, allowTTL: 2, denyTTL: 3", Ok([1, 2000, 3000]));
        check(", retrybackoff: -1, allowTTL: -1, denyTTL: -1", Ok([0, 0, 0]));
        check(", allowTTL: 1801", Err("valid value is between 1s and 30m0s, got 30m1s"));
        check(", retryBackoff: -2", Err("valid value is between 1ns and 5m0s, got -2ms"));
        check(
            ", denyTTL: 30s",
            Err(
                "json: cannot unmarshal string into Go struct field imagePolicyWebhookConfig.imagePolicy.denyTTL of type time.Duration",
            ),
        );
    }

    #[test]
    fn configuration_is_required() {
        let error = ImagePolicyConfiguration::parse(None).unwrap_err();
        assert_eq!(error.to_string(), "no config specified");
    }
}
