//! What a path asks for: verb, group, version, namespace, resource, subresource, name
//! (apiserver `endpoints/request/requestinfo.go` is the behaviour).

/// The parts of a request that authorization, audit and dispatch go by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestInfo {
    /// Whether the path names an API resource; otherwise only `verb` and `path` count.
    pub is_resource: bool,
    /// The decoded path.
    pub path: String,
    /// Kubernetes verb for resources (`get`, `list`, `watch`, `create`, …), else the lower-case method.
    pub verb: String,
    /// `api` or `apis`.
    pub api_prefix: String,
    /// API group, empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Namespace, empty for cluster-scoped requests.
    pub namespace: String,
    /// Plural resource.
    pub resource: String,
    /// Subresource, empty for the object itself.
    pub subresource: String,
    /// Object name, empty for collections.
    pub name: String,
    /// Path segments from the resource on (`pods/a/proxy/x/y`).
    pub parts: Vec<String>,
    /// Whether the path had the old `/watch/` segment.
    pub watch_segment: bool,
    /// Whether the path had `/namespaces/NAME/` in front of the resource.
    pub namespaced_path: bool,
}

/// Sub-resources of namespaces: `/namespaces/NAME/status` is the namespace's own status.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Reads a request's path. `query` finds the first value of a query parameter.
///
/// A path under `/api` or `/apis` that is too short to name a resource, and every other path, gives
/// `is_resource: false`. Never fails.
pub fn request_info<'q>(method: &str, path: &str, query: impl Fn(&str) -> Option<&'q str>) -> RequestInfo {
    let mut info =
        RequestInfo { path: path.to_owned(), verb: method.to_ascii_lowercase(), ..RequestInfo::default() };
    let all: Vec<&str> = match path.trim_matches('/') {
        "" => Vec::new(),
        trimmed => trimmed.split('/').collect(),
    };
    let (prefix, mut rest) = match all.split_first() {
        Some((&prefix @ ("api" | "apis"), rest)) => (prefix, rest),
        _ => return info,
    };
    if all.len() < 3 {
        return info;
    }
    info.api_prefix = prefix.to_owned();
    if prefix == "apis" {
        if all.len() < 4 {
            return info;
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
    rest = special_verb(&mut info, rest);
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
    collection_verb(&mut info, query);
    info
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

/// Takes the old `/proxy/` and `/watch/` verbs off the front.
fn special_verb<'p>(info: &mut RequestInfo, rest: &'p [&'p str]) -> &'p [&'p str] {
    match rest.split_first() {
        Some((&verb @ ("proxy" | "watch"), tail)) if !tail.is_empty() => {
            info.verb = verb.to_owned();
            info.watch_segment = verb == "watch";
            tail
        }
        _ => rest,
    }
}

/// Takes `namespaces/NAME` off the front where something other than a namespace's own subresource
/// follows, and sets the namespace.
fn namespace<'p>(info: &mut RequestInfo, rest: &'p [&'p str]) -> &'p [&'p str] {
    match rest {
        ["namespaces", name, tail @ ..] => {
            info.namespace = (*name).to_owned();
            let own = tail.first().is_none_or(|s| NAMESPACE_SUBRESOURCES.contains(s));
            if own {
                return rest;
            }
            info.namespaced_path = true;
            tail
        }
        _ => rest,
    }
}

/// A `get` or `delete` without a name is about the collection; a `metadata.name` field selector
/// gives a list or watch its name, for authorization.
fn collection_verb<'q>(info: &mut RequestInfo, query: impl Fn(&str) -> Option<&'q str>) {
    if info.name.is_empty() && info.verb == "get" {
        let watch = query("watch").is_some_and(query_bool);
        info.verb = if watch { "watch" } else { "list" }.to_owned();
    }
    if info.name.is_empty() && info.verb == "delete" {
        info.verb = "deletecollection".to_owned();
    }
    if info.name.is_empty()
        && matches!(info.verb.as_str(), "list" | "watch" | "deletecollection")
        && let Some(name) = query("fieldSelector").and_then(single_name)
    {
        info.name = name;
    }
}

/// The name that a selector such as `metadata.name=x` demands, if it is a valid path segment.
fn single_name(selector: &str) -> Option<String> {
    let selector = crate::fields::parse(selector).ok()?;
    let name = selector.requires_exact_match("metadata.name")?;
    let valid = !matches!(name, "" | "." | "..") && !name.contains(['/', '%']);
    valid.then(|| name.to_owned())
}

/// The value of a boolean query parameter: only `0` and `false`, in any case, are false.
pub fn query_bool(value: &str) -> bool {
    !(value == "0" || value.eq_ignore_ascii_case("false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: &str, target: &str, expected: &str) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let info = request_info(method, path, |key| {
            query.split('&').filter_map(|p| p.split_once('=')).find(|(k, _)| *k == key).map(|(_, v)| v)
        });
        let got = format!(
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
        assert_eq!(got, expected, "{method} {target}");
    }

    #[test]
    fn every_path_form_is_read_as_upstream_reads_it() {
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
        check("GET", "/api/v1/watch", "true list g= v=v1 ns= r=watch s= n=");
    }
}
