//! Objects in aggregated API servers, which a namespace deletion must delete too.

use std::sync::Arc;

use api::catalog::{Catalog, Owner};
use api::tree;
use apimachinery::foreign_text::ForeignText;
use async_trait::async_trait;
use jsontree::json;
use schema::object::Object;

use super::conditions::ContentReport;
use crate::desired_state;
use crate::loopback_client::{LoopbackClient, RequestError};

/// Content of namespaces outside of this server.
#[async_trait]
pub trait RemoteContent: Send + Sync {
    /// Deletes the objects in a namespace and reports what remains.
    async fn delete_all(&self, namespace: &str) -> ContentReport;
}

/// Returns the current catalog.
pub type CurrentCatalog = Arc<dyn Fn() -> Arc<Catalog> + Send + Sync>;

/// The aggregated API servers of this server. They are called through its own proxy.
pub struct Aggregated {
    catalog: CurrentCatalog,
    client: LoopbackClient,
}

/// Namespaced resource of an aggregated API server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RemoteResource {
    group: String,
    version: String,
    plural: String,
    deletes_collections: bool,
}

#[async_trait]
impl RemoteContent for Aggregated {
    async fn delete_all(&self, namespace: &str) -> ContentReport {
        let catalog = (self.catalog)();
        let mut report = ContentReport::default();
        if !catalog.has_proxied() {
            return report;
        }
        let Discovery { resources, failing } = discover(&catalog);
        report.discovery_error = discovery_error(&failing);
        for resource in resources {
            if let Err(error) = self.empty(&resource, namespace, &mut report).await {
                report.add_error(&error.to_string());
            }
        }
        report
    }
}

impl Aggregated {
    /// Creates the access with a client of this server.
    pub fn new(catalog: CurrentCatalog, client: LoopbackClient) -> Self {
        Aggregated { catalog, client }
    }

    async fn empty(
        &self,
        resource: &RemoteResource,
        namespace: &str,
        report: &mut ContentReport,
    ) -> Result<(), RequestError> {
        let RemoteResource { group, version, plural, .. } = resource;
        let path = format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}");
        let options = desired_state::object(json!({
            "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        }));
        if resource.deletes_collections {
            ignore_unsupported(self.client.delete(&path, &options).await)?;
        } else {
            for item in tree::children(&self.list(&path).await?, "items") {
                let name = api::meta::text(item, "name");
                if !is_plain_segment(name) {
                    let name = ForeignText::new(name).quoted();
                    report.add_error(&format!("{plural}.{group} {name} cannot be deleted by its name"));
                    continue;
                }
                ignore_unsupported(self.client.delete(&format!("{path}/{name}"), &options).await)?;
            }
        }
        let list = self.list(&path).await?;
        let count = tree::list(&list, "items").len();
        if count == 0 {
            return Ok(());
        }
        report.remaining.insert(format!("{plural}.{group}"), count);
        let mut is_waiting = false;
        for finalizer in tree::children(&list, "items").flat_map(api::meta::finalizers) {
            is_waiting = true;
            report.add_finalizer(finalizer);
        }
        if !is_waiting {
            report.add_error(&format!(
                "unexpected items still remain in namespace: {namespace} for gvr: {group}/{version}, Resource={plural}"
            ));
        }
        Ok(())
    }

    /// Returns the list at a path; an empty one if there is none.
    async fn list(&self, path: &str) -> Result<Object, RequestError> {
        match self.client.get(path).await {
            Err(error) if error.code == 405 => Ok(Object::new()),
            result => Ok(result?.unwrap_or_default()),
        }
    }
}

fn ignore_unsupported(result: Result<Object, RequestError>) -> Result<(), RequestError> {
    match result {
        Err(error) if matches!(error.code, 404 | 405) => Ok(()),
        result => result.map(drop),
    }
}

/// True if a text of an aggregated API server can be a path segment as it is. Another one could lead to objects of this
/// server.
fn is_plain_segment(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
    !matches!(text, "" | "." | "..") && text.bytes().all(is_plain)
}

/// Resources of aggregated API servers.
#[derive(Default)]
struct Discovery {
    resources: Vec<RemoteResource>,
    /// Versions whose resources are unknown.
    failing: Vec<String>,
}

/// Returns the namespaced resources in their preferred versions that can be deleted.
fn discover(catalog: &Catalog) -> Discovery {
    let mut discovered = Discovery::default();
    for group in catalog.groups() {
        for version in &group.versions {
            let Owner::Proxied(proxied) = &version.owner else { continue };
            let Some(discovery) = proxied.discovery.as_ref().filter(|_| !proxied.stale) else {
                discovered.failing.push(group.group_version(version));
                continue;
            };
            for resource in tree::children(discovery, "resources") {
                let verbs: Vec<&str> = tree::texts(resource, "verbs").collect();
                let plural = tree::text(resource, "resource");
                let is_known = discovered
                    .resources
                    .iter()
                    .any(|known| known.group == group.name && known.plural == plural);
                let is_namespaced = tree::text(resource, "scope") == "Namespaced";
                if is_known || !is_namespaced || !verbs.contains(&"delete") || !is_plain_segment(plural) {
                    continue;
                }
                discovered.resources.push(RemoteResource {
                    group: group.name.clone(),
                    version: version.name.clone(),
                    plural: plural.to_owned(),
                    deletes_collections: verbs.contains(&"deletecollection"),
                });
            }
        }
    }
    discovered
}

/// Returns upstream's message for versions whose resources are unknown.
fn discovery_error(failing: &[String]) -> Option<String> {
    if failing.is_empty() {
        return None;
    }
    let each = failing.iter().map(|version| format!("{version}: stale GroupVersion discovery: {version}"));
    let each = each.collect::<Vec<_>>().join(", ");
    Some(format!(
        "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {each}",
        failing.len()
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use api::catalog::{ProxiedApiService, ProxiedVersion};
    use jsontree::Value;

    use super::*;

    fn version(name: &str, discovery: Option<Value>) -> ProxiedVersion {
        let discovery = discovery.map(|entry| Arc::new(desired_state::object(entry)));
        let proxied = Arc::new(ProxiedApiService { discovery, ..ProxiedApiService::default() });
        ProxiedVersion { name: name.to_owned(), group_priority: 1, priority: 1, proxied }
    }

    #[test]
    fn preferred_namespaced_resources_are_found() {
        let resource =
            |name: &str, scope: &str, verbs: Value| json!({"resource": name, "scope": scope, "verbs": verbs});
        let entry = json!({"resources": [
            resource("flunders", "Namespaced", json!(["delete", "deletecollection", "list"])),
            resource("single", "Namespaced", json!(["delete"])),
            resource("reviews", "Namespaced", json!(["create"])),
            resource("fischers", "Cluster", json!(["delete"])),
            resource("../../../../api/v1/nodes", "Namespaced", json!(["delete", "deletecollection"])),
        ]});
        let versions = vec![version("v1", Some(entry.clone())), version("v1beta1", Some(entry))];
        let catalog = Catalog::default().with_proxied("example.com", versions);
        let found = discover(&catalog);
        let brief: Vec<_> =
            found.resources.iter().map(|r| (&*r.version, &*r.plural, r.deletes_collections)).collect();
        assert_eq!(brief, [("v1", "flunders", true), ("v1", "single", false)]);
        assert!(found.failing.is_empty());
    }

    #[test]
    fn names_stay_in_their_segment() {
        let check = |name: &str, is_plain: bool| assert_eq!(is_plain_segment(name), is_plain, "{name}");
        check("system:a-b.c", true);
        for name in ["", ".", "..", "a/b", "../a", "a?b", "a%2fb", "a#b", "é"] {
            check(name, false);
        }
    }

    #[test]
    fn unknown_resources_are_reported() {
        let catalog = Catalog::default().with_proxied("example.com", vec![version("v1", None)]);
        let found = discover(&catalog);
        assert!(found.resources.is_empty());
        let expected = "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of \
                        server APIs: example.com/v1: stale GroupVersion discovery: example.com/v1";
        assert_eq!(discovery_error(&found.failing).unwrap(), expected);
        assert_eq!(discovery_error(&[]), None);
    }
}
