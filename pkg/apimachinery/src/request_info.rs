//! Parses a request path: verb, group, version, namespace, resource, subresource, name (behaviour of
//! apiserver `endpoints/request/requestinfo.go`).

use thiserror::Error;

use crate::query::Query;
use crate::selectors::{FieldRequirements, LabelRequirements, Selectors};

/// Parts of a request that authorization, audit and dispatch use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// True if the path names an API resource; otherwise only `verb` and `path` are set.
    pub is_resource: bool,
    /// Decoded path, without the query.
    pub path: String,
    /// Kubernetes verb for resources (`get`, `list`, `watch`, `create`, …), otherwise the lower-case method.
    pub verb: String,
    /// `api` or `apis`.
    pub api_prefix: String,
    /// Empty for the core group.
    pub group: String,
    /// API version, for example `v1`.
    pub version: String,
    /// Empty for cluster-scoped requests.
    pub namespace: String,
    /// Plural name.
    pub resource: String,
    /// Empty for the object itself.
    pub subresource: String,
    /// Empty for collections.
    pub name: String,
    /// Path segments from the resource on (`pods/a/proxy/x/y`).
    pub parts: Vec<String>,
    /// True if the path contains the old `/watch/` segment.
    pub watch_segment: bool,
    /// True if the path has `/namespaces/NAME/` before the resource.
    pub namespaced_path: bool,
    /// Selectors of a list, watch or deletecollection. The old watch paths have none.
    pub selectors: Selectors,
}

/// Maximum length of each text in a [retained](RequestInfo::retained) request info, in bytes. Names have at most 253.
const RETAINED_TEXT_BYTES_MAX: usize = 256;

impl RequestInfo {
    /// Returns a copy with the start of each text, without selectors and path segments.
    pub fn retained(&self) -> Self {
        let start = |text: &String| {
            let end = text.floor_char_boundary(RETAINED_TEXT_BYTES_MAX);
            text.get(..end).unwrap_or_default().to_owned()
        };
        RequestInfo {
            is_resource: self.is_resource,
            path: start(&self.path),
            verb: start(&self.verb),
            api_prefix: start(&self.api_prefix),
            group: start(&self.group),
            version: start(&self.version),
            namespace: start(&self.namespace),
            resource: start(&self.resource),
            subresource: start(&self.subresource),
            name: start(&self.name),
            parts: Vec::new(),
            watch_segment: self.watch_segment,
            namespaced_path: self.namespaced_path,
            selectors: Selectors::default(),
        }
    }
}

/// Error for an old watch path without a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("unable to determine kind and namespace from url")]
pub struct NoResource;

/// Subresources of namespaces: `/namespaces/NAME/status` is the namespace's own status.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Parses a request's path.
///
/// The result has `is_resource: false` for a path under `/api` or `/apis` that is too short to name a
/// resource, and for every other path.
///
/// # Errors
/// `/api/v1/watch` and similar paths, for which upstream responds with 500.
pub fn request_info(method: &str, path: &str, query: &Query) -> Result<RequestInfo, NoResource> {
    let mut info =
        RequestInfo { path: path.to_owned(), verb: method.to_ascii_lowercase(), ..RequestInfo::default() };
    // Capacity for the longest usual path: `apis`, group, version, `namespaces`, three names, and the rest.
    let mut segments = Vec::with_capacity(8);
    match path.trim_matches('/') {
        "" => {}
        trimmed => segments.extend(trimmed.split('/')),
    }
    let (prefix, mut rest) = match segments.split_first() {
        Some((&prefix @ ("api" | "apis"), rest)) => (prefix, rest),
        _ => return Ok(info),
    };
    if segments.len() < 3 {
        return Ok(info);
    }
    info.api_prefix = prefix.to_owned();
    if prefix == "apis" {
        if segments.len() < 4 {
            return Ok(info);
        }
        if let Some((&group, tail)) = rest.split_first() {
            (info.group, rest) = (group.to_owned(), tail);
        }
    }
    if let Some((&version, tail)) = rest.split_first() {
        (info.version, rest) = (version.to_owned(), tail);
    }
    info.is_resource = true;
    info.verb = verb_of_method(method).to_owned();
    let old_verb = matches!(rest.first(), Some(&("proxy" | "watch")));
    if let (true, Some((&verb, tail))) = (old_verb, rest.split_first()) {
        if tail.is_empty() {
            return Err(NoResource);
        }
        info.verb = verb.to_owned();
        info.watch_segment = verb == "watch";
        rest = tail;
    }
    rest = namespace(&mut info, rest);
    info.parts = rest.iter().map(|&s| s.to_owned()).collect();
    if let Some(resource) = rest.first() {
        info.resource = (*resource).to_owned();
    }
    if let Some(name) = rest.get(1) {
        info.name = (*name).to_owned();
    }
    if let (Some(subresource), false) = (rest.get(2), info.verb == "proxy") {
        info.subresource = (*subresource).to_owned();
    }
    if !old_verb {
        collection_verb(&mut info, query);
    }
    Ok(info)
}

fn verb_of_method(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// Removes `namespaces/NAME` from the front and sets the namespace, unless a subresource of the namespace
/// itself follows.
fn namespace<'p>(info: &mut RequestInfo, rest: &'p [&'p str]) -> &'p [&'p str] {
    match rest {
        ["namespaces", name, tail @ ..] => {
            info.namespace = (*name).to_owned();
            let of_namespace = tail.first().is_none_or(|s| NAMESPACE_SUBRESOURCES.contains(s));
            if of_namespace {
                return rest;
            }
            info.namespaced_path = true;
            tail
        }
        _ => rest,
    }
}

/// Converts a `get` or `delete` without a name to the verb for collections. For authorization, a
/// `metadata.name` field selector sets the name of a list or watch.
fn collection_verb(info: &mut RequestInfo, query: &Query) {
    if !info.name.is_empty() {
        return;
    }
    let reads = info.verb == "get";
    info.verb = match info.verb.as_str() {
        "get" if query.flag("watch") == Some(true) => "watch",
        "get" => "list",
        "delete" => "deletecollection",
        _ => return,
    }
    .to_owned();
    info.selectors = Selectors {
        fields: FieldRequirements::parse(query.first("fieldSelector").unwrap_or_default()),
        labels: LabelRequirements::parse(query.first("labelSelector").unwrap_or_default()),
    };
    if reads
        && decodes(query, &info.selectors)
        && let Some(name) = info.selectors.fields.exact_match("metadata.name")
        && is_path_segment(name)
    {
        info.name = name.to_owned();
    }
}

/// True if the query decodes as `ListOptions`; otherwise upstream ignores it.
fn decodes(query: &Query, selectors: &Selectors) -> bool {
    selectors.fields.error.is_none()
        && selectors.labels.error.is_none()
        && query.integer("limit").is_ok()
        && query.integer("timeoutSeconds").is_ok()
}

fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(method: &str, target: &str, expected: &str) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let info = request_info(method, path, &Query::parse(query)).unwrap();
        let actual = format!(
            "{} {} g={} v={} ns={} r={} s={} n={}",
            info.is_resource,
            info.verb,
            info.group,
            info.version,
            info.namespace,
            info.resource,
            info.subresource,
            info.name
        );
        assert_eq!(actual, expected, "{method} {target}");
    }

    #[test]
    fn path_forms_parse_like_upstream() {
        check("GET", "/api/v1/namespaces/a/pods", "true list g= v=v1 ns=a r=pods s= n=");
        check("GET", "/api/v1/namespaces/a/pods?watch=1", "true watch g= v=v1 ns=a r=pods s= n=");
        check("GET", "/api/v1/namespaces/a/pods?watch=FALSE", "true list g= v=v1 ns=a r=pods s= n=");
        check("GET", "/api/v1/namespaces/a/pods/b/log", "true get g= v=v1 ns=a r=pods s=log n=b");
        check("GET", "/api/v1/namespaces/a", "true get g= v=v1 ns=a r=namespaces s= n=a");
        check("PUT", "/api/v1/namespaces/a/status", "true update g= v=v1 ns=a r=namespaces s=status n=a");
        check("GET", "/api/v1/namespaces", "true list g= v=v1 ns= r=namespaces s= n=");
        check("GET", "/api/v1/watch/pods", "true watch g= v=v1 ns= r=pods s= n=");
        check("GET", "/api/v1/watch/namespaces/a/pods/b", "true watch g= v=v1 ns=a r=pods s= n=b");
        check(
            "POST",
            "/apis/apps/v1/namespaces/a/deployments",
            "true create g=apps v=v1 ns=a r=deployments s= n=",
        );
        check(
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            "true deletecollection g=apps v=v1 ns=a r=deployments s= n=",
        );
        check("GET", "/apis/apps/v1", "false get g= v= ns= r= s= n=");
        check("GET", "/api/v1", "false get g= v= ns= r= s= n=");
        check("GET", "/version", "false get g= v= ns= r= s= n=");
        check("GET", "/", "false get g= v= ns= r= s= n=");
        check("GET", "/api/v1/nodes?fieldSelector=metadata.name=x", "true list g= v=v1 ns= r=nodes s= n=x");
        check("PROPFIND", "/api/v1/nodes/x", "true  g= v=v1 ns= r=nodes s= n=x");
        for path in ["/api/v1/watch", "/api/v1/proxy/", "/apis/apps/v1/watch"] {
            assert_eq!(request_info("GET", path, &Query::default()), Err(NoResource), "{path}");
        }
    }

    #[test]
    fn exact_name_selector_sets_name() {
        let check = |line: &str, query: &str, expected: &str| {
            let (method, path) = line.split_once(' ').unwrap();
            let info = request_info(method, path, &Query::parse(query)).unwrap();
            assert_eq!(info.name, expected, "{line} {query}");
        };
        const NAMED: &str = "fieldSelector=metadata.name%3Dx";
        check("GET /api/v1/pods", NAMED, "x");
        check("GET /api/v1/pods", &format!("watch=1&{NAMED}"), "x");
        check("GET /api/v1/pods", &format!("{NAMED}&fieldSelector=metadata.name%3Dy"), "x");
        check("GET /api/v1/pods", &format!("fieldSelector=metadata.name!%3D%zz&{NAMED}"), "x");
        check("GET /api/v1/pods", &format!("fieldSelector=&{NAMED}"), "");
        check("GET /api/v1/pods", "fieldSelector=metadata.name!%3Dx", "");
        check("GET /api/v1/pods", "fieldSelector=metadata.name%3D..", "");
        check("GET /api/v1/pods", "fieldSelector=metadata.name%3Da/b", "");
        for broken in ["limit=x", "timeoutSeconds=", "labelSelector=(("] {
            check("GET /api/v1/pods", &format!("{NAMED}&{broken}"), "");
        }
        check("DELETE /api/v1/namespaces/a/pods", NAMED, "");
        check("GET /api/v1/watch/pods", NAMED, "");
        check("POST /api/v1/namespaces/a/pods", NAMED, "");
    }

    #[test]
    fn collection_requests_have_selectors() {
        let check = |line: &str, query: &str, expected: (usize, usize, bool)| {
            let (method, path) = line.split_once(' ').unwrap();
            let Selectors { fields, labels } =
                request_info(method, path, &Query::parse(query)).unwrap().selectors;
            let broken = fields.error.is_some() || labels.error.is_some();
            assert_eq!((fields.read.len(), labels.read.len(), broken), expected, "{line} {query}");
        };
        const BOTH: &str = "fieldSelector=a%3Db,c%3Dd&labelSelector=e";
        for line in ["GET /api/v1/pods", "DELETE /api/v1/namespaces/a/pods"] {
            check(line, BOTH, (2, 1, false));
            check(line, "fieldSelector=a&labelSelector=e", (0, 1, true));
            check(line, "", (0, 0, false));
        }
        check("GET /api/v1/pods", &format!("watch=1&limit=x&{BOTH}"), (2, 1, false));
        for line in ["GET /api/v1/nodes/n", "GET /api/v1/watch/pods", "POST /api/v1/namespaces/a/pods"] {
            check(line, BOTH, (0, 0, false));
        }
    }
}
