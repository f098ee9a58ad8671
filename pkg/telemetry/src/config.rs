//! `--tracing-config-file`: a `TracingConfiguration` of `apiserver.config.k8s.io`, parsed and validated like
//! upstream (apiserver `server/options/tracing.go`, component-base `tracing/api/v1/config.go`).

#[cfg(test)]
mod tests;

use apimachinery::field::{self, Path};
use apimachinery::go_json;
use jsontree::Value;
use schema::json::errors::{self, strict_decoding_error};
use schema::object::Object;

use crate::Error;

const GROUP: &str = "apiserver.config.k8s.io";
const KIND: &str = "TracingConfiguration";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// The name of upstream's decoding scheme. It is part of error messages.
const SCHEME: &str = "k8s.io/apiserver/pkg/server/options/tracing.go:49";

const RATE_MAX: i32 = 1_000_000;

/// The collector endpoint and the sampling rate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracingConfiguration {
    /// Collector address in gRPC's syntax; `None` for OTLP's port on this machine.
    pub endpoint: Option<String>,
    /// Sampled requests per million, among those without a sampling decision of the client; `None` for none.
    pub sampling_rate_per_million: Option<i32>,
}

impl TracingConfiguration {
    /// Parses and validates a file's text, YAML or JSON.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let config = decode(text)
            .map_err(|error| {
                format!("failed to read tracing config: unable to decode tracing configuration data: {error}")
            })
            .map_err(Error::Invalid)?;
        match field::aggregate(&config.errors()) {
            None => Ok(config),
            Some(error) => Err(Error::Invalid(format!("failed to validate tracing configuration: {error}"))),
        }
    }

    /// The fraction of requests without a sampling decision of the client that are sampled.
    pub fn sampling_rate(&self) -> f64 {
        f64::from(self.sampling_rate_per_million.unwrap_or(0)) / f64::from(RATE_MAX)
    }

    fn errors(&self) -> Vec<field::Error> {
        let mut errors = Vec::new();
        if let Some(rate) = self.sampling_rate_per_million {
            let why = match rate {
                ..0 => Some("sampling rate must be positive"),
                0..=RATE_MAX => None,
                _ => Some("sampling rate per million must be less than or equal to one million"),
            };
            let path = Path::root("samplingRatePerMillion");
            errors.extend(why.map(|why| field::Error::invalid(&path, rate, why)));
        }
        if let Some(endpoint) = &self.endpoint {
            let target = target(endpoint);
            let why = endpoint_error(&target);
            errors.extend(why.map(|why| field::Error::invalid(&Path::root("endpoint"), target, why)));
        }
        errors
    }
}

/// Adds the scheme that gRPC assumes (`dns`) to an address without one.
fn target(endpoint: &str) -> String {
    if endpoint.contains("//") { endpoint.to_owned() } else { format!("dns://{endpoint}") }
}

/// Returns the reason if the address is invalid.
fn endpoint_error(target: &str) -> Option<String> {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    match scheme {
        "dns" | "unix" | "unix-abstract" => None,
        _ => Some(format!(
            "unsupported scheme: {scheme}.  Options are none, dns, unix, or unix-abstract.  See \
             https://github.com/grpc/grpc/blob/master/doc/naming.md"
        )),
    }
}

fn decode(text: &[u8]) -> Result<TracingConfiguration, Error> {
    let yaml = schema::yaml::to_json(text).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let mut strict: Vec<String> = yaml.strict_error().map(|error| error.to_string()).into_iter().collect();
    let meta =
        schema::json::type_meta(&yaml.json).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let api_version = meta.api_version.as_ref();
    let kind = meta.kind.as_ref();
    let text = String::from_utf8_lossy(text);
    if kind.is_empty() {
        return Err(Error::Invalid(format!("Object 'Kind' is missing in '{text}'")));
    }
    if api_version.is_empty() {
        return Err(Error::Invalid(format!("Object 'apiVersion' is missing in '{text}'")));
    }
    let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
    if kind != KIND || !version.is_some_and(|version| VERSIONS.contains(&version)) {
        return Err(Error::Invalid(errors::not_registered(kind, api_version, SCHEME)));
    }
    let object: Object =
        serde_json::from_slice(&yaml.json).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let config = members(&object, &mut strict)?;
    match strict.as_slice() {
        [] => Ok(config),
        strict => Err(Error::Invalid(strict_decoding_error(strict))),
    }
}

fn members(object: &Object, strict: &mut Vec<String>) -> Result<TracingConfiguration, Error> {
    let mut config = TracingConfiguration::default();
    for (name, value) in object {
        match (name.as_str(), value) {
            ("kind" | "apiVersion", _) | ("endpoint" | "samplingRatePerMillion", Value::Null) => {}
            ("endpoint", Value::String(text)) => config.endpoint = Some(text.to_string()),
            ("samplingRatePerMillion", Value::Number(number)) => {
                let rate = number.as_i64().and_then(|rate| i32::try_from(rate).ok());
                let value = format!("number {number}");
                config.sampling_rate_per_million =
                    Some(rate.ok_or_else(|| mistyped(name, &value, "int32")).map_err(Error::Invalid)?);
            }
            ("endpoint", value) => {
                return Err(Error::Invalid(mistyped(name, go_json::kind_of(value), "string")));
            }
            ("samplingRatePerMillion", value) => {
                return Err(Error::Invalid(mistyped(name, go_json::kind_of(value), "int32")));
            }
            _ => strict.push(format!("unknown field {}", apimachinery::go_quote::Quoted(name))),
        }
    }
    Ok(config)
}

fn mistyped(name: &str, value: &str, expected_type: &str) -> String {
    format!("json: cannot unmarshal {value} into Go struct field {KIND}.{name} of type {expected_type}")
}
