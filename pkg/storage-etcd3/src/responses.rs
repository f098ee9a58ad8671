//! Parts of requests and responses that several modules share.

use etcd_client::proto::{PbRangeResponse, PbResponseHeader};
use storage::{Error, Lookup, Revision};

use crate::call_error::CallError;
use crate::cursor::key_value;

/// Converts the response of a read of one key.
pub(crate) fn one_key(result: Result<PbRangeResponse, CallError>) -> Result<Lookup, Error> {
    let response = result.map_err(CallError::into_error)?;
    let revision = revision_of(response.header).map_err(CallError::into_error)?;
    Ok(Lookup { revision, kv: response.kvs.into_iter().next().map(key_value).transpose()? })
}

/// The store's revision in a response header.
pub(crate) fn revision_of(header: Option<PbResponseHeader>) -> Result<Revision, CallError> {
    header
        .map(|header| header.revision)
        .ok_or_else(|| CallError::internal("etcd's answer has no header".to_owned()))
}
