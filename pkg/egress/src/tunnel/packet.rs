//! What is said to a proxy: konnectivity's `ProxyService`, which is in no package.

use bytes::Bytes;
use prost::{Message, Oneof};

/// A stream of packets in both directions.
pub(crate) const CONNECT_METHOD: &str = "/ProxyService/Proxy";

/// What a packet is about. The numbers of the wire; the payload says the same.
const DIAL_REQUEST: i32 = 0;
const CLOSE_REQUEST: i32 = 2;
const DATA: i32 = 4;
const CLOSE_DIAL: i32 = 5;

/// One packet.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Packet {
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(oneof = "Payload", tags = "2, 3, 4, 5, 6, 7")]
    pub(crate) payload: Option<Payload>,
}

/// What is in a packet.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Payload {
    /// Connect to somebody.
    #[prost(message, tag = "2")]
    DialRequest(DialRequest),
    /// Whether that went well.
    #[prost(message, tag = "3")]
    DialResponse(DialResponse),
    /// Bytes of a connection.
    #[prost(message, tag = "4")]
    Data(Data),
    /// End a connection.
    #[prost(message, tag = "5")]
    CloseRequest(CloseRequest),
    /// It has ended.
    #[prost(message, tag = "6")]
    CloseResponse(CloseResponse),
    /// Nobody waits for a connection any more, or nobody makes one.
    #[prost(message, tag = "7")]
    CloseDial(CloseDial),
}

/// Asks for a connection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DialRequest {
    #[prost(string, tag = "1")]
    pub(crate) protocol: String,
    /// Host and port.
    #[prost(string, tag = "2")]
    pub(crate) address: String,
    /// What the answer is known by.
    #[prost(int64, tag = "3")]
    pub(crate) random: i64,
}

/// A connection, or why there is none.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DialResponse {
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    /// What the connection is known by from now on.
    #[prost(int64, tag = "2")]
    pub(crate) connect_id: i64,
    /// That of the question.
    #[prost(int64, tag = "3")]
    pub(crate) random: i64,
}

/// Bytes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Data {
    #[prost(int64, tag = "1")]
    pub(crate) connect_id: i64,
    #[prost(string, tag = "2")]
    pub(crate) error: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) data: Bytes,
}

/// Asks for the end of a connection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloseRequest {
    #[prost(int64, tag = "1")]
    pub(crate) connect_id: i64,
}

/// The end of a connection.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloseResponse {
    #[prost(string, tag = "1")]
    pub(crate) error: String,
    #[prost(int64, tag = "2")]
    pub(crate) connect_id: i64,
}

/// The end of a question.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct CloseDial {
    #[prost(int64, tag = "1")]
    pub(crate) random: i64,
}

impl Packet {
    fn of(kind: i32, payload: Payload) -> Self {
        Packet { kind, payload: Some(payload) }
    }

    /// Asks for a connection to `address`.
    pub(crate) fn dial(address: String, random: i64) -> Self {
        let protocol = "tcp".to_owned();
        Self::of(DIAL_REQUEST, Payload::DialRequest(DialRequest { protocol, address, random }))
    }

    /// Says that nobody waits any more.
    pub(crate) fn give_up(random: i64) -> Self {
        Self::of(CLOSE_DIAL, Payload::CloseDial(CloseDial { random }))
    }

    /// Bytes of a connection.
    pub(crate) fn data(connect_id: i64, data: Bytes) -> Self {
        Self::of(DATA, Payload::Data(Data { connect_id, error: String::new(), data }))
    }

    /// Ends a connection.
    pub(crate) fn close(connect_id: i64) -> Self {
        Self::of(CLOSE_REQUEST, Payload::CloseRequest(CloseRequest { connect_id }))
    }
}
