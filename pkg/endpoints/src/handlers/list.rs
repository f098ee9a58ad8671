//! GET of a collection: a list, or with `?watch` a watch.

use api::options::ListOptions;
use api::resources::EndpointOperation;
use apimachinery::status::Status;
use futures::FutureExt as _;
use registry::generic::ListPage;

use super::list_options::list_options;
use super::{componentstatus, watch};
use crate::response::{CacheName, Responder};
use crate::routing::dispatch::Response;
use crate::routing::route::Action;
use crate::scope::RequestScope;

pub(crate) async fn list_or_watch(call: &mut RequestScope<'_>) -> Result<Response, Box<Status>> {
    let options = list_options(call)?;
    if options.watch || call.route.action == Action::Watch {
        return watch::watch(call, options).await;
    }
    if call.endpoint().operation == EndpointOperation::ComponentStatus {
        return componentstatus::list(call).await;
    }
    call.storage()?;
    let reply = call.reply()?;
    let page = call.api.registry.list(&call.target(), &options).await?;
    let name = options.continue_token.is_empty().then(|| CacheName {
        lists: &call.api.compressed_lists,
        selection: cache_key(&call.info.namespace, &options, &page),
    });
    respond(call, &reply, page, name).await
}

/// Encodes a page. If the page must be complete before it is sent, the CPU pool encodes it.
pub(super) async fn respond(
    call: &RequestScope<'_>,
    reply: &Responder<'_>,
    page: ListPage,
    name: Option<CacheName<'_>>,
) -> Result<Response, Box<Status>> {
    if reply.needs_whole_list() {
        return reply
            .respond_in_pool(&call.api.cpu_pool, call.user, |reply| {
                async move { reply.list(page, None).await }.boxed()
            })
            .await;
    }
    reply.list(page, name).await
}

/// Cache key of a list within its resource.
fn cache_key(namespace: &str, options: &ListOptions, page: &ListPage) -> String {
    let ListOptions { label_selector, field_selector, .. } = options;
    format!("{namespace}?{label_selector}&{field_selector}&{}", page.shard_selector)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
