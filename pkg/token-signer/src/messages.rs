//! The messages of `k8s.io/externaljwt/apis/v1` (package `v1`).

/// What is to be signed.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct SignRequest {
    /// The claims, in URL-safe base64.
    #[prost(string, tag = "1")]
    pub(crate) claims: String,
}

/// A signature.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct SignResponse {
    /// The head of the token, in URL-safe base64.
    #[prost(string, tag = "1")]
    pub(crate) header: String,
    /// The signature, in URL-safe base64.
    #[prost(string, tag = "2")]
    pub(crate) signature: String,
}

/// Asks for the keys.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct FetchKeysRequest {}

/// The keys.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct FetchKeysResponse {
    /// All that tokens may be signed with.
    #[prost(message, repeated, tag = "1")]
    pub(crate) keys: Vec<Key>,
    /// When the signer knew them. A signer that does not say is refused.
    #[prost(message, optional, tag = "2")]
    pub(crate) data_timestamp: Option<Timestamp>,
    /// When to ask again, in seconds.
    #[prost(int64, tag = "3")]
    pub(crate) refresh_hint_seconds: i64,
}

/// A public key.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Key {
    /// What tokens name it by.
    #[prost(string, tag = "1")]
    pub(crate) key_id: String,
    /// The key (PKIX, DER).
    #[prost(bytes = "vec", tag = "2")]
    pub(crate) key: Vec<u8>,
    /// Whether others are not told of it.
    #[prost(bool, tag = "3")]
    pub(crate) exclude_from_oidc_discovery: bool,
}

/// Asks what the signer is like.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct MetadataRequest {}

/// What the signer is like.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct MetadataResponse {
    /// The longest time that a token may live, in seconds.
    #[prost(int64, tag = "1")]
    pub(crate) max_token_expiration_seconds: i64,
}

/// A time (`google.protobuf.Timestamp`).
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Timestamp {
    /// Since 1970.
    #[prost(int64, tag = "1")]
    pub(crate) seconds: i64,
    /// Of the second.
    #[prost(int32, tag = "2")]
    pub(crate) nanos: i32,
}
