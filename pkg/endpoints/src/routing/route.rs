//! Routes a path and a method to a row and an action.

use std::sync::Arc;

use api::catalog::{Catalog, Endpoint, Owner, Version};
use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::request_info::RequestInfo;
use apimachinery::status::Status;

pub(crate) use super::action::Action;
use super::path::is_under;
use super::proxied::find_proxied;

#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) endpoint: Arc<Endpoint>,
    /// The resource itself; the endpoint's own unless it is a subresource.
    pub(crate) resource: Arc<Endpoint>,
    pub(crate) action: Action,
}

#[derive(Debug)]
pub(crate) enum RouteError {
    /// The group is not served: upstream's plain-text 404.
    UnknownGroup,
    Rejected {
        status: Box<Status>,
        /// Warning of a custom resource in a deprecated version.
        deprecation: Option<String>,
    },
}

impl From<Box<Status>> for RouteError {
    fn from(status: Box<Status>) -> Self {
        RouteError::Rejected { status, deprecation: None }
    }
}

impl From<Status> for RouteError {
    fn from(status: Status) -> Self {
        Box::new(status).into()
    }
}

/// True if the response may depend on CRDs that the catalog lacks: documents about the whole API, and unknown
/// resources.
pub(crate) fn depends_on_definitions(catalog: &Catalog, info: &RequestInfo) -> bool {
    if info.is_resource {
        return !info.group.is_empty()
            && catalog.find(&info.group, &info.version, &info.resource, "").is_none()
            && find_proxied(catalog, &info.path).is_none();
    }
    ["/apis", "/openapi"].into_iter().any(|root| is_under(&info.path, root))
}

/// Finds the route of a resource request.
///
/// # Errors
/// 404 for a resource that is not served, 405 for a method that the path does not have.
pub(crate) fn route(
    catalog: &Catalog,
    method: &http::Method,
    info: &RequestInfo,
) -> Result<Route, RouteError> {
    let group = catalog.group(&info.group).ok_or(RouteError::UnknownGroup)?;
    if (info.api_prefix == "api") != info.group.is_empty() {
        return Err(RouteError::UnknownGroup);
    }
    let Some(version) = group.version(&info.version) else {
        // A known group gets a `Status` 404; an unknown one gets the router's plain-text 404.
        let routed = group.versions.iter().any(|version| version.owner == Owner::Builtin);
        return Err(if routed { Status::unknown_path().into() } else { RouteError::UnknownGroup });
    };
    if info.verb == "proxy" {
        // This path is no longer served, but requests are still authorized for the resource.
        return Err(Status::unknown_path().into());
    }
    if version.owner == Owner::Custom {
        return custom(version, method, info);
    }
    let served = version.find(&info.resource, &info.subresource).ok_or_else(Status::unknown_path)?;
    let main = match &*info.subresource {
        "" => served,
        _ => version.find(&info.resource, "").unwrap_or(served),
    };
    let route = |action| Route { endpoint: Arc::clone(served), resource: Arc::clone(main), action };
    let endpoint = served.row.row();
    let main = main.row.row();
    let depth = info.parts.len();
    let named = depth >= 2;
    let misplaced = if main.namespaced { named && !info.namespaced_path } else { info.namespaced_path };
    let subpath = endpoint.connect.is_some_and(|c| c.subpath);
    if misplaced || (depth > 3 && !subpath) {
        return Err(Status::unknown_path().into());
    }
    let has_items = ["get", "update", "patch", "delete"].iter().any(|verb| endpoint.serves(verb));
    if named && endpoint.subresource.is_empty() && !has_items {
        return Err(Status::unknown_path().into());
    }
    if info.watch_segment && !endpoint.serves("watch") {
        return Err(Status::unknown_path().into());
    }
    let action = action(method, info, endpoint, named).ok_or_else(Status::method_not_allowed)?;
    check_name(info)?;
    let is_of_object = matches!(action, Action::Get | Action::Update | Action::Patch | Action::Delete)
        || !endpoint.subresource.is_empty();
    if info.namespaced_path && info.namespace.is_empty() && is_of_object {
        // Upstream's `NamespaceKeyFunc`.
        return Err(Status::bad_request("Namespace parameter required.").into());
    }
    Ok(route(action))
}

/// Rejects an empty name segment (upstream's `ContextBasedNaming.Name`), even if a field selector names the
/// object.
fn check_name(info: &RequestInfo) -> Result<(), Box<Status>> {
    match info.parts.get(1).map(String::as_str) {
        Some("") => Err(Status::bad_request("name must be provided").into()),
        _ => Ok(()),
    }
}

/// Finds the route to a custom resource. Upstream's handler of custom resources checks resources and verbs,
/// not paths and methods. So unknown paths are plain 404s, HEAD is a GET, and errors contain the verb.
fn custom(version: &Version, method: &http::Method, info: &RequestInfo) -> Result<Route, RouteError> {
    let main = version.find(&info.resource, "").ok_or(RouteError::UnknownGroup)?;
    let namespaced = main.row.row().namespaced;
    let across_namespaces = matches!(&*info.verb, "list" | "watch");
    let in_namespace = !info.namespace.is_empty();
    if namespaced != in_namespace && !(namespaced && across_namespaces) {
        return Err(RouteError::UnknownGroup);
    }
    custom_endpoint(version, main, method, info)
        .map_err(|status| RouteError::Rejected { status, deprecation: main.row.row().deprecation_warning() })
}

/// Finds the endpoint and the action of a custom resource.
///
/// # Errors
/// 404 for an unknown subresource, 405, 400 for an empty name.
fn custom_endpoint(
    version: &Version,
    main: &Arc<Endpoint>,
    method: &http::Method,
    info: &RequestInfo,
) -> Result<Route, Box<Status>> {
    let resource = GroupResource::new(&*info.group, &*info.resource);
    let name = info.parts.get(1).map_or("", |name| &**name);
    let endpoint =
        version.find(&info.resource, &info.subresource).ok_or_else(|| Status::not_found(&resource, name))?;
    let action = match &*info.verb {
        "get" => Action::Get,
        "list" => Action::List,
        "watch" if info.watch_segment => Action::Watch,
        "watch" => Action::List,
        "create" => Action::Create,
        "update" => Action::Update,
        "patch" => Action::Patch,
        "delete" => Action::Delete,
        "deletecollection" => Action::DeleteCollection,
        _ => return Err(Status::method_not_supported(&resource, &info.verb).into()),
    };
    if !endpoint.row.row().serves(&info.verb) || *method == http::Method::OPTIONS {
        return Err(Status::method_not_supported(&resource, &info.verb).into());
    }
    check_name(info)?;
    Ok(Route { endpoint: Arc::clone(endpoint), resource: Arc::clone(main), action })
}

fn action(method: &http::Method, info: &RequestInfo, endpoint: &Resource, named: bool) -> Option<Action> {
    if let Some(connect) = &endpoint.connect {
        let connects = named && !info.watch_segment && connect.methods.contains(&method.as_str());
        return connects.then_some(Action::Connect);
    }
    let everywhere = endpoint.namespaced && !info.namespaced_path;
    let (action, verb) = match (method.as_str(), named) {
        ("GET", _) if info.watch_segment => (Action::Watch, "watch"),
        (_, _) if info.watch_segment => return None,
        ("GET", true) => (Action::Get, "get"),
        ("GET", false) => (Action::List, "list"),
        ("POST", false) if !everywhere => (Action::Create, "create"),
        ("POST", true) if !endpoint.subresource.is_empty() => (Action::Create, "create"),
        ("PUT", true) => (Action::Update, "update"),
        ("PATCH", true) => (Action::Patch, "patch"),
        ("DELETE", true) => (Action::Delete, "delete"),
        ("DELETE", false) if !everywhere => (Action::DeleteCollection, "deletecollection"),
        _ => return None,
    };
    endpoint.serves(verb).then_some(action)
}
