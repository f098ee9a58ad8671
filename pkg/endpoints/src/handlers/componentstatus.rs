//! `componentstatuses`: health checks of the components at the time of the request. Nothing is stored
//! (upstream's `registry/core/componentstatus`).

use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use futures::future::join_all;
use jsontree::{Value, json};
use schema::object::Object;
use tokio::time::timeout;

use super::list_options::list_options;
use crate::proxy::url::Url;
use crate::proxy::{NetworkError, Trust};
use crate::response;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;

/// Components that are assumed to run on this machine, with their ports.
const LOCAL: [(&str, &str); 2] = [("controller-manager", "10257"), ("scheduler", "10259")];
const STORE: &str = "etcd-0";
/// Timeout of a health check.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Result of a health check.
struct Health {
    healthy: bool,
    message: String,
    error: String,
}

/// Returns one component.
///
/// # Errors
/// 404.
pub(super) async fn get(call: &RequestScope<'_>) -> Result<Response, Box<Status>> {
    let name = call.name();
    let unknown = || Status::not_found(&GroupResource::new("", "componentstatus"), name);
    let component = names().find(|candidate| *candidate == name).ok_or_else(unknown)?;
    call.reply()?.tree(200, &status(call, component).await)
}

/// Returns all components that match the request. Only selection by name works.
///
/// # Errors
/// 400 for invalid options.
pub(super) async fn list(call: &RequestScope<'_>) -> Result<Response, Box<Status>> {
    let options = list_options(call)?;
    let selected = names().filter(|name| {
        options.label_selector.matches(|_| None)
            && options.field_selector.matches(|field| Some(if field == "metadata.name" { name } else { "" }))
    });
    let items = join_all(selected.map(|name| status(call, name))).await;
    call.reply()?.trees(items)
}

fn names() -> impl Iterator<Item = &'static str> {
    LOCAL.into_iter().map(|(name, _)| name).chain([STORE])
}

async fn status(call: &RequestScope<'_>, name: &str) -> Object {
    let port = LOCAL.iter().find(|(local, _)| *local == name).map(|(_, port)| *port);
    let health = match port {
        Some(port) => local(call, port).await,
        None => match (call.api.storage_health)().await {
            Ok(()) => Health { healthy: true, message: "ok".to_owned(), error: String::new() },
            Err(error) => Health { healthy: false, message: String::new(), error: error.to_string() },
        },
    };
    object(call.endpoint().kind, name, health)
}

/// Checks a component on this machine. Its certificate is not verified, because the response has no effect.
async fn local(call: &RequestScope<'_>, port: &str) -> Health {
    let url = Url {
        tls: true,
        trust: Trust::AnyServer,
        host: "127.0.0.1".to_owned(),
        port: port.to_owned(),
        path: "/healthz".to_owned(),
        query: String::new(),
    };
    let probed = timeout(PROBE_TIMEOUT, fetch(call, &url)).await;
    let (healthy, message) = match probed {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => (false, format!("Get \"{url}\": {error}")),
        Err(_) => (false, format!("Get \"{url}\": context deadline exceeded")),
    };
    Health { healthy, message, error: String::new() }
}

async fn fetch(call: &RequestScope<'_>, url: &Url) -> Result<(bool, String), NetworkError> {
    let mut request = http::Request::new(response::full(bytes::Bytes::new()));
    *request.uri_mut() = url.uri().map_err(NetworkError::Url)?;
    let response = call.api.backends.network.send(url.trust, request).await?;
    let code = response.status().as_u16();
    if !(200..400).contains(&code) {
        return Ok((false, format!("HTTP probe failed with statuscode: {code}")));
    }
    let body = client::failure_text(response.into_body()).await;
    Ok((true, body.map_err(|error| NetworkError::Exchange(ForeignText::displayed(error)))?.into()))
}

fn object(kind: &str, name: &str, health: Health) -> Object {
    let status = if health.healthy { "True" } else { "False" };
    let mut condition = json!({"type": "Healthy", "status": status});
    for (member, text) in [("message", health.message), ("error", health.error)] {
        if !text.is_empty() {
            condition[member] = text.into();
        }
    }
    let members: [(&str, Value); 4] = [
        ("kind", kind.into()),
        ("apiVersion", "v1".into()),
        ("metadata", json!({"name": name})),
        ("conditions", json!([condition])),
    ];
    members.map(|(name, value)| (name.to_owned(), value)).into_iter().collect()
}
