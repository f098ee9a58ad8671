//! `AuthenticationConfiguration` of `apiserver.config.k8s.io`.

use crate::Error;
use jsontree::Value;
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use serde::{Deserialize, Serialize};

use Shape::{Bool, List, Struct, Text};

/// JWT authenticators and anonymous access.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AuthenticationConfiguration {
    /// The issuers of tokens, tried in this order.
    pub jwt: Vec<JwtAuthenticator>,
    /// Anonymous access; `None` leaves it to `--anonymous-auth`.
    pub anonymous: Option<AnonymousAuth>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AnonymousAuth {
    pub enabled: bool,
    /// Requests that may be anonymous. An empty list means all.
    pub conditions: Vec<AnonymousCondition>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct AnonymousCondition {
    /// The exact path.
    #[serde(rename(serialize = "Path"))]
    pub path: String,
}

/// An issuer of tokens, with rules and mappings for its tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JwtAuthenticator {
    pub issuer: Issuer,
    /// Rules for the claims of a token.
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// Mapping of claims to a user.
    pub claim_mappings: ClaimMappings,
    /// Rules for the resulting user.
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// Issuer and audiences of tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Issuer {
    /// The `iss` claim of its tokens. The discovery document is below this URL by default.
    pub url: String,
    /// URL of the discovery document, if it is not below `url`.
    #[serde(rename = "discoveryURL")]
    pub discovery_url: String,
    /// CA bundle of the issuer in PEM; empty for the system's CAs.
    pub certificate_authority: String,
    /// Accepted audiences. A token must contain one of them.
    pub audiences: Vec<String>,
    /// Comparison of audiences: `MatchAny` or empty.
    pub audience_match_policy: String,
    /// The egress proxy to the issuer: `controlplane`, `cluster` or empty.
    pub egress_selector_type: String,
}

/// A rule for claims: a required value, or an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimValidationRule {
    pub claim: String,
    pub required_value: String,
    /// The expression over `claims`.
    pub expression: String,
    /// Log message if the expression is false.
    pub message: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimMappings {
    pub username: PrefixedClaimOrExpression,
    pub groups: PrefixedClaimOrExpression,
    pub uid: ClaimOrExpression,
    /// Extra attributes of the user.
    pub extra: Vec<ExtraMapping>,
}

/// A claim with a prefix, or an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PrefixedClaimOrExpression {
    pub claim: String,
    /// Prefix of the value; required with a claim.
    pub prefix: Option<String>,
    /// The expression over `claims`.
    pub expression: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimOrExpression {
    pub claim: String,
    /// The expression over `claims`.
    pub expression: String,
}

/// An extra attribute of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtraMapping {
    /// The key: a domain and a path.
    pub key: String,
    /// The expression over `claims`.
    pub value_expression: String,
}

/// A rule for the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UserValidationRule {
    /// The expression over `user`.
    pub expression: String,
    /// Log message if the expression is false.
    pub message: String,
}

const PREFIXED: Members = Members {
    name: "PrefixedClaimOrExpression",
    all: &[("claim", Text), ("prefix", Text), ("expression", Text)],
};
const UNPREFIXED: Members =
    Members { name: "ClaimOrExpression", all: &[("claim", Text), ("expression", Text)] };
const EXTRA: Members = Members { name: "ExtraMapping", all: &[("key", Text), ("valueExpression", Text)] };
const MAPPINGS: Members = Members {
    name: "ClaimMappings",
    all: &[
        ("username", Struct(&PREFIXED)),
        ("groups", Struct(&PREFIXED)),
        ("uid", Struct(&UNPREFIXED)),
        ("extra", List(&Struct(&EXTRA))),
    ],
};
const ISSUER: Members = Members {
    name: "Issuer",
    all: &[
        ("url", Text),
        ("discoveryURL", Text),
        ("certificateAuthority", Text),
        ("audiences", List(&Text)),
        ("audienceMatchPolicy", Text),
        ("egressSelectorType", Text),
    ],
};
const CLAIM_RULE: Members = Members {
    name: "ClaimValidationRule",
    all: &[("claim", Text), ("requiredValue", Text), ("expression", Text), ("message", Text)],
};
const USER_RULE: Members =
    Members { name: "UserValidationRule", all: &[("expression", Text), ("message", Text)] };
const JWT: Members = Members {
    name: "JWTAuthenticator",
    all: &[
        ("issuer", Struct(&ISSUER)),
        ("claimValidationRules", List(&Struct(&CLAIM_RULE))),
        ("claimMappings", Struct(&MAPPINGS)),
        ("userValidationRules", List(&Struct(&USER_RULE))),
    ],
};
const CONDITION: Members = Members { name: "AnonymousAuthCondition", all: &[("path", Text)] };
const ANONYMOUS: Members = Members {
    name: "AnonymousAuthConfig",
    all: &[("enabled", Bool), ("conditions", List(&Struct(&CONDITION)))],
};
const fn of_version(version: &'static str) -> FileKind {
    FileKind { group: "apiserver.config.k8s.io", version, kind: "AuthenticationConfiguration" }
}

const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[of_version("v1"), of_version("v1beta1"), of_version("v1alpha1")],
    scheme: "k8s.io/kubernetes/pkg/kubeapiserver/options/authentication.go:879",
    strict: true,
    members: &Members {
        name: "AuthenticationConfiguration",
        all: &[("jwt", List(&Struct(&JWT))), ("anonymous", Struct(&ANONYMOUS))],
    },
};

impl AuthenticationConfiguration {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// Upstream's message for invalid text. [`Issuers`](super::Issuers) validates the contents.
    pub fn read(text: &[u8]) -> Result<Self, Error> {
        if text.is_empty() {
            return Err(Error::Configuration("empty config data".to_owned()));
        }
        let read = FILE.read(text)?;
        jsontree::from_value(Value::Object(read.members))
            .map_err(|error| Error::Configuration(error.to_string()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read() {
        let text = "
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: u, discoveryURL: d, certificateAuthority: c, audiences: [a], audienceMatchPolicy: MatchAny, egressSelectorType: cluster}
  claimValidationRules: [{claim: c, requiredValue: r, expression: e, message: m}]
  claimMappings:
    username: {claim: c, prefix: '', expression: e}
    groups: {claim: g}
    uid: {claim: i, expression: e}
    extra: [{key: k, valueExpression: v}]
  userValidationRules: [{expression: e, message: m}]
anonymous: {enabled: true, conditions: [{path: /livez}]}
";
        let read = AuthenticationConfiguration::read(text.as_bytes()).unwrap();
        let [jwt] = read.jwt.as_slice() else { panic!("{read:?}") };
        let Issuer {
            url,
            discovery_url,
            certificate_authority,
            audiences,
            audience_match_policy,
            egress_selector_type,
        } = &jwt.issuer;
        assert_eq!([url, discovery_url, certificate_authority], ["u", "d", "c"]);
        assert_eq!((audiences.join(" "), &**audience_match_policy), ("a".to_owned(), "MatchAny"));
        assert_eq!(egress_selector_type, "cluster");
        assert_eq!(jwt.claim_mappings.username.prefix.as_deref(), Some(""));
        assert_eq!(jwt.claim_mappings.groups.prefix, None);
        assert_eq!(jwt.claim_mappings.extra[0].value_expression, "v");
        assert_eq!(jwt.claim_validation_rules[0].required_value, "r");
        assert_eq!(jwt.user_validation_rules[0].message, "m");
        assert_eq!(read.anonymous.unwrap().conditions[0].path, "/livez");
    }
}
