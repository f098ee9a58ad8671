//! A connection through konnectivity: packets in both directions of one gRPC stream, which lasts as long as the
//! connection (`konnectivity-client`'s tunnels for a single use).
//!
//! A task turns packets into bytes and bytes into packets. There are bounded numbers of both between it and each end,
//! and it takes no more while they are used up, so that whoever is slow slows the other end, and nothing here grows.

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

/// How long a proxy may take to say that it has connected, or has not (konnectivity's client).
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// How long it may take to say that a connection has ended (likewise).
const CLOSE_MAX: Duration = Duration::from_secs(10);
/// How long whoever reads from a connection may leave what came (likewise). A proxy has one stream from each of its
/// agents, on which the connections of others wait meanwhile.
const STALL_MAX: Duration = Duration::from_secs(10);
/// How long a packet of a proxy may be, in bytes. Its agents read 4 KiB at a time.
const PACKET_BYTES_MAX: usize = 1 << 20;
/// How many packets may wait to be sent.
const PACKETS_MAX: usize = 4;
/// How many bytes a packet of ours has, at most.
const CHUNK_BYTES: usize = 16 << 10;
/// How many bytes may wait to be read from a connection, and to be put into packets.
const BUFFER_BYTES: usize = 64 << 10;

/// Asks the proxy at the other end of a channel, which is nobody else's, for a connection to `target`. `random` is what
/// the proxy knows the question by among those of all its clients, and nobody else should.
///
/// # Errors
/// In the words of konnectivity's client.
pub(crate) async fn dial(channel: Channel, target: &str, random: i64) -> Result<Box<dyn Io>, Error> {
    let (tell, told) = oneshot::channel();
    tokio::spawn(run(channel, target.to_owned(), random, tell));
    told.await.unwrap_or_else(|_| Err(Error::Dial("tunnel closed".to_owned())))
}

type OpenResult = Result<Box<dyn Io>, Error>;

/// Opens a tunnel, tells how that went, and carries bytes. A task of its own, so that a proxy hears of it when nobody
/// waits any more.
async fn run(channel: Channel, target: String, random: i64, mut tell: oneshot::Sender<OpenResult>) {
    let (packets, queue) = mpsc::channel(PACKETS_MAX);
    // There is room for the first one.
    let _ = packets.try_send(Packet::dial(target, random));
    let mut opening = pin!(open(channel.clone(), queue, random));
    let opened = tokio::select! {
        opened = timeout(ANSWER_MAX, &mut opening) => opened.ok(),
        () = tell.closed() => None,
    };
    let (inbound, id) = match opened {
        Some(Ok(opened)) => opened,
        Some(Err(why)) => return drop(tell.send(Err(why))),
        None => {
            let _ = tell.send(Err(Error::Dial("dial timeout, backstop".to_owned())));
            let _ = packets.try_send(Packet::give_up(random));
            let _ = timeout(CLOSE_MAX, opening).await;
            return;
        }
    };
    let (near, far) = duplex(BUFFER_BYTES);
    // Where nobody waits any more, `near` ends here, and so does the connection.
    drop(tell.send(Ok(Box::new(near))));
    carry(inbound, packets, far, id).await;
    // The connection to the proxy lasts as long as its handle.
    drop(channel);
}

/// Waits for the answer to the first packet in `queue`.
async fn open(
    channel: Channel,
    mut queue: mpsc::Receiver<Packet>,
    random: i64,
) -> Result<(Streaming<Packet>, i64), Error> {
    let mut client = Grpc::new(channel).max_decoding_message_size(PACKET_BYTES_MAX);
    client.ready().await.map_err(|error| error.to_string())?;
    let outbound = Request::new(poll_fn(move |context| queue.poll_recv(context)));
    let (path, codec) = (PathAndQuery::from_static(CONNECT_METHOD), ProstCodec::<Packet, Packet>::default());
    let answer = client.streaming(outbound, path, codec).await;
    let mut inbound = answer.map_err(|status| grpc::worded(&status))?.into_inner();
    loop {
        let packet = inbound.message().await.map_err(|status| grpc::worded(&status))?;
        match packet.map(|packet| packet.payload) {
            Some(Some(Payload::DialResponse(answer))) if answer.random == random => {
                return if answer.error.is_empty() {
                    Ok((inbound, answer.connect_id))
                } else {
                    Err(Error::Dial(answer.error))
                };
            }
            Some(Some(Payload::CloseDial(_))) => return Err(Error::Dial("dial closed".to_owned())),
            // Somebody else's connection, or the end.
            Some(Some(Payload::DialResponse(_))) | None => {
                return Err(Error::Dial("tunnel closed".to_owned()));
            }
            Some(_) => {}
        }
    }
}

/// Carries bytes until the proxy says that the connection has ended, or is silent for too long after it was told that.
async fn carry(inbound: Streaming<Packet>, packets: mpsc::Sender<Packet>, far: DuplexStream, id: i64) {
    let (read, write) = split(far);
    let mut incoming = pin!(receive(inbound, write, id));
    tokio::select! {
        () = &mut incoming => {}
        () = send(read, &packets, id) => {
            if timeout(CLOSE_MAX, incoming).await.is_err() {
                tracing::debug!(connection = id, "a proxy does not say that a connection has ended");
            }
        }
    }
}

/// Sends what is written to a connection, and at last that it has ended. There are no half-closed connections.
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

/// Hands on what comes, until the connection ends or breaks.
async fn receive(mut from: Streaming<Packet>, mut to: WriteHalf<DuplexStream>, id: i64) {
    loop {
        let packet = match from.message().await {
            Ok(Some(packet)) => packet,
            Ok(None) => return,
            Err(status) => {
                return tracing::debug!(connection = id, %status, "a tunnel through a proxy broke");
            }
        };
        match packet.payload {
            Some(Payload::Data(data)) if data.connect_id == id => {
                // Nobody reads any more where writing fails: then the end is on its way.
                let taken = timeout(STALL_MAX, to.write_all(&data.data)).await;
                if taken.is_err() {
                    tracing::warn!(connection = id, "nobody has read from a connection through a proxy");
                    return;
                }
            }
            Some(Payload::CloseResponse(closed)) if closed.connect_id == id => return,
            _ => {}
        }
    }
}
