//! GET of one object.

use api::options::{GetOptions, Parameters};
use apimachinery::status::Status;
use registry::{StoredRef, codec, strategy};

use crate::api::Call;
use crate::dispatch::Response;

pub(crate) async fn get(call: &mut Call<'_>) -> Result<Response, Box<Status>> {
    if call.query.pairs().flag("export") == Some(true) {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(message).into());
    }
    let options = GetOptions::from_query(call.query.pairs());
    let storage = call.storage()?;
    let element = call.api.registry.get(&call.target(), &options.resource_version).await?;
    let endpoint = call.endpoint();
    match endpoint.subresource {
        "scale" => {
            let object =
                codec::decode(storage, StoredRef::element(&element)).map_err(crate::encode::failed)?;
            call.reply()?.tree(200, endpoint, &strategy::scale_of(&object))
        }
        _ => call.reply()?.element(200, endpoint, storage, &element),
    }
}
