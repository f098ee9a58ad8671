//! Content negotiation of discovery documents: aggregated discovery, and the stricter first check of `Accept`
//! by upstream's router.

use std::borrow::Cow;

use apimachinery::status::{Details, Reason, Status};
use http::HeaderMap;
use http::header::ACCEPT;

use crate::negotiation::{Clause, Format, Formats, accept_clauses};

/// Version of an aggregated document (KEP-3352). Both have the same fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregatedVersion {
    V2,
    /// Served only without the gate `AggregatedDiscoveryRemoveBetaType`.
    V2beta1,
}

impl AggregatedVersion {
    fn parse(version: &str) -> Option<Self> {
        match version {
            "v2" => Some(AggregatedVersion::V2),
            "v2beta1" => Some(AggregatedVersion::V2beta1),
            _ => None,
        }
    }

    pub(crate) fn api_version(self) -> &'static str {
        match self {
            AggregatedVersion::V2 => "apidiscovery.k8s.io/v2",
            AggregatedVersion::V2beta1 => "apidiscovery.k8s.io/v2beta1",
        }
    }

    /// Media type parameters in requests and responses.
    pub(crate) fn parameters(self) -> &'static str {
        match self {
            AggregatedVersion::V2 => ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            AggregatedVersion::V2beta1 => ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
        }
    }
}

/// The `Accept` header; empty when there is none.
pub(crate) fn header(headers: &HeaderMap) -> Cow<'_, str> {
    crate::header::text_or_empty(headers, ACCEPT)
}

/// Options of a request for aggregated discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AggregatedOptions {
    pub(crate) version: AggregatedVersion,
    pub(crate) format: Format,
    pub(crate) pretty: bool,
    /// True to leave out resources that only peers serve.
    pub(crate) local_only: bool,
}

/// Parses the best clause for aggregated discovery. It wins over clauses for the plain document, whatever
/// their quality. `v2beta1` is only acceptable if it is served (`beta`).
pub(crate) fn aggregated(header: &str, beta: bool) -> Option<AggregatedOptions> {
    accept_clauses(header).iter().find_map(|clause| {
        let param = |name| clause.params.iter().rev().find(|(n, _)| *n == name).map(|(_, value)| *value);
        let version = param("v").and_then(AggregatedVersion::parse)?;
        let is_aggregated = param("g") == Some("apidiscovery.k8s.io")
            && (version == AggregatedVersion::V2 || beta)
            && param("as") == Some("APIGroupDiscoveryList")
            && param("sv").is_none_or(str::is_empty);
        let format = is_aggregated.then(|| format_of(clause))??;
        match param("stream") {
            None | Some("") => {}
            Some(stream) if stream == "watch" && format != Format::Yaml => {}
            Some(_) => return None,
        }
        let local_only = param("profile") == Some("nopeer");
        Some(AggregatedOptions { version, format, pretty: param("pretty") == Some("1"), local_only })
    })
}

fn format_of(clause: &Clause<'_>) -> Option<Format> {
    match (clause.main, clause.subtype) {
        ("*", "*") | ("application", "*" | "json") => Some(Format::Json),
        ("application", "yaml") => Some(Format::Yaml),
        ("application", "vnd.kubernetes.protobuf") => Some(Format::Protobuf),
        _ => None,
    }
}

/// Checks `Accept` like the router: some clause must be one of the media types literally, or `*/*`.
///
/// # Errors
/// The router's own 406, which differs from the 406 of negotiation.
pub(crate) fn route(header: &str, media_types: &[&str]) -> Result<(), Box<Status>> {
    let accepted = header.is_empty()
        || header.split(',').any(|clause| {
            let name = clause.split(';').next().unwrap_or("").trim_matches(' ');
            name == "*/*" || media_types.contains(&name)
        });
    if accepted {
        return Ok(());
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", media_types.join(", "));
    Err(Status::failure(406, Reason::NotAcceptable, message).with_details(Details::default()).into())
}

/// As [`route`], for documents that are available in all formats of objects.
///
/// # Errors
/// 406.
pub(crate) fn route_objects(header: &str, formats: Formats) -> Result<(), Box<Status>> {
    route(header, formats.media_types())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

    #[test]
    fn aggregated_discovery_needs_all_three_parameters() {
        let check = |header: &str, expected: Option<Format>| {
            assert_eq!(aggregated(header, false).map(|options| options.format), expected, "{header}");
        };
        check(V2, Some(Format::Json));
        check(&format!("application/json,{V2}"), Some(Format::Json));
        check(&format!("{V2},*/*"), Some(Format::Json));
        check(&format!("{V2};profile=nopeer"), Some(Format::Json));
        check(&format!("{V2};q=0,application/json"), Some(Format::Json));
        check(
            "application/json ; g=apidiscovery.k8s.io ; v=v2 ; as=APIGroupDiscoveryList",
            Some(Format::Json),
        );
        check(&V2.replace("json", "yaml"), Some(Format::Yaml));
        check(&V2.replace("=v2", "=v2beta1"), None);
        check(&V2.replace("=v2", "=v3"), None);
        check("application/json;g=apidiscovery.k8s.io;v=v2", None);
        check("application/json;v=v2;as=APIGroupDiscoveryList", None);
        check("application/json", None);
        check("", None);
    }

    #[test]
    fn nopeer_profile_excludes_peers() {
        let local_only = |header: &str| aggregated(header, false).map(|options| options.local_only);
        assert_eq!(local_only(V2), Some(false));
        assert_eq!(local_only(&format!("{V2};profile=nopeer,{V2}")), Some(true));
        assert_eq!(local_only(&format!("{V2};profile=other")), Some(false));
    }

    #[test]
    fn router_accepts_literal_media_types_only() {
        let check = |header: &str, expected: bool| {
            assert_eq!(route_objects(header, Formats::default()).is_ok(), expected, "{header}");
        };
        check("", true);
        check("*/*;q=0.1", true);
        check("text/html, application/yaml;as=X", true);
        check("application/*", false);
        check("application/cbor", false);
        check(&V2.to_uppercase(), false);
    }
}
