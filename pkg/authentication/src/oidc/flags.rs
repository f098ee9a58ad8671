//! `--oidc-*` flags: one issuer. They predate the configuration file.

use super::config::{
    ClaimMappings, ClaimValidationRule, Issuer, JwtAuthenticator, PrefixedClaimOrExpression,
};

/// One issuer, as configured by flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OidcFlags {
    /// `--oidc-issuer-url`.
    pub issuer_url: String,
    /// `--oidc-client-id`: the required audience.
    pub client_id: String,
    /// Contents of `--oidc-ca-file`; empty for the system's CAs.
    pub authorities: String,
    /// `--oidc-username-claim`.
    pub username_claim: String,
    /// `--oidc-username-prefix`. Empty means the issuer as prefix, except for email claims. `-` means no
    /// prefix.
    pub username_prefix: String,
    /// `--oidc-groups-claim`; empty for no groups.
    pub groups_claim: String,
    /// `--oidc-groups-prefix`.
    pub groups_prefix: String,
    /// `--oidc-required-claim`: claims with their required values.
    pub required_claims: Vec<(String, String)>,
}

impl OidcFlags {
    /// Returns the equivalent configuration of a file.
    pub fn authenticator(&self) -> JwtAuthenticator {
        let prefix = match (self.username_prefix.as_str(), self.username_claim.as_str()) {
            ("", "email") | ("-", _) => String::new(),
            ("", _) => format!("{}#", self.issuer_url),
            (prefix, _) => prefix.to_owned(),
        };
        let username = PrefixedClaimOrExpression {
            claim: self.username_claim.clone(),
            prefix: Some(prefix),
            ..PrefixedClaimOrExpression::default()
        };
        let groups = match self.groups_claim.as_str() {
            "" => PrefixedClaimOrExpression::default(),
            claim => PrefixedClaimOrExpression {
                claim: claim.to_owned(),
                prefix: Some(self.groups_prefix.clone()),
                ..PrefixedClaimOrExpression::default()
            },
        };
        let rule = |(claim, value): &(String, String)| ClaimValidationRule {
            claim: claim.clone(),
            required_value: value.clone(),
            ..ClaimValidationRule::default()
        };
        JwtAuthenticator {
            issuer: Issuer {
                url: self.issuer_url.clone(),
                audiences: vec![self.client_id.clone()],
                certificate_authority: self.authorities.clone(),
                ..Issuer::default()
            },
            claim_validation_rules: self.required_claims.iter().map(rule).collect(),
            claim_mappings: ClaimMappings { username, groups, ..ClaimMappings::default() },
            ..JwtAuthenticator::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_prefixes_names_except_email() {
        let check = |claim: &str, prefix: &str, expected: &str| {
            let flags = OidcFlags {
                issuer_url: "https://i".to_owned(),
                username_claim: claim.to_owned(),
                username_prefix: prefix.to_owned(),
                ..OidcFlags::default()
            };
            let username = flags.authenticator().claim_mappings.username;
            assert_eq!(username.prefix.as_deref(), Some(expected), "{claim} {prefix}");
        };
        check("sub", "", "https://i#");
        check("email", "", "");
        check("sub", "-", "");
        check("email", "x:", "x:");
    }
}
