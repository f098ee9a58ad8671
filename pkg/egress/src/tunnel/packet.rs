//! The messages of konnectivity's `ProxyService`. The service has no proto package.

use bytes::Bytes;
use prost::{Message, Oneof};

/// The bidirectional stream of packets.
pub(crate) const CONNECT_METHOD: &str = "/ProxyService/Proxy";

/// Packet types on the wire, redundant with the payload's variant.
const DIAL_REQUEST: i32 = 0;
const CLOSE_REQUEST: i32 = 2;
const DATA: i32 = 4;
const CLOSE_DIAL: i32 = 5;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Packet {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(oneof = "Payload", tags = "2, 3, 4, 5, 6, 7")]
    pub(crate) payload: Option<Payload>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Payload {
    #[prost(message, tag = "2")]
    DialRequest(DialRequest),
    /// The result of a dial request.
    #[prost(message, tag = "3")]
    DialResponse(DialResponse),
    #[prost(message, tag = "4")]
    Data(Data),
    #[prost(message, tag = "5")]
    CloseRequest(CloseRequest),
    #[prost(message, tag = "6")]
    CloseResponse(CloseResponse),
    /// Cancels a dial request, from either side.
    #[prost(message, tag = "7")]
    CloseDial(CloseDial),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DialRequest {
    #[prost(string, tag = "1")]
    pub(crate) protocol: String,
    /// Host and port.
    #[prost(string, tag = "2")]
    pub(crate) address: String,
    /// Identifies the dial response.
    #[prost(int64, tag = "3")]
    pub(crate) random: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct DialResponse {
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    /// The connection's id in later packets.
    #[prost(int64, tag = "2")]
    pub(crate) connect_id: i64,
    /// Copied from the dial request.
    #[prost(int64, tag = "3")]
    pub(crate) random: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Data {
    #[prost(int64, tag = "1")]
    pub(crate) connect_id: i64,
    #[prost(string, tag = "2")]
    pub(crate) error: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) data: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloseRequest {
    #[prost(int64, tag = "1")]
    pub(crate) connect_id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloseResponse {
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    #[prost(int64, tag = "2")]
    pub(crate) connect_id: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloseDial {
    #[prost(int64, tag = "1")]
    pub(crate) random: i64,
}

impl Packet {
    fn of(kind: i32, payload: Payload) -> Self {
        Packet { kind, payload: Some(payload) }
    }

    /// A request for a connection to `address`.
    pub(crate) fn dial(address: String, random: i64) -> Self {
        let protocol = "tcp".to_owned();
        Self::of(DIAL_REQUEST, Payload::DialRequest(DialRequest { protocol, address, random }))
    }

    /// Cancels a dial request.
    pub(crate) fn close_dial(random: i64) -> Self {
        Self::of(CLOSE_DIAL, Payload::CloseDial(CloseDial { random }))
    }

    pub(crate) fn data(connect_id: i64, data: Bytes) -> Self {
        Self::of(DATA, Payload::Data(Data { connect_id, error: String::new(), data }))
    }

    pub(crate) fn close(connect_id: i64) -> Self {
        Self::of(CLOSE_REQUEST, Payload::CloseRequest(CloseRequest { connect_id }))
    }
}
