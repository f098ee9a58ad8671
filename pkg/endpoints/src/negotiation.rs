//! Content negotiation: `Accept` to a [`Representation`], `Content-Type` to a [`Format`]
//! (upstream's `endpoints/handlers/negotiation`).

use api::resources::Resource;
use apimachinery::status::{Reason, Status};
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, Uri};

use crate::header;

/// An encoding of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
    /// `application/cbor`
    Cbor,
}

impl Format {
    /// The media type as in headers.
    pub const fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Protobuf => "application/vnd.kubernetes.protobuf",
            Format::Cbor => "application/cbor",
        }
    }
}

/// Enabled formats: always JSON, YAML and protobuf, and those of enabled feature gates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Formats {
    /// `CBORServingAndStorage` (KEP-4222; alpha, off by default).
    pub cbor: bool,
    /// Formats of custom resources, which have no protobuf schema. Only their metadata can be protobuf.
    pub custom: bool,
}

impl Formats {
    /// Returns the formats for the bodies of a resource.
    #[must_use]
    pub fn of(self, row: &Resource<'_>) -> Self {
        Formats { custom: row.message.open, ..self }
    }

    /// Returns the formats of objects, in the server's order of preference.
    fn all(self) -> &'static [Format] {
        if !self.cbor {
            &[Format::Json, Format::Yaml, Format::Protobuf]
        } else {
            &[Format::Json, Format::Yaml, Format::Protobuf, Format::Cbor]
        }
    }

    fn supports(self, representation: Representation) -> bool {
        let metadata = matches!(representation.transform, Transform::PartialObject | Transform::PartialList);
        !self.custom || representation.format != Format::Protobuf || metadata
    }

    /// Returns the media types that a 406 or 415 lists.
    pub fn media_types(self) -> &'static [&'static str] {
        if !self.cbor { &[JSON, YAML, PROTOBUF] } else { &[JSON, YAML, PROTOBUF, CBOR] }
    }

    pub fn stream_media_types(self) -> &'static [&'static str] {
        if !self.cbor {
            &[JSON_STREAM, PROTOBUF_STREAM]
        } else {
            &[JSON_STREAM, PROTOBUF_STREAM, CBOR_SEQUENCE]
        }
    }
}

const JSON: &str = Format::Json.media_type();
const YAML: &str = Format::Yaml.media_type();
const PROTOBUF: &str = Format::Protobuf.media_type();
const CBOR: &str = Format::Cbor.media_type();
const JSON_STREAM: &str = "application/json;stream=watch";
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";
/// Media type of a watch in CBOR (RFC 8742). It is the response type for clients that accept CBOR. It is not
/// offered itself, so requests for it are rejected.
pub const CBOR_SEQUENCE: &str = "application/cbor-seq";

/// Transformation of objects that the client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transform {
    /// No transformation.
    None,
    /// `as=Table`
    Table,
    /// `as=PartialObjectMetadata`
    PartialObject,
    /// `as=PartialObjectMetadataList`
    PartialList,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Representation {
    pub format: Format,
    /// True to indent JSON by two spaces.
    pub pretty: bool,
    pub transform: Transform,
    /// `meta.k8s.io` version of the transform, `v1` or `v1beta1`.
    pub transform_version: &'static str,
}

impl Representation {
    pub const JSON: Representation = Representation {
        format: Format::Json,
        pretty: false,
        transform: Transform::None,
        transform_version: "v1",
    };
}

/// One clause of an `Accept` header.
#[derive(Debug)]
pub struct Clause<'h> {
    /// Type, for example `application` or `*`.
    pub main: &'h str,
    /// Subtype, for example `json` or `*`.
    pub subtype: &'h str,
    /// Parameters except `q`, in order.
    pub params: Vec<(&'h str, &'h str)>,
    quality: f32,
}

/// Splits an `Accept` header into clauses in order of preference: by quality, then concrete types before
/// wildcards, then as written.
pub fn accept_clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(clause).collect();
    let wild = |c: &Clause<'_>| (c.main == "*", c.subtype == "*");
    clauses.sort_by(|a, b| b.quality.total_cmp(&a.quality).then_with(|| wild(a).cmp(&wild(b))));
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';');
    let (main, subtype) = match parts.next()?.trim().split_once('/') {
        Some((main, subtype)) => (main.trim(), subtype.trim()),
        None if text.trim() == "*" => ("*", "*"),
        None => return None,
    };
    let mut clause = Clause { main, subtype, params: Vec::new(), quality: 1.0 };
    for param in parts {
        let (name, value) = param.split_once('=').unwrap_or((param, ""));
        let name = name.trim();
        let value = value.trim().trim_matches('"');
        match name {
            "q" => clause.quality = value.parse().unwrap_or(0.0),
            _ => clause.params.push((name, value)),
        }
    }
    Some(clause)
}

/// Representations that an endpoint supports; each variant includes the earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offer {
    /// Untransformed objects.
    Objects,
    /// Objects and `PartialObjectMetadata`.
    Metadata,
    Tables,
}

/// Checks `Accept` by exact media type and without parameters. A failure is the router's 406, before all
/// other checks (upstream's go-restful routes). Custom resources and their subresources have no such route.
///
/// # Errors
/// 406.
pub fn check_accept(headers: &HeaderMap, streams: bool, formats: Formats) -> Result<(), Box<Status>> {
    let accept = header::text_or_empty(headers, ACCEPT);
    let streams = if streams { formats.stream_media_types() } else { &[] };
    let media_types: Vec<&str> = formats.media_types().iter().chain(streams).copied().collect();
    let acceptable = |clause: &str| {
        let media_type = clause.split(';').next().unwrap_or("").trim();
        media_type == "*/*" || media_types.contains(&media_type)
    };
    if accept.is_empty() || accept.split(',').any(acceptable) {
        return Ok(());
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {}", media_types.join(", "));
    Err(Status::failure(406, Reason::NotAcceptable, message).with_details(Default::default()).into())
}

/// Selects the representation of a response.
///
/// # Errors
/// 406.
pub fn negotiate_output(
    headers: &HeaderMap,
    query_pretty: Option<&str>,
    offer: Offer,
    formats: Formats,
) -> Result<Representation, Box<Status>> {
    let accept = header::text_or_empty(headers, ACCEPT);
    let picked = match accept.as_ref() {
        "" => Some((Representation::JSON, false)),
        header => accept_clauses(header).iter().find_map(|clause| {
            let mut all = formats.all().iter().filter_map(|format| accepted(clause, *format, offer));
            all.find(|(representation, _)| formats.supports(*representation))
        }),
    };
    let Some((mut representation, pretty_param)) = picked else {
        return Err(not_acceptable(formats.media_types()));
    };
    representation.pretty =
        representation.format == Format::Json && (pretty_param || is_pretty(headers, query_pretty));
    Ok(representation)
}

/// Returns the 406 of resources. The other wording, `only the following media types are accepted`, applies to
/// responses that cannot be transformed.
pub fn not_acceptable(media_types: &[&str]) -> Box<Status> {
    Status::failure(
        406,
        Reason::NotAcceptable,
        format!("only the following media types are accepted: {}", media_types.join(", ")),
    )
    .into()
}

fn accepted(clause: &Clause<'_>, format: Format, offer: Offer) -> Option<(Representation, bool)> {
    let sub = format.media_type().split_once('/').map_or("", |(_, sub)| sub);
    let matches = match (clause.main, clause.subtype) {
        ("*", "*") | ("application", "*") => true,
        ("application", media_subtype) => media_subtype == sub,
        _ => false,
    };
    if !matches {
        return None;
    }
    let mut kind = "";
    let mut group = "";
    let mut version = "";
    let mut pretty = false;
    for (name, value) in &clause.params {
        match *name {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            "pretty" => pretty = *value == "1",
            "stream" if !value.is_empty() && (*value != "watch" || format == Format::Yaml) => return None,
            "sv" if !value.is_empty() => return None,
            _ => {}
        }
    }
    let converts = !(kind.is_empty() && group.is_empty() && version.is_empty());
    let transform = if converts { transform(kind, group, version, format, offer)? } else { Transform::None };
    let transform_version = if version == "v1beta1" { "v1beta1" } else { "v1" };
    Some((Representation { format, pretty: false, transform, transform_version }, pretty))
}

fn transform(kind: &str, group: &str, version: &str, format: Format, offer: Offer) -> Option<Transform> {
    if offer < Offer::Metadata || group != "meta.k8s.io" || !matches!(version, "v1" | "v1beta1") {
        return None;
    }
    match kind {
        "Table" if matches!(format, Format::Json | Format::Yaml) && offer >= Offer::Tables => {
            Some(Transform::Table)
        }
        "PartialObjectMetadata" => Some(Transform::PartialObject),
        "PartialObjectMetadataList" => Some(Transform::PartialList),
        _ => None,
    }
}

/// The first `pretty` parameter of a URI. Its values need no decoding, because an escaped value counts as
/// `false`.
pub(crate) fn query_pretty(uri: &Uri) -> Option<&str> {
    let pairs = uri.query()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.filter(|(name, _)| *name == "pretty").map(|(_, value)| value).next()
}

/// True if JSON is indented: with `?pretty`, and for the user agents of curl, Wget and browsers.
pub fn is_pretty(headers: &HeaderMap, query_pretty: Option<&str>) -> bool {
    if let Some(value) = query_pretty.filter(|v| !v.is_empty()) {
        return matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True");
    }
    let agent = header::text_or_empty(headers, USER_AGENT);
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|prefix| agent.starts_with(prefix))
}

/// Returns the format of a request's body by its `Content-Type`; JSON if it has none.
///
/// # Errors
/// 415.
pub fn negotiate_input(headers: &HeaderMap, formats: Formats) -> Result<Format, Box<Status>> {
    let header = header::text_or_empty(headers, CONTENT_TYPE);
    if header.is_empty() {
        return Ok(Format::Json);
    }
    let media_type = header::media_type(&header).unwrap_or_default();
    let matching = formats.all().iter().find(|format| format.media_type() == media_type);
    matching.copied().ok_or_else(|| Box::new(Status::unsupported_media_type(formats.media_types())))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod cbor_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod request_tests;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pick(accept: &str) -> Option<Representation> {
        let mut headers = HeaderMap::new();
        headers.insert("accept", http::HeaderValue::from_str(accept).ok()?);
        negotiate_output(&headers, None, Offer::Tables, Formats::default()).ok()
    }

    fn check(accept: &str, format: Format, transform: Transform) {
        let actual = pick(accept).map(|r| (r.format, r.transform));
        assert_eq!(actual, Some((format, transform)), "{accept}");
    }

    #[test]
    fn best_servable_clause_wins() {
        check("*/*", Format::Json, Transform::None);
        check("application/*", Format::Json, Transform::None);
        check("application/vnd.kubernetes.protobuf,application/json", Format::Protobuf, Transform::None);
        check("application/json;q=0.1,application/yaml", Format::Yaml, Transform::None);
        check("text/html, application/json", Format::Json, Transform::None);
        check(
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            Format::Json,
            Transform::Table,
        );
        check(
            "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json",
            Format::Json,
            Transform::None,
        );
        check("application/json;as=Nope;v=v1;g=meta.k8s.io,application/json", Format::Json, Transform::None);
    }

    #[test]
    fn nothing_acceptable_is_406() {
        for accept in [
            "text/html",
            "application/JSON",
            "application/json;as=Table;v=v9;g=meta.k8s.io",
            "application/json;stream=x",
        ] {
            assert_eq!(pick(accept), None, "{accept}");
        }
    }

    #[test]
    fn unoffered_types_are_skipped() {
        let check = |kind: &str, offer: Offer, expected: Option<Transform>| {
            let accept = format!("application/json;as={kind};v=v1;g=meta.k8s.io");
            let mut headers = HeaderMap::new();
            headers.insert("accept", http::HeaderValue::from_str(&accept).unwrap());
            assert_eq!(
                negotiate_output(&headers, None, offer, Formats::default()).ok().map(|r| r.transform),
                expected,
                "{kind} {offer:?}"
            );
        };
        check("Table", Offer::Tables, Some(Transform::Table));
        check("Table", Offer::Metadata, None);
        check("PartialObjectMetadata", Offer::Tables, Some(Transform::PartialObject));
        check("PartialObjectMetadata", Offer::Metadata, Some(Transform::PartialObject));
        check("PartialObjectMetadata", Offer::Objects, None);
    }

    #[test]
    fn cbor_requires_its_gate() {
        let with = |name: &str, value: &str, cbor: bool| {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            let headers = HeaderMap::from_iter([(name, http::HeaderValue::from_str(value).unwrap())]);
            let formats = Formats { cbor, ..Formats::default() };
            (
                negotiate_output(&headers, None, Offer::Tables, formats).map(|r| (r.format, r.transform)),
                negotiate_input(&headers, formats),
                check_accept(&headers, true, formats),
                check_accept(&headers, false, formats),
            )
        };
        let accept = |value: &str, cbor: bool| with("accept", value, cbor);
        let refusal = |status: Box<Status>| (status.code, status.message);
        let plain = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

        let (off, _, routed, _) = accept("application/cbor", false);
        let message = format!("only the following media types are accepted: {plain}");
        assert_eq!(refusal(off.unwrap_err()), (406, message));
        assert_eq!(routed.unwrap_err().code, 406);
        let (on, _, routed, _) = accept("application/cbor", true);
        assert_eq!((on, routed.is_ok()), (Ok((Format::Cbor, Transform::None)), true));
        assert_eq!(accept("*/*", true).0, Ok((Format::Json, Transform::None)), "the last choice");

        let partial = "application/cbor;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        assert_eq!(accept(partial, true).0, Ok((Format::Cbor, Transform::PartialObject)));
        let table = "application/cbor;as=Table;g=meta.k8s.io;v=v1";
        let message = format!("only the following media types are accepted: {plain}, application/cbor");
        assert_eq!(refusal(accept(table, true).0.unwrap_err()), (406, message.clone()));

        let (sequence, _, streams, single) = accept("application/cbor-seq", true);
        assert_eq!(refusal(sequence.unwrap_err()), (406, message));
        assert!(streams.is_ok(), "the router knows it where there are watches");
        let message = format!("406: Not Acceptable\n\nAvailable representations: {plain}, application/cbor");
        assert_eq!(refusal(single.unwrap_err()), (406, message));

        assert_eq!(with("content-type", "application/cbor", true).1, Ok(Format::Cbor));
        let refused = with("content-type", "application/cbor", false).1.unwrap_err();
        assert_eq!(refused.code, 415);
        assert!(refused.message.ends_with(plain));
    }
}
