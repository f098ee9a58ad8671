//! The messages of `k8s.io/externaljwt/apis/v1` (package `v1`).

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct SignRequest {
    /// The claims, in URL-safe base64.
    #[prost(string, tag = "1")]
    pub(crate) claims: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct SignResponse {
    /// The JOSE header of the token, in URL-safe base64.
    #[prost(string, tag = "1")]
    pub(crate) header: String,
    /// The signature in base64url.
    #[prost(string, tag = "2")]
    pub(crate) signature: String,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct FetchKeysRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct FetchKeysResponse {
    /// All keys that may sign tokens.
    #[prost(message, repeated, tag = "1")]
    pub(crate) keys: Vec<Key>,
    /// Time at which the signer read its keys. Required: an answer without it is rejected.
    #[prost(message, optional, tag = "2")]
    pub(crate) data_timestamp: Option<Timestamp>,
    /// Seconds until the next `FetchKeys` call.
    #[prost(int64, tag = "3")]
    pub(crate) refresh_hint_seconds: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Key {
    /// The `kid` in token headers.
    #[prost(string, tag = "1")]
    pub(crate) key_id: String,
    /// The key (PKIX, DER).
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) key: Vec<u8>,
    /// True if the key is not published in the OIDC discovery documents.
    #[prost(bool, tag = "3")]
    pub(crate) exclude_from_oidc_discovery: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct MetadataRequest {}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct MetadataResponse {
    /// The longest time that a token may live, in seconds.
    #[prost(int64, tag = "1")]
    pub(crate) max_token_expiration_seconds: i64,
}

/// A time (`google.protobuf.Timestamp`).
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Timestamp {
    /// Seconds since 1970.
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    /// Nanoseconds of the second.
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}
