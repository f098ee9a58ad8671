//! What `--oidc-*` say: one issuer, in the words that there were before there was a file for several.

use super::config::{
    ClaimMappings, ClaimValidationRule, Issuer, JwtAuthenticator, PrefixedClaimOrExpression,
};

/// One issuer, as flags describe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OidcFlags {
    /// `--oidc-issuer-url`.
    pub issuer_url: String,
    /// `--oidc-client-id`: whom tokens have to be for.
    pub client_id: String,
    /// What is in `--oidc-ca-file`; empty for the system's authorities.
    pub authorities: String,
    /// `--oidc-username-claim`.
    pub username_claim: String,
    /// `--oidc-username-prefix`; empty for the issuer in front of names that are not mail addresses, `-` for nothing.
    pub username_prefix: String,
    /// `--oidc-groups-claim`; empty for no groups.
    pub groups_claim: String,
    /// `--oidc-groups-prefix`.
    pub groups_prefix: String,
    /// `--oidc-required-claim`: claims and what they have to be.
    pub required_claims: Vec<(String, String)>,
}

impl OidcFlags {
    /// The issuer as a file would describe it.
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
    fn names_that_are_no_mail_addresses_begin_with_their_issuer() {
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
