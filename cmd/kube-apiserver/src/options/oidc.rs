//! `--oidc-*`: one OIDC token issuer.

use authentication::oidc::OidcFlags;
use controlplane::config::OidcConfig;

use super::path;
use crate::flags::Flags;

/// Builds the issuer configuration, if an issuer is set.
pub(super) fn config(flags: &Flags) -> Option<OidcConfig> {
    let text = |name: &str| flags.text(name).to_owned();
    let issuer_url = flags.optional("oidc-issuer-url")?;
    let client_id = flags.optional("oidc-client-id")?;
    let required = flags.list("oidc-required-claim");
    let pairs = required.iter().filter_map(|pair| pair.split_once('='));
    Some(OidcConfig {
        flags: OidcFlags {
            issuer_url: issuer_url.to_owned(),
            client_id: client_id.to_owned(),
            authorities: String::new(),
            username_claim: text("oidc-username-claim"),
            username_prefix: text("oidc-username-prefix"),
            groups_claim: text("oidc-groups-claim"),
            groups_prefix: text("oidc-groups-prefix"),
            required_claims: pairs
                .map(|(claim, value)| (claim.trim().to_owned(), value.trim().to_owned()))
                .collect(),
        },
        ca_file: path(flags, "oidc-ca-file"),
        signing_algorithms: flags.list("oidc-signing-algs"),
    })
}

/// Checks for conflicting flags.
pub(super) fn check(flags: &Flags, errors: &mut Vec<String>) {
    let any = flags.changed().any(|flag| flag.name.starts_with("oidc-"));
    if flags.optional("authentication-config").is_some() {
        if any {
            errors.push("authentication-config file and oidc-* flags are mutually exclusive".to_owned());
        }
        return;
    }
    if any && config(flags).is_none() {
        errors.push(
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
                .to_owned(),
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Flags {
        Flags::parse(line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned)).unwrap()
    }

    #[test]
    fn issuer_needs_client_id_or_file() {
        let check = |line: &str, expected: &[&str]| {
            let mut errors = Vec::new();
            super::check(&flags(line), &mut errors);
            assert_eq!(errors, expected, "{line}");
        };
        let together =
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set";
        check("", &[]);
        check("--oidc-issuer-url=https://i --oidc-client-id=c", &[]);
        check("--oidc-issuer-url=https://i", &[together]);
        check("--oidc-groups-claim=g", &[together]);
        check("--authentication-config=/x", &[]);
        check(
            "--authentication-config=/x --oidc-groups-claim=g",
            &["authentication-config file and oidc-* flags are mutually exclusive"],
        );
    }

    #[test]
    fn issuer_flags_are_applied() {
        assert_eq!(config(&flags("--oidc-groups-claim=g")), None);
        let read = config(&flags(
            "--oidc-issuer-url=https://i --oidc-client-id=c --oidc-required-claim=a=b,c --oidc-required-claim=d= \
             --oidc-signing-algs=RS256,ES256 --oidc-ca-file=/ca",
        ))
        .unwrap();
        let pair = |claim: &str, value: &str| (claim.to_owned(), value.to_owned());
        assert_eq!(read.flags.required_claims, [pair("a", "b,c"), pair("d", "")]);
        assert_eq!((&*read.flags.username_claim, &*read.flags.issuer_url), ("sub", "https://i"));
        assert_eq!(read.signing_algorithms, ["RS256", "ES256"]);
        assert_eq!(read.ca_file.as_deref(), Some(std::path::Path::new("/ca")));
    }
}
