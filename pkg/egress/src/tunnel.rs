//! A connection through konnectivity: packets in both directions of one gRPC stream, which lives as long as
//! the connection (`konnectivity-client`'s single-use tunnels).
//!
//! A task converts between packets and bytes. The queues between the task and each end are bounded, so a slow
//! reader exerts backpressure on the other end and memory does not grow.

mod packet;
#[cfg(test)]
mod tests;

use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use client::Io;
use futures::stream::poll_fn;
use http::uri::PathAndQuery;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::transport::Channel;
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

use packet::CONNECT_METHOD;

use crate::Error;
#[cfg(test)]
pub(crate) use packet::{CloseResponse, Data, DialResponse};
pub(crate) use packet::{Packet, Payload};

/// Timeout for the proxy's dial response (as in konnectivity's client).
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for the proxy's confirmation of a close (as in konnectivity's client).
const CLOSE_MAX: Duration = Duration::from_secs(10);
/// Maximum time for which received data may stay unread (as in konnectivity's client). A proxy has one stream
/// per agent, so an unread connection blocks all other connections of that agent.
const STALL_MAX: Duration = Duration::from_secs(10);
/// Maximum size of a packet from the proxy in bytes. Its agents read 4 KiB at a time.
const PACKET_BYTES_MAX: usize = 1 << 20;
/// Maximum number of packets that wait to be sent.
const PACKETS_MAX: usize = 4;
/// Maximum number of data bytes in a packet that this server sends.
const CHUNK_BYTES: usize = 16 << 10;
/// Size in bytes of each buffer: unread received data, and data not yet in packets.
const BUFFER_BYTES: usize = 64 << 10;

/// Opens a connection to `target` through the proxy on `channel`, which must not be shared. `random`
/// identifies the dial request among those of all clients of the proxy; it must not be guessable.
///
/// # Errors
/// The wording of konnectivity's client.
pub(crate) async fn dial(channel: Channel, target: &str, random: i64) -> Result<Box<dyn Io>, Error> {
    let (sender, receiver) = oneshot::channel();
    tokio::spawn(run(channel, target.to_owned(), random, sender));
    receiver.await.unwrap_or_else(|_| Err(Error::dial("tunnel closed".to_owned())))
}

type OpenResult = Result<Box<dyn Io>, Error>;

/// Opens a tunnel, reports the result, and carries bytes. It is a separate task so that the proxy is notified
/// when the caller gives up.
async fn run(channel: Channel, target: String, random: i64, mut sender: oneshot::Sender<OpenResult>) {
    let (packets, queue) = mpsc::channel(PACKETS_MAX);
    // The empty queue has space for the first packet.
    let _ = packets.try_send(Packet::dial(target, random));
    let mut opening = pin!(open(channel.clone(), queue, random));
    let opened = tokio::select! {
        opened = timeout(RESPONSE_TIMEOUT, &mut opening) => opened.ok(),
        () = sender.closed() => None,
    };
    let (inbound, id) = match opened {
        Some(Ok(opened)) => opened,
        Some(Err(error)) => return drop(sender.send(Err(error))),
        None => {
            let _ = sender.send(Err(Error::dial("dial timeout, backstop".to_owned())));
            let _ = packets.try_send(Packet::close_dial(random));
            let _ = timeout(CLOSE_MAX, opening).await;
            return;
        }
    };
    let (near, far) = duplex(BUFFER_BYTES);
    // If the caller has given up, `near` is dropped here, which ends the connection.
    drop(sender.send(Ok(Box::new(near))));
    relay(inbound, packets, far, id).await;
    // Dropping the last handle closes the connection to the proxy.
    drop(channel);
}

/// Waits for the response to the first packet in `queue`.
async fn open(
    channel: Channel,
    mut queue: mpsc::Receiver<Packet>,
    random: i64,
) -> Result<(Streaming<Packet>, i64), Error> {
    let mut client = Grpc::new(channel).max_decoding_message_size(PACKET_BYTES_MAX);
    client.ready().await.map_err(|error| error.to_string()).map_err(Error::dial)?;
    let outbound = Request::new(poll_fn(move |context| queue.poll_recv(context)));
    let path = PathAndQuery::from_static(CONNECT_METHOD);
    let codec = ProstCodec::<Packet, Packet>::default();
    let response = client.streaming(outbound, path, codec).await;
    let mut inbound = response.map_err(|status| grpc::worded(&status)).map_err(Error::dial)?.into_inner();
    loop {
        let packet = inbound.message().await.map_err(|status| grpc::worded(&status)).map_err(Error::dial)?;
        match packet.map(|packet| packet.payload) {
            Some(Some(Payload::DialResponse(dial_response))) if dial_response.random == random => {
                return if dial_response.error.is_empty() {
                    Ok((inbound, dial_response.connect_id))
                } else {
                    Err(Error::dial(dial_response.error))
                };
            }
            Some(Some(Payload::CloseDial(_))) => return Err(Error::dial("dial closed".to_owned())),
            // The response is for another connection, or the stream has ended.
            Some(Some(Payload::DialResponse(_))) | None => {
                return Err(Error::dial("tunnel closed".to_owned()));
            }
            Some(_) => {}
        }
    }
}

/// Carries bytes until the proxy confirms the end of the connection, or until the timeout after the close
/// request.
async fn relay(inbound: Streaming<Packet>, packets: mpsc::Sender<Packet>, far: DuplexStream, id: i64) {
    let (read, write) = split(far);
    let mut incoming = pin!(receive(inbound, write, id));
    tokio::select! {
        () = &mut incoming => {}
        () = send(read, &packets, id) => {
            if timeout(CLOSE_MAX, incoming).await.is_err() {
                tracing::debug!(connection = id, "proxy did not confirm the end of a connection");
            }
        }
    }
}

/// Sends written bytes, then the close request. There are no half-closed connections.
async fn send(mut from: ReadHalf<DuplexStream>, packets: &mpsc::Sender<Packet>, id: i64) {
    let mut chunk = BytesMut::new();
    loop {
        chunk.reserve(CHUNK_BYTES);
        match (&mut from).take(CHUNK_BYTES as u64).read_buf(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        if packets.send(Packet::data(id, chunk.split().freeze())).await.is_err() {
            return;
        }
    }
    let _ = packets.send(Packet::close(id)).await;
}

/// Forwards received data until the connection ends or breaks.
async fn receive(mut from: Streaming<Packet>, mut to: WriteHalf<DuplexStream>, id: i64) {
    loop {
        let packet = match from.message().await {
            Ok(Some(packet)) => packet,
            Ok(None) => return,
            Err(status) => {
                let status = grpc::worded(&status);
                return tracing::debug!(connection = id, status, "a tunnel through a proxy broke");
            }
        };
        match packet.payload {
            Some(Payload::Data(data)) if data.connect_id == id => {
                // A write error means that the reader is gone; the connection then ends anyway.
                let result = timeout(STALL_MAX, to.write_all(&data.data)).await;
                if result.is_err() {
                    tracing::warn!(connection = id, "proxied connection closed: received data was not read");
                    return;
                }
            }
            Some(Payload::CloseResponse(closed)) if closed.connect_id == id => return,
            _ => {}
        }
    }
}
