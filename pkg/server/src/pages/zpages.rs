//! `/flagz` and `/statusz`: the server's flags and its start time (KEP-4828, KEP-4827; apiserver
//! `server/flagz` and `server/statusz`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue, WARNING};
use http::{HeaderMap, Uri};
use serde::Serialize;

use apimachinery::request_context::RequestContext;
use apimachinery::time::UnixTime;
use endpoints::discovery::VersionInfo;
use endpoints::negotiation::{Clause, Format, accept_clauses, is_pretty, not_acceptable};
use endpoints::response::ErrorForm;
use endpoints::routing::dispatch::Response;

use crate::env::Env;
use crate::metrics::Metrics;
use crate::pages::{Context, Pages};
use crate::respond;

/// Name of this component on the pages.
const COMPONENT: &str = "apiserver";
const GROUP: &str = "config.k8s.io";
/// Deprecated version of the response.
const DEPRECATED: &str = "v1alpha1";
const VERSIONS: [&str; 2] = [DEPRECATED, "v1beta1"];
/// Delimiters between names and values. They vary on purpose, so that no client parses the text.
const DELIMITERS: [&str; 4] = [":", ": ", "=", " "];
/// Formats of structured responses, in order of preference. The last one needs a gate.
const STRUCTURED: [Format; 3] = [Format::Json, Format::Yaml, Format::Cbor];
/// Paths at `/` that belong to the API and do not help debugging.
const NOT_FOR_DEBUGGING: [&str; 5] = ["/apis", "/api", "/openid", "/openapi", "/.well-known"];

pub type FlagValue = (String, String);

pub(crate) fn flagz(flags: Arc<[FlagValue]>, cbor: bool, env: &Env) -> Pages {
    let delimiter = delimiter(env);
    Pages::default().add_listed("/flagz", async move |context: Context, headers: HeaderMap| {
        match requested_format("Flagz", cbor, &headers) {
            Some(ResponseFormat::Text) => text("flagz", &flag_lines(&flags, delimiter)),
            Some(ResponseFormat::Structured { format, version }) => {
                let flags = flags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                let members = FlagzMembers { flags };
                structured(Object::of("Flagz", version, members), format, &context, &headers)
            }
            None => not_acceptable_response(cbor, &headers),
        }
    })
}

fn flag_lines(flags: &[FlagValue], delimiter: &str) -> String {
    let mut sorted: Vec<&FlagValue> = flags.iter().collect();
    sorted.sort_unstable();
    sorted.iter().fold(String::new(), |mut out, (name, value)| {
        let _ = writeln!(out, "{name}{delimiter}{value}");
        out
    })
}

/// Content of `/statusz`.
pub(crate) struct Statusz {
    started_seconds: i64,
    version: VersionInfo,
    /// Paths at `/`.
    paths: Vec<String>,
    /// True if CBOR is supported (`CBORServingAndStorage`).
    cbor: bool,
    env: Env,
}

pub(crate) fn statusz(status: Statusz) -> Pages {
    let status = Arc::new(status);
    Pages::default().add_listed("/statusz", async move |context: Context, headers: HeaderMap| {
        match requested_format("Statusz", status.cbor, &headers) {
            Some(ResponseFormat::Text) => text("statusz", &status.lines(delimiter(&status.env))),
            Some(ResponseFormat::Structured { format, version }) => {
                structured(Object::of("Statusz", version, status.members()), format, &context, &headers)
            }
            None => not_acceptable_response(status.cbor, &headers),
        }
    })
}

impl Statusz {
    pub(crate) fn of(metrics: &Metrics, paths: Vec<String>, cbor: bool, env: Env) -> Self {
        let (started_seconds, version) = metrics.started();
        Statusz { started_seconds, version: version.clone(), paths, cbor, env }
    }

    fn up_seconds(&self) -> i64 {
        (self.env.clock.now().seconds - self.started_seconds).max(0)
    }

    /// Version without the `v` and without the part after `+`.
    fn binary_version(&self) -> &str {
        let version = self.version.git_version.trim_start_matches('v');
        version.split('+').next().unwrap_or(version)
    }

    fn emulation_version(&self) -> String {
        format!("{}.{}", self.version.emulation_major, self.version.emulation_minor)
    }

    /// First segments of the paths at `/`.
    fn folders(&self) -> Vec<String> {
        let first = |path: &String| Some(format!("/{}", path.split('/').nth(1)?));
        let mut folders: Vec<String> = self.paths.iter().filter_map(first).collect();
        folders.retain(|folder| folder != "/" && !NOT_FOR_DEBUGGING.contains(&folder.as_str()));
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    fn lines(&self, delimiter: &str) -> String {
        let up = self.up_seconds();
        format!(
            "\nStarted{delimiter} {}\nUp{delimiter} {} hr {:02} min {:02} sec\nGo version{delimiter} {}\n\
             Binary version{delimiter} {}\nEmulation version{delimiter} {}\nPaths{delimiter} {}\n",
            unix_date(self.started()),
            up / 3600,
            up / 60 % 60,
            up % 60,
            self.version.go_version,
            self.binary_version(),
            self.emulation_version(),
            self.folders().join(" "),
        )
    }

    fn members(&self) -> StatuszMembers {
        StatuszMembers {
            start_time: self.started().rfc3339().to_string(),
            uptime_seconds: self.up_seconds(),
            go_version: self.version.go_version,
            binary_version: self.binary_version().to_owned(),
            emulation_version: self.emulation_version(),
            paths: self.folders(),
        }
    }

    fn started(&self) -> UnixTime {
        UnixTime { seconds: self.started_seconds, nanos: 0 }
    }
}

fn delimiter(env: &Env) -> &'static str {
    let mut byte = [0];
    (env.random)(&mut byte);
    DELIMITERS.into_iter().nth(usize::from(byte[0]) % DELIMITERS.len()).unwrap_or(" ")
}

/// Formats a time like Go's `time.UnixDate`.
fn unix_date(time: UnixTime) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = time.rfc3339().to_string();
    let mut fields = text.trim_end_matches('Z').split(['-', 'T']);
    let year = fields.next().unwrap_or("");
    let month = fields.next().unwrap_or("");
    let day = fields.next().unwrap_or("");
    let clock = fields.next().unwrap_or("");
    let month = month.parse::<usize>().ok().and_then(|m| MONTHS.get(m.wrapping_sub(1))).unwrap_or(&"");
    let weekday = usize::try_from(time.seconds.div_euclid(86_400).rem_euclid(7)).unwrap_or(0);
    let weekday = DAYS.get(weekday).unwrap_or(&"");
    let day = day.strip_prefix('0').map_or(day.to_owned(), |digit| format!(" {digit}"));
    format!("{weekday} {month} {day} {clock} UTC {year}")
}

/// Format of a response.
#[derive(Debug, PartialEq, Eq)]
enum ResponseFormat {
    Text,
    Structured { format: Format, version: &'static str },
}

/// Returns the format that a request accepts: text, or an object of the named kind and version. The default
/// is text.
fn requested_format(kind: &str, cbor: bool, headers: &HeaderMap) -> Option<ResponseFormat> {
    let header = endpoints::header::text_or_empty(headers, ACCEPT);
    if header.trim().is_empty() {
        return Some(ResponseFormat::Text);
    }
    accept_clauses(&header).iter().find_map(|clause| clause_format(clause, kind, cbor))
}

fn clause_format(clause: &Clause<'_>, kind: &str, cbor: bool) -> Option<ResponseFormat> {
    let param =
        |name: &str| clause.params.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| *value);
    if ["stream", "sv"].into_iter().any(|name| param(name).is_some_and(|value| !value.is_empty())) {
        return None;
    }
    let as_kind = param("as");
    let group = param("g");
    let version = param("v");
    let accepts = |main: &str, sub: &str| {
        (clause.main == "*" || clause.main == main) && (clause.subtype == "*" || clause.subtype == sub)
    };
    if as_kind.is_none() && group.is_none() && version.is_none() {
        return accepts("text", "plain").then_some(ResponseFormat::Text);
    }
    if (as_kind, group) != (Some(kind), Some(GROUP)) {
        return None;
    }
    let version = VERSIONS.into_iter().find(|supported| version == Some(*supported))?;
    let is_accepted =
        |format: &Format| format.media_type().split_once('/').is_some_and(|(main, sub)| accepts(main, sub));
    let is_enabled = |format: &Format| cbor || *format != Format::Cbor;
    STRUCTURED
        .into_iter()
        .filter(is_enabled)
        .find(is_accepted)
        .map(|format| ResponseFormat::Structured { format, version })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Object<M> {
    kind: &'static str,
    api_version: String,
    metadata: Metadata,
    #[serde(flatten)]
    members: M,
    #[serde(skip)]
    version: &'static str,
}

#[derive(Serialize)]
struct Metadata {
    name: &'static str,
}

#[derive(Serialize)]
struct FlagzMembers<'a> {
    flags: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatuszMembers {
    start_time: String,
    uptime_seconds: i64,
    go_version: &'static str,
    binary_version: String,
    emulation_version: String,
    paths: Vec<String>,
}

impl<M> Object<M> {
    fn of(kind: &'static str, version: &'static str, members: M) -> Self {
        let api_version = format!("{GROUP}/{version}");
        Object { kind, api_version, metadata: Metadata { name: COMPONENT }, members, version }
    }
}

fn text(page: &str, lines: &str) -> Response {
    let body = format!(
        "\n{COMPONENT} {page}\nWarning: This endpoint is not meant to be machine parseable, has no formatting \
         compatibility guarantees and is for debugging purposes only.\n{lines}"
    );
    respond::response(200, HeaderValue::from_static("text/plain; charset=utf-8"), body)
}

fn structured<M: Serialize>(
    object: Object<M>,
    format: Format,
    context: &RequestContext,
    headers: &HeaderMap,
) -> Response {
    let Object { kind, version, .. } = object;
    let media_type = format!("{};g={GROUP};v={version};as={kind}", format.media_type());
    let warning = format!(
        "299 - \"This version of the {} endpoint is deprecated. Please use a newer version.\"",
        kind.to_lowercase()
    );
    let warning = (version == DEPRECATED).then_some(warning);
    let indent = is_pretty(headers, context.query.first("pretty"));
    let mut body = if indent && format == Format::Json {
        serde_json::to_vec_pretty(&object)
    } else {
        serde_json::to_vec(&object)
    }
    .unwrap_or_default();
    body.push(b'\n');
    let mut converted_body = Vec::new();
    let converted = match format {
        Format::Yaml => schema::yaml::from_json(&body, &mut converted_body).is_ok(),
        Format::Cbor => schema::cbor::from_json(&body, &mut converted_body).is_ok(),
        Format::Json | Format::Protobuf => false,
    };
    if converted {
        body = converted_body;
    }
    let mut response = respond::json(200, body);
    if let Ok(media_type) = HeaderValue::try_from(media_type) {
        response.headers_mut().insert(CONTENT_TYPE, media_type);
    }
    if let Some(warning) = warning.and_then(|text| HeaderValue::try_from(text).ok()) {
        response.headers_mut().insert(WARNING, warning);
    }
    response
}

fn not_acceptable_response(cbor: bool, headers: &HeaderMap) -> Response {
    let media_types =
        [Format::Json.media_type(), Format::Yaml.media_type(), "text/plain", Format::Cbor.media_type()];
    let count = media_types.len() - usize::from(!cbor);
    let form = ErrorForm { headers, uri: &Uri::default() };
    respond::status(&not_acceptable(media_types.get(..count).unwrap_or(&media_types)), form)
}

#[cfg(test)]
mod tests;
