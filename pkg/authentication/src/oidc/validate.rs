//! Validates a configuration (upstream's `apis/apiserver/validation`) and compiles its expressions.

use std::collections::HashSet;

use apimachinery::field::{BadValue, Error, Path};
use apimachinery::names::{name_is_dns_subdomain, regex_error};
use cel::ext::url::parse_reference;
use x509_parser::certificate::X509Certificate;
use x509_parser::prelude::FromDer;

use super::claims::Expressions;
use super::config::{AuthenticationConfiguration, Issuer, JwtAuthenticator, PrefixedClaimOrExpression};
use super::expressions::{CompiledExpression, Compiler, Expression, ExpressionError, ExpressionInput};

/// Maximum number of issuers.
const ISSUERS_MAX: usize = 64;
/// Allowed characters in the path of an extra key, for messages.
const PATH_REGEX: &str = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+";
const PATH_MARKS: &[u8] = b"/-._~%!$&'()*+,;=:";

/// External inputs of the validation.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    /// Issuers of this server's own tokens.
    pub(super) disallowed: Vec<String>,
    /// True if issuers may use egress proxies (`StructuredAuthenticationConfigurationEgressSelector`).
    pub(super) egress: bool,
}

pub(super) fn validate(config: &AuthenticationConfiguration, limits: &Limits) -> Vec<Error> {
    let root = Path::root("jwt");
    if config.jwt.len() > ISSUERS_MAX {
        return vec![Error::too_many(&root, Some(config.jwt.len()), Some(ISSUERS_MAX))];
    }
    let compiler = Compiler::new();
    let mut errors = Vec::new();
    let mut urls = HashSet::new();
    let mut discovery_urls = HashSet::new();
    for (index, jwt) in config.jwt.iter().enumerate() {
        let path = root.index(index);
        errors.extend(authenticator(&compiler, jwt, &path, limits).1);
        let issuer = path.child("issuer");
        if !urls.insert(&jwt.issuer.url) {
            errors.push(Error::duplicate(&issuer.child("url"), &jwt.issuer.url));
        }
        let url = &jwt.issuer.discovery_url;
        if !url.is_empty() && !discovery_urls.insert(url) {
            errors.push(Error::duplicate(&issuer.child("discoveryURL"), url));
        }
    }
    if let Some(anonymous) = config.anonymous.as_ref().filter(|a| !a.enabled && !a.conditions.is_empty()) {
        let shown = serde_json::to_string(&anonymous.conditions).unwrap_or_default();
        let detail = "enabled should be set to true when conditions are defined";
        errors.push(Error::invalid(&Path::root("anonymous.conditions"), BadValue::Plain(shown), detail));
    }
    errors
}

/// Compiles the expressions of an issuer and returns all errors in it.
pub(super) fn authenticator(
    compiler: &Compiler,
    jwt: &JwtAuthenticator,
    path: &Path<'_>,
    limits: &Limits,
) -> (Expressions, Vec<Error>) {
    let mut validation = Validation::new(compiler);
    issuer(&jwt.issuer, &path.child("issuer"), limits, &mut validation.errors);
    validation.claim_rules(jwt, &path.child("claimValidationRules"));
    validation.mappings(jwt, &path.child("claimMappings"));
    validation.user_rules(jwt, &path.child("userValidationRules"));
    (validation.expressions, validation.errors)
}

fn issuer(issuer: &Issuer, path: &Path<'_>, limits: &Limits, errors: &mut Vec<Error>) {
    let url_path = path.child("url");
    let discovery_path = path.child("discoveryURL");
    if issuer.url.is_empty() {
        errors.push(Error::required(&url_path, ""))
    } else {
        url(&issuer.url, &limits.disallowed, &url_path, errors)
    }
    let discovery = issuer.discovery_url.as_str();
    if !discovery.is_empty() {
        if !issuer.url.is_empty() && issuer.url.trim_end_matches('/') == discovery.trim_end_matches('/') {
            errors.push(Error::invalid(
                &discovery_path,
                discovery,
                "discoveryURL must be different from URL",
            ));
        }
        url(discovery, &[], &discovery_path, errors);
    }
    audiences(issuer, path, errors);
    if let Some(flaw) = authority(&issuer.certificate_authority) {
        errors.push(Error::invalid(&path.child("certificateAuthority"), "<omitted>", flaw));
    }
    let selector = issuer.egress_selector_type.as_str();
    let path = path.child("egressSelectorType");
    let mut refuse = |detail: &str| errors.push(Error::invalid(&path, BadValue::json_text(selector), detail));
    if !selector.is_empty() && !limits.egress {
        refuse(
            "egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature \
             gate is disabled",
        );
    }
    if !matches!(selector, "" | "controlplane" | "cluster") {
        refuse("egress selector must be either controlplane or cluster");
    }
}

fn url(text: &str, disallowed: &[String], path: &Path<'_>, errors: &mut Vec<Error>) {
    let mut refuse = |detail: &str| errors.push(Error::invalid(path, text, detail));
    if disallowed.iter().any(|other| other == text) {
        let mut sorted: Vec<&str> = disallowed.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.dedup();
        refuse(&format!("URL must not overlap with disallowed issuers: [{}]", sorted.join(" ")));
    }
    let url = match parse_reference(text) {
        Ok(url) => url,
        Err(error) => return refuse(&error.to_string()),
    };
    if url.scheme() != "https" {
        refuse("URL scheme must be https");
    }
    if url.has_user() {
        refuse("URL must not contain a username or password");
    }
    if url.has_query() {
        refuse("URL must not contain a query");
    }
    if url.has_fragment() {
        refuse("URL must not contain a fragment");
    }
}

fn audiences(issuer: &Issuer, path: &Path<'_>, errors: &mut Vec<Error>) {
    let audiences = &issuer.audiences;
    let policy = issuer.audience_match_policy.as_str();
    let policy_path = path.child("audienceMatchPolicy");
    let path = path.child("audiences");
    if audiences.is_empty() {
        errors.push(Error::required(&path, format!("at least one {path} is required")));
        return;
    }
    let mut seen = HashSet::new();
    for (index, audience) in audiences.iter().enumerate() {
        let path = path.index(index);
        if audience.is_empty() {
            errors.push(Error::required(&path, ""));
        }
        if !seen.insert(audience) {
            errors.push(Error::duplicate(&path, audience));
        }
    }
    let detail = match (audiences.len(), policy) {
        (_, "MatchAny") | (1, "") => return,
        (1, _) => "audienceMatchPolicy must be empty or MatchAny for single audience",
        _ => "audienceMatchPolicy must be MatchAny for multiple audiences",
    };
    errors.push(Error::invalid(&policy_path, BadValue::json_text(policy), detail));
}

/// Returns the error in a CA bundle, if any. An empty bundle is valid.
fn authority(pem: &str) -> Option<String> {
    if pem.is_empty() {
        return None;
    }
    let none = || Some("data does not contain any valid RSA or ECDSA certificates".to_owned());
    let Ok(blocks) = pem::parse_many(pem) else { return none() };
    let mut certificates = blocks.iter().filter(|block| block.tag() == "CERTIFICATE").peekable();
    if certificates.peek().is_none() {
        return none();
    }
    certificates
        .find_map(|block| X509Certificate::from_der(block.contents()).err())
        .map(|_| "x509: malformed certificate".to_owned())
}

/// Result of the validation of one issuer.
struct Validation<'c> {
    compiler: &'c Compiler,
    expressions: Expressions,
    errors: Vec<Error>,
    uses_email: bool,
    uses_email_verified: bool,
}

impl<'c> Validation<'c> {
    fn new(compiler: &'c Compiler) -> Self {
        let expressions = Expressions::default();
        let errors = Vec::new();
        Validation { compiler, expressions, errors, uses_email: false, uses_email_verified: false }
    }

    fn compile(
        &mut self,
        about: ExpressionInput,
        text: &str,
        condition: bool,
        path: &Path<'_>,
    ) -> Option<CompiledExpression> {
        match self.compiler.compile(about, text, condition) {
            Ok(compiled) => return Some(compiled),
            Err(ExpressionError::Invalid(detail)) => self.errors.push(Error::invalid(path, text, detail)),
            Err(ExpressionError::Internal(detail)) => self.errors.push(Error::internal(path, detail)),
        }
        None
    }

    fn claim_rules(&mut self, jwt: &JwtAuthenticator, path: &Path<'_>) {
        let mut claims = HashSet::new();
        let mut expressions = HashSet::new();
        for (index, rule) in jwt.claim_validation_rules.iter().enumerate() {
            let path = path.index(index);
            let claim_path = path.child("claim");
            let expression_path = path.child("expression");
            let unwanted = |path: &Path<'_>, text: &str, other: &str| {
                let detail = format!("may not be specified when {other} is set");
                (!text.is_empty()).then(|| Error::invalid(path, text, detail))
            };
            match (rule.claim.as_str(), rule.expression.as_str()) {
                ("", "") => self.errors.push(Error::required(&path, "claim or expression is required")),
                (claim, "") => {
                    self.errors.extend(unwanted(&path.child("message"), &rule.message, "claim"));
                    if !claims.insert(claim) {
                        self.errors.push(Error::duplicate(&claim_path, claim));
                    }
                }
                ("", expression) => {
                    let value = &rule.required_value;
                    self.errors.extend(unwanted(&path.child("requiredValue"), value, "expression"));
                    if !expressions.insert(expression) {
                        self.errors.push(Error::duplicate(&expression_path, expression));
                    } else if let Some(compiled) =
                        self.compile(ExpressionInput::Claims, expression, true, &expression_path)
                    {
                        self.uses_email_verified |= compiled.uses_email_verified;
                        self.expressions.claim_rules.push((compiled.expression, rule.message.clone()));
                    }
                }
                (claim, _) => {
                    self.errors.push(Error::invalid(&path, claim, "claim and expression can't both be set"));
                }
            }
        }
    }

    fn mappings(&mut self, jwt: &JwtAuthenticator, path: &Path<'_>) {
        let mappings = &jwt.claim_mappings;
        let username = path.child("username");
        if let Some(compiled) = self.prefixed(&mappings.username, &username, true) {
            self.uses_email |= compiled.uses_email;
            self.uses_email_verified |= compiled.uses_email_verified;
            self.expressions.username = Some(compiled.expression);
        }
        self.expressions.groups =
            self.prefixed(&mappings.groups, &path.child("groups"), false).map(|compiled| compiled.expression);
        let uid = path.child("uid");
        match (mappings.uid.claim.as_str(), mappings.uid.expression.as_str()) {
            (_, "") => {}
            ("", expression) => {
                let compiled =
                    self.compile(ExpressionInput::Claims, expression, false, &uid.child("expression"));
                self.expressions.uid = compiled.map(|compiled| compiled.expression);
            }
            _ => self.errors.push(Error::invalid(&uid, "", "claim and expression can't both be set")),
        }
        self.extra(jwt, &path.child("extra"));
        if self.uses_email && !self.uses_email_verified {
            self.errors.push(Error::invalid(
                &username.child("expression"),
                &mappings.username.expression,
                "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression",
            ));
        }
    }

    /// Returns the compiled expression of a mapping, if it has a valid one.
    fn prefixed(
        &mut self,
        mapping: &PrefixedClaimOrExpression,
        path: &Path<'_>,
        required: bool,
    ) -> Option<CompiledExpression> {
        let prefix = path.child("prefix");
        match (mapping.claim.as_str(), mapping.expression.as_str()) {
            ("", "") if required => {
                self.errors.push(Error::required(path, "claim or expression is required"));
            }
            ("", "") => {}
            ("", expression) => {
                if let Some(text) = &mapping.prefix {
                    let detail = "may not be specified when expression is set";
                    self.errors.push(Error::invalid(&prefix, text, detail));
                }
                let compiled =
                    self.compile(ExpressionInput::Claims, expression, false, &path.child("expression"));
                return compiled.filter(|_| mapping.prefix.is_none());
            }
            (_, "") if mapping.prefix.is_none() => {
                let detail = "prefix is required when claim is set. It can be set to an empty string to disable \
                              prefixing";
                self.errors.push(Error::required(&prefix, detail));
            }
            (_, "") => {}
            _ => self.errors.push(Error::invalid(path, "", "claim and expression can't both be set")),
        }
        None
    }

    fn extra(&mut self, jwt: &JwtAuthenticator, path: &Path<'_>) {
        let mut seen = HashSet::new();
        for (index, mapping) in jwt.claim_mappings.extra.iter().enumerate() {
            let path = path.index(index);
            let (key, key_path, value_path) =
                (&mapping.key, path.child("key"), path.child("valueExpression"));
            extra_key(key, &key_path, &mut self.errors);
            if !seen.insert(key) {
                self.errors.push(Error::duplicate(&key_path, key));
            } else if mapping.value_expression.is_empty() {
                self.errors.push(Error::required(&value_path, ""));
            } else if let Some(compiled) =
                self.compile(ExpressionInput::Claims, &mapping.value_expression, false, &value_path)
            {
                self.uses_email_verified |= compiled.uses_email_verified;
                self.expressions.extra.push((key.clone(), compiled.expression));
            }
        }
    }

    fn user_rules(&mut self, jwt: &JwtAuthenticator, path: &Path<'_>) {
        let mut seen = HashSet::new();
        let mut rules: Vec<(Expression, String)> = Vec::new();
        for (index, rule) in jwt.user_validation_rules.iter().enumerate() {
            let path = path.index(index);
            let text = &rule.expression;
            let path = path.child("expression");
            if text.is_empty() {
                self.errors.push(Error::required(&path, ""));
            } else if !seen.insert(text) {
                self.errors.push(Error::duplicate(&path, text));
            } else if let Some(compiled) = self.compile(ExpressionInput::User, text, true, &path) {
                rules.push((compiled.expression, rule.message.clone()));
            }
        }
        self.expressions.user_rules = rules;
    }
}

/// Validates the key of an extra attribute.
fn extra_key(key: &str, path: &Path<'_>, errors: &mut Vec<Error>) {
    let host_and_rest = key.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty());
    match host_and_rest {
        _ if key.is_empty() => errors.push(Error::required(path, "")),
        None => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push(Error::invalid(path, key, detail));
        }
        Some((host, rest)) => {
            let flaws = name_is_dns_subdomain(host, false);
            errors.extend(flaws.into_iter().map(|detail| Error::invalid(path, host, detail)));
            if !rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || PATH_MARKS.contains(&byte)) {
                errors.push(Error::invalid(path, rest, regex_error("Invalid path", PATH_REGEX, &[])));
            }
        }
    }
    if key.to_lowercase() != key {
        errors.push(Error::invalid(path, key, "must be lowercase"));
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let reserved = |root: &str| {
        domain.strip_suffix(root).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    if reserved("kubernetes.io") || reserved("k8s.io") {
        let detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
        errors.push(Error::invalid(path, key, detail));
    }
}

#[cfg(test)]
mod tests;
