//! Options of connections and logs: parsed from the request's query, as an object for admission, and as the
//! kubelet's query. Pure.

use api::resources::Resource;
use api::tree;
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::query::Query;
use apimachinery::strconv::parse_uint;
use apimachinery::time::{GO_ZERO_TIME, UnixTime, parse_time};
use form_urlencoded::Serializer;
use jsontree::Value;
use schema::object::Object;

use crate::proxy::stream;

/// Names of the streams in options and in the kubelet's query, in the kubelet's order.
const STREAMS: [(&str, &str); 4] =
    [("stderr", "error"), ("stdin", "input"), ("stdout", "output"), ("tty", "tty")];

/// Values of the log's `stream` option; the first one selects both streams.
const LOG_STREAMS: [&str; 3] = [BOTH_STREAMS, "Stderr", "Stdout"];
const BOTH_STREAMS: &str = "All";

/// Error of an option in a query, for a 400.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum OptionsError {
    #[error("cannot convert to []int32: {0}")]
    Port(String),
    #[error("{0}")]
    Value(String),
}

/// Options of a connection as an object of the endpoint's kind, which admission may change. `subpath` is the
/// rest of the path, for endpoints that have one.
///
/// # Errors
/// The error in the query, for a 400.
pub(super) fn object(
    endpoint: &Resource,
    query: &Query,
    subpath: Option<String>,
) -> Result<Object, OptionsError> {
    let mut options = Object::new();
    options.insert("kind", endpoint.kind.into());
    options.insert("apiVersion", endpoint.kind_group_version.into());
    let mut insert = |name: &str, member: Option<Value>| {
        if let Some(value) = member {
            options.insert(name, value);
        }
    };
    match endpoint.subresource {
        "proxy" => insert("path", subpath.filter(|path| !path.is_empty()).map(Value::from)),
        "portforward" => {
            let ports = ports(&query.texts("ports"))?;
            insert("ports", (!ports.is_empty()).then(|| ports.into()));
        }
        subresource => {
            for name in STREAMS.map(|(name, _)| name) {
                insert(name, (query.flag(name) == Some(true)).then(|| true.into()));
            }
            insert("container", query.first("container").filter(|name| !name.is_empty()).map(Value::from));
            if subresource == "exec" {
                let command = query.texts("command");
                insert("command", (!command.is_empty()).then(|| command.into()));
            }
        }
    }
    Ok(options)
}

/// Returns the streams of a command.
pub(super) fn streams(options: &Object) -> stream::Options {
    stream::Options {
        stdin: tree::flag(options, "stdin"),
        stdout: tree::flag(options, "stdout"),
        stderr: tree::flag(options, "stderr"),
        tty: tree::flag(options, "tty"),
    }
}

/// Kubelet query for a stream: parameters sorted by name, as Go encodes them.
pub(super) fn kubelet_query(options: &Object) -> String {
    let mut out = Serializer::new(String::new());
    for command in tree::texts(options, "command") {
        out.append_pair("command", command);
    }
    for (name, parameter) in STREAMS {
        if tree::flag(options, name) {
            out.append_pair(parameter, "1");
        }
    }
    let ports: Vec<String> = tree::list(options, "ports").iter().map(Value::to_string).collect();
    if !ports.is_empty() {
        out.append_pair("port", &ports.join(","));
    }
    out.finish()
}

fn ports(values: &[String]) -> Result<Vec<u16>, OptionsError> {
    let mut ports = Vec::new();
    for text in values.iter().flat_map(|values| values.split(',')) {
        let number = parse_uint(text).map_err(|error| OptionsError::Port(error.to_string()))?;
        let out_of_range = || {
            let text = apimachinery::go_quote::quote(text);
            OptionsError::Port(format!("strconv.ParseUint: parsing {text}: value out of range"))
        };
        ports.push(u16::try_from(number).map_err(|_| out_of_range())?);
    }
    Ok(ports)
}

/// `PodLogOptions`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Log {
    /// Container name; may be empty.
    pub(super) container: String,
    /// True to skip verification of the kubelet's certificate.
    pub(super) insecure: bool,
    follow: bool,
    previous: bool,
    timestamps: bool,
    since_seconds: Option<i64>,
    since_time: Option<UnixTime>,
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
    stream: Option<String>,
}

impl Log {
    /// Parses the options. If the kubelet can return single streams (`splits`), the default is both.
    ///
    /// # Errors
    /// The invalid option, for a 400.
    pub(super) fn parse(query: &Query, splits: bool) -> Result<Self, OptionsError> {
        let number = |name| query.integer(name).map_err(|error| OptionsError::Value(error.to_string()));
        let flag = |name| query.flag(name).unwrap_or_default();
        let since_seconds = number("sinceSeconds")?;
        let since_time = match query.first("sinceTime") {
            Some("" | "null") => Some(GO_ZERO_TIME),
            text => {
                text.map(parse_time).transpose().map_err(|error| OptionsError::Value(error.to_string()))?
            }
        };
        Ok(Log {
            container: query.text("container"),
            insecure: flag("insecureSkipTLSVerifyBackend"),
            follow: flag("follow"),
            previous: flag("previous"),
            timestamps: flag("timestamps"),
            since_seconds,
            since_time,
            tail_lines: number("tailLines")?,
            limit_bytes: number("limitBytes")?,
            stream: query.first("stream").or(splits.then_some(BOTH_STREAMS)).map(str::to_owned),
        })
    }

    /// Validates the options and returns all errors (upstream's `ValidatePodLogOptions`).
    pub(super) fn errors(&self, splits: bool) -> ErrorList {
        let mut errors = ErrorList::new();
        let mut at_least = |name: &'static str, number: Option<i64>, least: i64, detail: &str| {
            if let Some(number) = number.filter(|number| *number < least) {
                errors.push(Error::invalid(&Path::root(name), number, detail));
            }
        };
        at_least("tailLines", self.tail_lines, 0, "must be greater than or equal to 0");
        at_least("limitBytes", self.limit_bytes, 1, "must be greater than 0");
        if self.since_time.is_none() {
            at_least("sinceSeconds", self.since_seconds, 1, "must be greater than 0");
        } else if self.since_seconds.is_some() {
            let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
            errors.push(Error::forbidden(&Path::root("[]"), detail));
        }
        let Some(stream) = self.stream.as_deref() else { return errors };
        if !splits {
            errors.push(Error::forbidden(&Path::root("stream"), "may not be specified"));
            return errors;
        }
        if !LOG_STREAMS.contains(&stream) {
            errors.push(Error::not_supported(&Path::root("stream"), stream, &LOG_STREAMS));
        }
        if stream != BOTH_STREAMS && self.tail_lines.is_some() {
            let detail = "`tailLines` and specific `stream` are mutually exclusive for now";
            errors.push(Error::forbidden(&Path::root("[]"), detail));
        }
        errors
    }

    /// The kubelet's query.
    pub(super) fn query(&self) -> String {
        let flag = |name, value: bool| value.then(|| (name, "true".to_owned()));
        let number = |name, value: Option<i64>| value.map(|value| (name, value.to_string()));
        let since = self.since_time.map(|time| UnixTime { nanos: 0, ..time }.rfc3339().to_string());
        let parameters = [
            flag("follow", self.follow),
            number("limitBytes", self.limit_bytes),
            flag("previous", self.previous),
            number("sinceSeconds", self.since_seconds),
            since.map(|since| ("sinceTime", since)),
            self.stream.clone().map(|stream| ("stream", stream)),
            number("tailLines", self.tail_lines),
            flag("timestamps", self.timestamps),
        ];
        Serializer::new(String::new()).extend_pairs(parameters.into_iter().flatten()).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;

    fn object(subresource: &str, query: &str) -> Result<Object, OptionsError> {
        let endpoint = api::resources::find("", "v1", "pods", subresource).unwrap();
        let subpath = endpoint.connect.is_some_and(|connect| connect.subpath).then(|| "/a/".to_owned());
        super::object(endpoint, &Query::parse(query), subpath)
    }

    #[test]
    fn stream_query_uses_kubelet_names() {
        let check = |subresource: &str, query: &str, expected: Result<&str, &str>| {
            let actual = object(subresource, query).map(|options| kubelet_query(&options));
            let actual = actual.map_err(|error| error.to_string());
            assert_eq!(actual, expected.map(str::to_owned).map_err(str::to_owned), "{query}");
        };
        check(
            "exec",
            "command=sh&command=-c&stdin=true&stdout=1&tty=false",
            Ok("command=sh&command=-c&input=1&output=1"),
        );
        check("exec", "stderr=true&tty=true", Ok("error=1&tty=1"));
        check("attach", "command=sh&stdin=true", Ok("input=1"));
        check("portforward", "ports=80,443&ports=1", Ok("port=80%2C443%2C1"));
        check("portforward", "", Ok(""));
        let not = "cannot convert to []int32: strconv.ParseUint: parsing \"x\": invalid syntax";
        check("portforward", "ports=x", Err(not));
        let far = "cannot convert to []int32: strconv.ParseUint: parsing \"65536\": value out of range";
        check("portforward", "ports=65536", Err(far));
    }

    #[test]
    fn connect_options_have_kind_of_endpoint() {
        let check = |subresource: &str, query: &str, expected: Value| {
            assert_eq!(object(subresource, query).map(Value::Object), Ok(expected), "{query}");
        };
        check(
            "exec",
            "command=sh&container=c&stdin=true&tty=false",
            json!({"kind": "PodExecOptions", "apiVersion": "v1", "command": ["sh"], "container": "c", "stdin": true}),
        );
        let forward = json!({"kind": "PodPortForwardOptions", "apiVersion": "v1", "ports": [80, 443]});
        check("portforward", "ports=80,443", forward);
        check("proxy", "path=/b", json!({"kind": "PodProxyOptions", "apiVersion": "v1", "path": "/a/"}));
    }

    fn log(query: &str) -> Result<Log, OptionsError> {
        Log::parse(&Query::parse(query), false)
    }

    #[test]
    fn invalid_log_options_are_reported() {
        let check = |query: &str, expected: &str| {
            assert_eq!(log(query).unwrap_err().to_string(), expected, "{query}");
        };
        check("tailLines=x", "strconv.ParseInt: parsing \"x\": invalid syntax");
        check(
            "sinceTime=x",
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        );
    }

    #[test]
    fn log_options_are_validated() {
        let check = |query: &str, expected: &[&str]| {
            let errors = log(query).map(|log| log.errors(false)).unwrap_or_default();
            let errors: Vec<String> = errors.iter().map(Error::to_string).collect();
            assert_eq!(errors, expected, "{query}");
        };
        check("tailLines=0&limitBytes=1&sinceSeconds=1", &[]);
        check("tailLines=-1", &["tailLines: Invalid value: -1: must be greater than or equal to 0"]);
        check("limitBytes=0", &["limitBytes: Invalid value: 0: must be greater than 0"]);
        check("sinceSeconds=0", &["sinceSeconds: Invalid value: 0: must be greater than 0"]);
        check(
            "sinceSeconds=0&sinceTime=2020-01-01T00:00:00Z&stream=All",
            &[
                "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
                "stream: Forbidden: may not be specified",
            ],
        );
    }

    #[test]
    fn log_stream_selection_needs_gate() {
        let check = |query: &str, expected: &[&str], kubelet_query: &str| {
            let log = Log::parse(&Query::parse(query), true).unwrap_or_default();
            let errors: Vec<String> = log.errors(true).iter().map(Error::to_string).collect();
            assert_eq!(
                (errors, log.query()),
                (expected.iter().map(ToString::to_string).collect(), kubelet_query.to_owned())
            );
        };
        check("tailLines=1", &[], "stream=All&tailLines=1");
        check("stream=Stderr", &[], "stream=Stderr");
        check(
            "stream=x&tailLines=1",
            &[
                "stream: Unsupported value: \"x\": supported values: \"All\", \"Stderr\", \"Stdout\"",
                "[]: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now",
            ],
            "stream=x&tailLines=1",
        );
    }

    #[test]
    fn log_query_uses_kubelet_names() {
        let check = |query: &str, expected: &str| {
            assert_eq!(log(query).map(|log| log.query()), Ok(expected.to_owned()), "{query}");
        };
        check("container=c&insecureSkipTLSVerifyBackend=true", "");
        check("timestamps=1&tailLines=5&follow=true&previous=0", "follow=true&tailLines=5&timestamps=true");
        check(
            "sinceTime=2020-01-01T02:00:00%2B02:00&limitBytes=9",
            "limitBytes=9&sinceTime=2020-01-01T00%3A00%3A00Z",
        );
    }
}
