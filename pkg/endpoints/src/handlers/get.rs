//! GET of one object.

use api::options::GetOptions;
use apimachinery::status::Status;
use registry::{codec, strategy};

use crate::api::Call;
use crate::dispatch::Response;

pub(crate) async fn get(call: &mut Call<'_>) -> Result<Response, Box<Status>> {
    let options = GetOptions::from_query(call.query.pairs());
    let storage = call.storage()?;
    let stored = call.api.registry.get(&call.target(), &options.resource_version).await?;
    let endpoint = call.endpoint();
    match endpoint.subresource {
        "scale" => {
            let object = codec::decode(storage, &stored).map_err(crate::encode::failed)?;
            call.reply()?.tree(200, endpoint.message, &strategy::scale_of(&object))
        }
        _ => call.reply()?.stored(200, endpoint, storage, &stored),
    }
}
