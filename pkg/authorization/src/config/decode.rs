//! Strict decoder of an `AuthorizationConfiguration`, with upstream's errors.

use apimachinery::go_json;
use apimachinery::go_quote::Quoted;
use apimachinery::time::parse_duration;
use jsontree::Value;
use schema::json::errors::{self, strict_decoding_error};
use schema::object::Object;

use crate::Error;

const GROUP: &str = "apiserver.config.k8s.io";
const KIND: &str = "AuthorizationConfiguration";
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];
/// Name of upstream's scheme for this file, as it appears in errors.
const SCHEME: &str = "k8s.io/apiserver/pkg/apis/apiserver/load/load.go:32";

const AUTHORIZED_TTL_NANOS: i64 = 5 * 60 * 1_000_000_000;
const UNAUTHORIZED_TTL_NANOS: i64 = 30 * 1_000_000_000;

/// A file with defaults, not yet validated.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) authorizers: Vec<Authorizer>,
}

#[derive(Debug, Default)]
pub(super) struct Authorizer {
    pub(super) mode: String,
    pub(super) name: String,
    pub(super) webhook: Option<Webhook>,
}

/// A webhook. Times are in nanoseconds.
#[derive(Debug)]
pub(super) struct Webhook {
    pub(super) authorized_ttl: i64,
    pub(super) cache_authorized: bool,
    pub(super) unauthorized_ttl: i64,
    pub(super) cache_unauthorized: bool,
    pub(super) timeout: i64,
    pub(super) version: String,
    pub(super) condition_version: String,
    pub(super) failure_policy: String,
    pub(super) connection: String,
    pub(super) kubeconfig: Option<String>,
    pub(super) conditions: Vec<String>,
}

impl Default for Webhook {
    fn default() -> Self {
        Webhook {
            authorized_ttl: AUTHORIZED_TTL_NANOS,
            cache_authorized: true,
            unauthorized_ttl: UNAUTHORIZED_TTL_NANOS,
            cache_unauthorized: true,
            timeout: 0,
            version: String::new(),
            condition_version: String::new(),
            failure_policy: String::new(),
            connection: String::new(),
            kubeconfig: None,
            conditions: Vec::new(),
        }
    }
}

/// Parses a text.
///
/// # Errors
/// Upstream's message for an unreadable text.
pub(super) fn file(text: &[u8]) -> Result<File, Error> {
    if text.is_empty() {
        return Ok(File::default());
    }
    let yaml = schema::yaml::to_json(text).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let meta =
        schema::json::type_meta(&yaml.json).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let api_version = meta.api_version.as_ref();
    let kind = meta.kind.as_ref();
    let shown = String::from_utf8_lossy(text);
    if kind.is_empty() {
        return Err(Error::Invalid(format!("Object 'Kind' is missing in '{shown}'")));
    }
    if api_version.is_empty() {
        return Err(Error::Invalid(format!("Object 'apiVersion' is missing in '{shown}'")));
    }
    let version = api_version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/'));
    let Some(version) = version.filter(|version| kind == KIND && VERSIONS.contains(version)) else {
        return Err(Error::Invalid(errors::not_registered(kind, api_version, SCHEME)));
    };
    let object: Object =
        serde_json::from_slice(&yaml.json).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let mut reader = Reader { version, strict: Vec::new() };
    reader.strict.extend(yaml.strict_error().map(|error| error.to_string()));
    let file = reader.file(&object)?;
    match reader.strict.as_slice() {
        [] => Ok(file),
        strict => Err(Error::Invalid(strict_decoding_error(strict))),
    }
}

/// Position of a field: its Go type, the path without indices for Go's decode errors, and the path with
/// indices for strict errors.
#[derive(Clone, Copy)]
struct FieldPath<'p> {
    structure: &'p str,
    dotted: &'p str,
    path: &'p str,
}

impl FieldPath<'_> {
    fn mistyped(&self, name: &str, value: &Value, go_type: &str) -> String {
        format!(
            "json: cannot unmarshal {} into Go struct field {}.{} of type {go_type}",
            go_json::kind_of(value),
            self.structure,
            joined(self.dotted, name)
        )
    }

    fn text(&self, name: &str, value: &Value, into: &mut String) -> Result<(), Error> {
        match value {
            Value::Null => {}
            Value::String(text) => text.as_str().clone_into(into),
            _ => return Err(Error::Invalid(self.mistyped(name, value, "string"))),
        }
        Ok(())
    }

    fn flag(&self, name: &str, value: &Value, into: &mut bool) -> Result<(), Error> {
        match value {
            Value::Null => {}
            Value::Bool(flag) => *into = *flag,
            _ => return Err(Error::Invalid(self.mistyped(name, value, "bool"))),
        }
        Ok(())
    }

    fn object<'v>(&self, name: &str, value: &'v Value, go_type: &str) -> Result<Option<&'v Object>, Error> {
        match value {
            Value::Null => Ok(None),
            Value::Object(object) => Ok(Some(object)),
            _ => Err(Error::Invalid(self.mistyped(name, value, go_type))),
        }
    }

    fn list<'v>(&self, name: &str, value: &'v Value, go_type: &str) -> Result<&'v [Value], Error> {
        match value {
            Value::Null => Ok(&[]),
            Value::Array(items) => Ok(items),
            _ => Err(Error::Invalid(self.mistyped(name, value, go_type))),
        }
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Parses a duration. A zero keeps the default value.
fn duration(value: &Value, into: &mut i64) -> Result<(), Error> {
    let text = match value {
        Value::Null => "",
        Value::String(text) => text,
        _ => {
            let actual = go_json::kind_of(value);
            return Err(Error::Invalid(format!(
                "json: cannot unmarshal {actual} into Go value of type string"
            )));
        }
    };
    let nanos = parse_duration(text).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    if nanos != 0 {
        *into = nanos;
    }
    Ok(())
}

struct Reader<'v> {
    version: &'v str,
    strict: Vec<String>,
}

impl Reader<'_> {
    fn unknown(&mut self, place: &FieldPath<'_>, name: &str) {
        let path = joined(place.path, name);
        self.strict.push(format!("unknown field {}", Quoted(&path)));
    }

    fn of_version(&self, list: &str, structure: &str) -> String {
        format!("{list}{}.{structure}", self.version)
    }

    fn file(&mut self, object: &Object) -> Result<File, Error> {
        let place = FieldPath { structure: KIND, dotted: "", path: "" };
        let mut file = File::default();
        for (name, value) in object {
            match name.as_str() {
                "kind" | "apiVersion" => {}
                "authorizers" => {
                    let go_type = self.of_version("[]", "AuthorizerConfiguration");
                    for (index, item) in place.list(name, value, &go_type)?.iter().enumerate() {
                        file.authorizers.push(self.authorizer(index, item)?);
                    }
                }
                _ => self.unknown(&place, name),
            }
        }
        Ok(file)
    }

    fn authorizer(&mut self, index: usize, item: &Value) -> Result<Authorizer, Error> {
        let path = format!("authorizers[{index}]");
        let above = FieldPath { structure: KIND, dotted: "", path: "" };
        let go_type = self.of_version("", "AuthorizerConfiguration");
        let mut authorizer = Authorizer::default();
        let Some(object) = above.object("authorizers", item, &go_type)? else { return Ok(authorizer) };
        let place = FieldPath { structure: "AuthorizerConfiguration", dotted: "authorizers", path: &path };
        for (name, value) in object {
            match name.as_str() {
                "type" => place.text(name, value, &mut authorizer.mode)?,
                "name" => place.text(name, value, &mut authorizer.name)?,
                "webhook" => {
                    let go_type = self.of_version("", "WebhookConfiguration");
                    if let Some(object) = place.object(name, value, &go_type)? {
                        authorizer.webhook = Some(self.webhook(&path, object)?);
                    }
                }
                _ => self.unknown(&place, name),
            }
        }
        Ok(authorizer)
    }

    fn webhook(&mut self, path: &str, object: &Object) -> Result<Webhook, Error> {
        let path = format!("{path}.webhook");
        let place =
            FieldPath { structure: "WebhookConfiguration", dotted: "authorizers.webhook", path: &path };
        let mut webhook = Webhook::default();
        for (name, value) in object {
            match name.as_str() {
                "authorizedTTL" => duration(value, &mut webhook.authorized_ttl)?,
                "cacheAuthorizedRequests" => place.flag(name, value, &mut webhook.cache_authorized)?,
                "unauthorizedTTL" => duration(value, &mut webhook.unauthorized_ttl)?,
                "cacheUnauthorizedRequests" => {
                    place.flag(name, value, &mut webhook.cache_unauthorized)?;
                }
                "timeout" => duration(value, &mut webhook.timeout)?,
                "subjectAccessReviewVersion" => place.text(name, value, &mut webhook.version)?,
                "matchConditionSubjectAccessReviewVersion" => {
                    place.text(name, value, &mut webhook.condition_version)?;
                }
                "failurePolicy" => place.text(name, value, &mut webhook.failure_policy)?,
                "connectionInfo" => {
                    let go_type = self.of_version("", "WebhookConnectionInfo");
                    if let Some(object) = place.object(name, value, &go_type)? {
                        self.connection(&path, object, &mut webhook)?;
                    }
                }
                "matchConditions" => {
                    let go_type = self.of_version("[]", "WebhookMatchCondition");
                    for (index, item) in place.list(name, value, &go_type)?.iter().enumerate() {
                        webhook.conditions.push(self.condition(
                            &format!("{path}.{name}[{index}]"),
                            &place,
                            item,
                        )?);
                    }
                }
                _ => self.unknown(&place, name),
            }
        }
        Ok(webhook)
    }

    fn connection(&mut self, path: &str, object: &Object, webhook: &mut Webhook) -> Result<(), Error> {
        let path = format!("{path}.connectionInfo");
        let dotted = "authorizers.webhook.connectionInfo";
        let place = FieldPath { structure: "WebhookConnectionInfo", dotted, path: &path };
        for (name, value) in object {
            match name.as_str() {
                "type" => place.text(name, value, &mut webhook.connection)?,
                "kubeConfigFile" if value.is_null() => {}
                "kubeConfigFile" => {
                    place.text(name, value, webhook.kubeconfig.get_or_insert_default())?;
                }
                _ => self.unknown(&place, name),
            }
        }
        Ok(())
    }

    fn condition(&mut self, path: &str, above: &FieldPath<'_>, item: &Value) -> Result<String, Error> {
        let go_type = self.of_version("", "WebhookMatchCondition");
        let mut expression = String::new();
        let Some(object) = above.object("matchConditions", item, &go_type)? else { return Ok(expression) };
        let dotted = "authorizers.webhook.matchConditions";
        let place = FieldPath { structure: "WebhookMatchCondition", dotted, path };
        for (name, value) in object {
            match name.as_str() {
                "expression" => place.text(name, value, &mut expression)?,
                _ => self.unknown(&place, name),
            }
        }
        Ok(expression)
    }
}
