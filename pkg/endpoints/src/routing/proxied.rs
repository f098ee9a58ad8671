//! Paths that aggregated API servers serve.

use std::sync::Arc;

use api::catalog::{Catalog, Owner, ProxiedApiService};

/// Returns the proxied group version that contains the decoded path. As in upstream, the server of core `v1`
/// serves all of `/api`.
pub(crate) fn find_proxied<'c>(catalog: &'c Catalog, path: &str) -> Option<&'c Arc<ProxiedApiService>> {
    if !catalog.has_proxied() {
        return None;
    }
    let mut segments = path.strip_prefix('/')?.split('/');
    let (group, version) = match segments.next()? {
        "api" => ("", "v1"),
        "apis" => (segments.next().filter(|group| !group.is_empty())?, segments.next()?),
        _ => return None,
    };
    match &catalog.group(group)?.version(version)?.owner {
        Owner::Proxied(proxied) => Some(proxied),
        Owner::Builtin | Owner::Custom => None,
    }
}
