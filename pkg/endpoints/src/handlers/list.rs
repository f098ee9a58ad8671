//! GET of a collection: a list, or with `?watch` a watch.

use api::options::ListOptions;
use api::resources::EndpointOperation;
use apimachinery::fields;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use futures::FutureExt as _;
use registry::generic::ListPage;

use super::{componentstatus, watch};
use crate::response::{CacheName, Reply};
use crate::routing::dispatch::Response;
use crate::routing::route::Action;
use crate::scope::Call;

pub(crate) async fn list_or_watch(call: &mut Call<'_>) -> Result<Response, Box<Status>> {
    let options = list_options(call)?;
    if options.watch || call.route.action == Action::Watch {
        return watch::watch(call, options).await;
    }
    if call.endpoint().act == EndpointOperation::ComponentStatus {
        return componentstatus::list(call).await;
    }
    call.storage()?;
    let reply = call.reply()?;
    let page = call.api.registry.list(&call.target(), &options).await?;
    let name = options.continue_token.is_empty().then(|| CacheName {
        lists: &call.api.compressed_lists,
        selection: selection(&call.info.namespace, &options, &page),
    });
    answer(call, &reply, page, name).await
}

/// Encodes a page. If the page must be complete before it is sent, the CPU pool encodes it.
pub(super) async fn answer(
    call: &Call<'_>,
    reply: &Reply<'_>,
    page: ListPage,
    name: Option<CacheName<'_>>,
) -> Result<Response, Box<Status>> {
    if reply.whole() {
        return reply
            .respond_in_pool(&call.api.heavy, call.user, |reply| {
                async move { reply.list(page, None).await }.boxed()
            })
            .await;
    }
    reply.list(page, name).await
}

/// Cache key of a list within its resource.
fn selection(namespace: &str, options: &ListOptions, page: &ListPage) -> String {
    let ListOptions { label_selector, field_selector, .. } = options;
    format!("{namespace}?{label_selector}&{field_selector}&{}", page.shard_selector)
}

/// Returns the options of a collection request: decoded, defaulted, validated, with converted field labels.
///
/// # Errors
/// 400 and 422.
pub(crate) fn list_options(call: &Call<'_>) -> Result<ListOptions, Box<Status>> {
    let mut options = ListOptions::from_query(call.query).map_err(|e| Status::bad_request(e.to_string()))?;
    options.set_watch_list_defaults();
    let errors = kinds::validation::validate_list_options(&options);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "ListOptions"), "", &errors).into());
    }
    let row = call.resource();
    options.field_selector = options
        .field_selector
        .transform(|label, value| {
            api::fields::convert_label(row, label)
                .map(|label| (label.to_owned(), value.to_owned()))
                .map_err(|error| error.to_string())
        })
        .map_err(Status::bad_request)?;
    let name = call.name();
    if !name.is_empty() {
        if options.field_selector.is_empty() {
            options.field_selector = fields::Selector::equals("metadata.name", name);
        } else if options.field_selector.requires_exact_match("metadata.name") != Some(name) {
            return Err(
                Status::bad_request("fieldSelector metadata.name doesn't match requested name").into()
            );
        }
    }
    Ok(options)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
