//! What an `AuthenticationConfiguration` of `apiserver.config.k8s.io` says.

use jsontree::Value;
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use serde::{Deserialize, Serialize};

use Shape::{Bool, List, Struct, Text};

/// How JSON Web Tokens are judged, and who may be anonymous.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AuthenticationConfiguration {
    /// The issuers of tokens, asked in this order.
    pub jwt: Vec<JwtAuthenticator>,
    /// Who may be anonymous; `None` leaves it to `--anonymous-auth`.
    pub anonymous: Option<AnonymousAuth>,
}

/// Who may be anonymous.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AnonymousAuth {
    /// Whether anybody.
    pub enabled: bool,
    /// The requests that may be anonymous; without any, all may.
    pub conditions: Vec<AnonymousCondition>,
}

/// A request that may be anonymous.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct AnonymousCondition {
    /// Its path, in full.
    #[serde(rename(serialize = "Path"))]
    pub path: String,
}

/// An issuer of tokens, and what its tokens mean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JwtAuthenticator {
    /// Who issues them.
    pub issuer: Issuer,
    /// What they have to say to be accepted.
    pub claim_validation_rules: Vec<ClaimValidationRule>,
    /// Whom they stand for.
    pub claim_mappings: ClaimMappings,
    /// What whom they stand for has to be like.
    pub user_validation_rules: Vec<UserValidationRule>,
}

/// Who issues tokens, and for whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Issuer {
    /// `iss` of its tokens. Below it is the discovery document, if that is not elsewhere.
    pub url: String,
    /// Where the discovery document is, if not below `url`.
    #[serde(rename = "discoveryURL")]
    pub discovery_url: String,
    /// PEM of the authorities that the issuer's certificate has to be from; empty for the system's.
    pub certificate_authority: String,
    /// Whom tokens are for: one of these.
    pub audiences: Vec<String>,
    /// How audiences are compared: `MatchAny` or nothing.
    pub audience_match_policy: String,
    /// The proxy through which the issuer is reached: `controlplane`, `cluster` or none.
    pub egress_selector_type: String,
}

/// What a token has to say: a claim with a value, or an expression that holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClaimValidationRule {
    /// The claim.
    pub claim: String,
    /// The text that it has to be.
    pub required_value: String,
    /// The expression over `claims`.
    pub expression: String,
    /// What is logged when the expression does not hold.
    pub message: String,
}

/// Whom a token stands for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimMappings {
    /// The user's name.
    pub username: PrefixedClaimOrExpression,
    /// The user's groups.
    pub groups: PrefixedClaimOrExpression,
    /// The user's uid.
    pub uid: ClaimOrExpression,
    /// What else is known of the user.
    pub extra: Vec<ExtraMapping>,
}

/// A claim with something in front of it, or an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PrefixedClaimOrExpression {
    /// The claim.
    pub claim: String,
    /// What stands in front of its value; has to be given with a claim.
    pub prefix: Option<String>,
    /// The expression over `claims`.
    pub expression: String,
}

/// A claim or an expression.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimOrExpression {
    /// The claim.
    pub claim: String,
    /// The expression over `claims`.
    pub expression: String,
}

/// Something else that is known of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ExtraMapping {
    /// What: a domain and a path.
    pub key: String,
    /// The expression over `claims`.
    pub value_expression: String,
}

/// What a user has to be like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct UserValidationRule {
    /// The expression over `user`.
    pub expression: String,
    /// What is logged when it does not hold.
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
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What upstream says of a text that is none. Whether the configuration makes sense is asked by
    /// [`Issuers`](super::Issuers).
    pub fn read(text: &[u8]) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty config data".to_owned());
        }
        let read = FILE.read(text)?;
        jsontree::from_value(Value::Object(read.members)).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_member_is_read() {
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
