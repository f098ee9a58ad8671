//! GET of one object.

use std::sync::Arc;

use api::options::GetOptions;
use api::resources::EndpointOperation;
use apimachinery::status::Status;
use futures::FutureExt as _;
use hyper::upgrade::OnUpgrade;
use kinds::strategy;
use registry::{StoredRef, codec};

use super::{componentstatus, connect};
use crate::cpu_pool::POOL_READ_BYTES_MIN;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;

/// Gets an object. A log may upgrade the `connection`.
pub(crate) async fn get(
    call: &mut RequestScope<'_>,
    connection: Option<OnUpgrade>,
) -> Result<Response, Box<Status>> {
    match call.endpoint().operation {
        EndpointOperation::Log => return connect::log(call, connection).await,
        EndpointOperation::ComponentStatus => return componentstatus::get(call).await,
        _ => {}
    }
    if call.query.flag("export") == Some(true) {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(message).into());
    }
    let options = GetOptions::from_query(call.query);
    let storage = call.storage()?;
    call.trace.span.event("About to Get from storage");
    let element = call.api.registry.get(&call.target(), &options.resource_version).await?;
    let endpoint = call.endpoint();
    match endpoint.operation {
        EndpointOperation::Scale => {
            let object = codec::decode(storage, StoredRef::element(&element))
                .map_err(crate::response::encode::encoding_error)?;
            if let Some(path) = strategy::missing_replicas(call.resource(), &object) {
                let text = format!("the spec replicas field {path:?} does not exist");
                return Err(Status::internal_error(text).into());
            }
            call.reply()?.tree(
                200,
                &strategy::scale_of(call.resource(), &object)
                    .map_err(|error| Status::unmapped(error.to_string()))?,
            )
        }
        _ if element.size() > POOL_READ_BYTES_MIN => {
            let main = Arc::clone(&call.route.resource);
            call.reply()?
                .respond_in_pool(&call.api.cpu_pool, call.pool_start(), move |reply| {
                    async move {
                        let storage = main.row.row().storage.as_ref().ok_or_else(Status::unknown_path)?;
                        reply.element(200, storage, &element)
                    }
                    .boxed()
                })
                .await
        }
        _ => call.reply()?.element(200, storage, &element),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
