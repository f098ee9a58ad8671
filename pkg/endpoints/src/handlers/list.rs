//! GET of a collection: a list, or with `?watch` a watch.

use api::options::ListOptions;
use api::resources::{Encoding, EndpointOperation};
use apimachinery::status::Status;
use futures::FutureExt as _;
use hyper::upgrade::OnUpgrade;
use registry::generic::ListPage;

use super::list_options::list_options;
use super::{componentstatus, watch};
use crate::response::{CacheName, Responder};
use crate::routing::dispatch::Response;
use crate::routing::route::Action;
use crate::scope::RequestScope;

/// Lists or watches. A watch may upgrade the `connection`.
pub(crate) async fn list_or_watch(
    call: &mut RequestScope<'_>,
    connection: Option<OnUpgrade>,
) -> Result<Response, Box<Status>> {
    let options = list_options(call)?;
    if options.watch || call.route.action == Action::Watch {
        return watch::watch(call, options, connection).await;
    }
    if call.endpoint().operation == EndpointOperation::ComponentStatus {
        return componentstatus::list(call).await;
    }
    call.storage()?;
    let page = call.api.registry.list(&call.target(), &options).await?;
    let reply = call.reply()?;
    let name = options.continue_token.is_empty().then(|| CacheName {
        lists: &call.api.compressed_lists,
        selection: cache_key(&call.info.namespace, &options, &page),
    });
    respond(call, reply, page, name).await
}

/// Warning for a list without its unreadable objects. Their keys are only logged, because the client may not
/// be allowed to read them: it is unknown if its selectors match them.
fn left_out_warning(count: usize) -> String {
    format!("{count} stored object(s) cannot be decoded and are missing from this list")
}

/// Encodes a page. If the page must be complete before it is sent, the CPU pool encodes it.
pub(super) async fn respond(
    call: &RequestScope<'_>,
    mut reply: Responder<'_>,
    mut page: ListPage,
    name: Option<CacheName<'_>>,
) -> Result<Response, Box<Status>> {
    if call.resource().stored_form().encoding == Encoding::Json && !reply.writes_deep_objects() {
        page.leave_out_deep();
    }
    if page.left_out > 0 {
        reply.warnings.push(left_out_warning(page.left_out));
    }
    if reply.needs_whole_list() {
        return reply
            .respond_in_pool(&call.api.cpu_pool, call.pool_start(), |reply| {
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
