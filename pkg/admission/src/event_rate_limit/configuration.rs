//! `Configuration` of `eventratelimit.admission.k8s.io`: rate limits of Events.

use std::num::NonZeroUsize;

use api::tree::{children, integer, text};
use apimachinery::field::{self, Error, Path};
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use schema::object::Object;

use crate::PluginConfigurationError;

/// Default for the maximum number of buckets of a limit.
const CACHE_SIZE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

const LIMIT: Members = Members {
    name: "Limit",
    all: &[
        ("type", Shape::Text),
        ("qps", Shape::Int32),
        ("burst", Shape::Int32),
        ("cacheSize", Shape::Int32),
    ],
};
const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[FileKind {
        group: "eventratelimit.admission.k8s.io",
        version: "v1alpha1",
        kind: "Configuration",
    }],
    scheme: "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/config.go:31",
    strict: false,
    members: &Members { name: "Configuration", all: &[("limits", Shape::List(&Shape::Struct(&LIMIT)))] },
};

/// Key of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitType {
    Server,
    Namespace,
    User,
    SourceAndObject,
}

impl LimitType {
    const ALL: [LimitType; 4] =
        [LimitType::Namespace, LimitType::Server, LimitType::SourceAndObject, LimitType::User];

    /// Returns the name in configuration files.
    pub(super) fn name(self) -> &'static str {
        match self {
            LimitType::Server => "Server",
            LimitType::Namespace => "Namespace",
            LimitType::User => "User",
            LimitType::SourceAndObject => "SourceAndObject",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) limit_type: LimitType,
    /// Events per second.
    pub(super) rate: i32,
    /// Burst size in events.
    pub(super) burst: i32,
    /// Maximum number of buckets. The least recently used bucket is evicted first.
    pub(super) buckets_max: NonZeroUsize,
}

/// Rate limits of Events. At least one limit is required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventRateLimitConfiguration {
    pub(super) limits: Vec<Limit>,
}

impl EventRateLimitConfiguration {
    /// Parses YAML or JSON; `None` means that there is no file.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: Option<&[u8]>) -> Result<Self, PluginConfigurationError> {
        let members = text.map(|text| FILE.read(text)).transpose()?.map(|file| file.members);
        let members = members.unwrap_or_default();
        let path = Path::root("limits");
        let mut errors = Vec::new();
        if children(&members, "limits").next().is_none() {
            let limits = members.get("limits").unwrap_or(&jsontree::Value::Null);
            errors.push(Error::invalid(&path, limits, "must not be empty"));
        }
        let mut limits = Vec::new();
        for (index, limit_object) in children(&members, "limits").enumerate() {
            limits.extend(limit(&path.index(index), limit_object, &mut errors));
        }
        match field::aggregate(&errors) {
            None => Ok(EventRateLimitConfiguration { limits }),
            Some(errors) => Err(PluginConfigurationError::Invalid(errors)),
        }
    }
}

fn limit(path: &Path<'_>, object: &Object, errors: &mut Vec<Error>) -> Option<Limit> {
    let name = text(object, "type");
    let limit_type = LimitType::ALL.into_iter().find(|limit_type| limit_type.name() == name);
    if limit_type.is_none() {
        errors.push(Error::not_supported(&path.child("type"), name, &LimitType::ALL.map(LimitType::name)));
    }
    let [rate, burst, buckets_max] = ["qps", "burst", "cacheSize"].map(|member| integer(object, member));
    for (member, number) in [("burst", burst), ("qps", rate)] {
        if number <= 0 {
            errors.push(Error::invalid(&path.child(member), number, "must be positive"));
        }
    }
    if limit_type != Some(LimitType::Server) && buckets_max < 0 {
        errors.push(Error::invalid(&path.child("cacheSize"), buckets_max, "must not be negative"));
    }
    let buckets_max = usize::try_from(buckets_max).ok().and_then(NonZeroUsize::new).unwrap_or(CACHE_SIZE);
    Some(Limit {
        limit_type: limit_type?,
        rate: rate.try_into().ok()?,
        burst: burst.try_into().ok()?,
        buckets_max,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parse(rest: &str) -> Result<EventRateLimitConfiguration, PluginConfigurationError> {
        let head = "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\n";
        EventRateLimitConfiguration::parse(Some(format!("{head}{rest}").as_bytes()))
    }

    #[test]
    fn every_limit_is_read() {
        let read = parse(
            "limits: [{type: Server, qps: 1, burst: 2, cacheSize: -1}, {type: User, qps: 3, burst: 4, cacheSize: 5}]",
        );
        let server = Limit { limit_type: LimitType::Server, rate: 1, burst: 2, buckets_max: CACHE_SIZE };
        let user = Limit {
            limit_type: LimitType::User,
            rate: 3,
            burst: 4,
            buckets_max: NonZeroUsize::MIN.saturating_add(4),
        };
        assert_eq!(read.unwrap().limits, [server, user]);
    }

    #[test]
    fn invalid_limits_fail_with_upstream_messages() {
        let check = |got: Result<EventRateLimitConfiguration, PluginConfigurationError>, expected: &str| {
            assert_eq!(got.unwrap_err().to_string(), expected);
        };
        check(EventRateLimitConfiguration::parse(None), "limits: Invalid value: null: must not be empty");
        check(parse(""), "limits: Invalid value: null: must not be empty");
        check(
            parse("limits: [{type: A, qps: 1, burst: 1}]"),
            "limits[0].type: Unsupported value: \"A\": supported values: \"Namespace\", \"Server\", \"SourceAndObject\", \"User\"",
        );
        check(
            parse("limits: [{type: User, cacheSize: -1}]"),
            "[limits[0].burst: Invalid value: 0: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative]",
        );
    }
}
