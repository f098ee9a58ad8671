//! Moves bytes between a client and a kubelet through a translator, with backpressure in both directions.

use std::future::Future;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use crate::websocket::send;

/// Time between calls of [`Translator::on_tick`] (upstream's period of pings).
pub(super) const TICK: Duration = Duration::from_secs(5);
/// Maximum of bytes that are read before they are translated.
const READ_BYTES: usize = 32 * 1024;
/// Maximum of unsent bytes for a connection while input of the same connection is translated: pongs and
/// refused streams.
const PENDING_BYTES_MAX: usize = 128 * 1024;
/// Timeout for the last bytes and the end of both connections.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes to send. Output is at most 12 times as long as the input, so that it is bounded with it.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    pub(super) client: BytesMut,
    pub(super) kubelet: BytesMut,
}

/// Translation between two protocols. Pure.
pub(super) trait Translator {
    /// Consumes bytes of the client. The rest is passed again, with more bytes.
    fn translate_client(&mut self, bytes: &mut BytesMut, out: &mut Outputs);

    /// Consumes bytes of the kubelet. The rest is passed again, with more bytes.
    fn translate_kubelet(&mut self, bytes: &mut BytesMut, out: &mut Outputs);

    /// Ends because the client's connection ended.
    fn end_client(&mut self, out: &mut Outputs);

    /// Ends because the kubelet's connection ended.
    fn end_kubelet(&mut self, out: &mut Outputs);

    /// Called every [`TICK`].
    fn on_tick(&mut self, _out: &mut Outputs) {}

    /// True if both connections end after the present output.
    fn has_ended(&self) -> bool;
}

/// Receiving half of a connection, with the bytes that are not translated yet.
pub(super) struct Receiver<S> {
    half: ReadHalf<S>,
    input: BytesMut,
    ended: bool,
}

impl<S: AsyncRead> Receiver<S> {
    fn has_capacity(&self) -> bool {
        !self.ended && self.input.len() < READ_BYTES
    }

    /// Reads more bytes. Cancel safe.
    async fn receive(&mut self) {
        self.input.reserve(READ_BYTES - self.input.len().min(READ_BYTES));
        self.ended = !matches!(self.half.read_buf(&mut self.input).await, Ok(1..));
    }

    /// Discards what arrives until the other side ends the connection, so that it gets the last bytes: a connection that
    /// is closed with unread input is reset.
    async fn drain(&mut self) {
        while !self.ended {
            self.input.clear();
            self.receive().await;
        }
    }
}

/// Sending half of a connection.
pub(super) struct Sender<S> {
    half: WriteHalf<S>,
    unflushed: bool,
    failed: bool,
}

impl<S: AsyncWrite> Sender<S> {
    fn has_work(&self, output: &BytesMut) -> bool {
        !self.failed && (self.unflushed || !output.is_empty())
    }

    /// Sends a part of the output; flushes if there is none. Cancel safe.
    async fn send(&mut self, output: &mut BytesMut) {
        match send(&mut self.half, output).await {
            Ok(0) if !output.is_empty() => self.failed = true,
            Ok(count) => {
                self.unflushed = !output.is_empty();
                output.advance(count);
            }
            Err(_) => self.failed = true,
        }
    }

    /// Sends the whole output and ends the connection.
    async fn finish(&mut self, output: &mut BytesMut) {
        while self.has_work(output) {
            self.send(output).await;
        }
        if let Err(error) = self.half.shutdown().await {
            tracing::debug!(%error, "shutdown of a proxied connection failed");
        }
    }
}

/// Both halves of a connection.
pub(super) struct Connection<S> {
    receiver: Receiver<S>,
    sender: Sender<S>,
}

impl<S: AsyncRead + AsyncWrite> Connection<S> {
    pub(super) fn new(stream: S) -> Self {
        let (reader, writer) = split(stream);
        Connection {
            receiver: Receiver { half: reader, input: BytesMut::new(), ended: false },
            sender: Sender { half: writer, unflushed: false, failed: false },
        }
    }

    /// Sends `output` and keeps a bounded amount of input until `work` is done. `None` if the connection ends before.
    pub(super) async fn serve_while<T>(
        &mut self,
        output: &mut BytesMut,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::pin!(work);
        let Connection { receiver, sender } = self;
        loop {
            tokio::select! {
                done = &mut work => return Some(done),
                () = receiver.receive(), if receiver.has_capacity() => {}
                () = sender.send(output), if sender.has_work(output) => {}
            }
            if receiver.ended || sender.failed {
                return None;
            }
        }
    }

    /// Sends the last bytes and ends the connection.
    pub(super) async fn finish(&mut self, output: &mut BytesMut) {
        let finished = async {
            self.sender.finish(output).await;
            self.receiver.drain().await;
        };
        let _ = timeout(CLOSE_TIMEOUT, finished).await;
    }
}

/// Translates in both directions until the translator ends or the server stops.
pub(super) async fn relay<C, K>(
    client: &mut Connection<C>,
    kubelet: &mut Connection<K>,
    out: &mut Outputs,
    translator: &mut impl Translator,
    shutdown: &CancellationToken,
) where
    C: AsyncRead + AsyncWrite,
    K: AsyncRead + AsyncWrite,
{
    let mut ticks = interval_at(Instant::now() + TICK, TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        translate(client, kubelet, out, translator);
        if translator.has_ended() {
            return;
        }
        tokio::select! {
            // Also while the output is full, to notice the end of a connection.
            () = kubelet.receiver.receive(), if kubelet.receiver.has_capacity() => {}
            () = client.receiver.receive(), if client.receiver.has_capacity() => {}
            () = kubelet.sender.send(&mut out.kubelet), if kubelet.sender.has_work(&out.kubelet) => {}
            () = client.sender.send(&mut out.client), if client.sender.has_work(&out.client) => {}
            _ = ticks.tick() => translator.on_tick(out),
            () = shutdown.cancelled() => return,
        }
    }
}

/// Translates what has arrived, as far as the output is bounded.
fn translate<C, K>(
    client: &mut Connection<C>,
    kubelet: &mut Connection<K>,
    out: &mut Outputs,
    translator: &mut impl Translator,
) {
    // The kubelet may have sent its last bytes before it closed the connection.
    if kubelet.sender.failed {
        out.kubelet.clear();
    }
    if accepts_kubelet(out) {
        translator.translate_kubelet(&mut kubelet.receiver.input, out);
        if kubelet.receiver.ended {
            translator.end_kubelet(out);
        }
    }
    if accepts_client(out) {
        translator.translate_client(&mut client.receiver.input, out);
    }
    if client.receiver.ended || client.sender.failed {
        translator.end_client(out);
    }
}

fn accepts_kubelet(out: &Outputs) -> bool {
    out.client.is_empty() && out.kubelet.len() <= PENDING_BYTES_MAX
}

fn accepts_client(out: &Outputs) -> bool {
    out.kubelet.is_empty() && out.client.len() <= PENDING_BYTES_MAX
}

/// Sends the last bytes on both connections and ends them.
pub(super) async fn finish<C, K>(client: &mut Connection<C>, kubelet: &mut Connection<K>, out: &mut Outputs)
where
    C: AsyncRead + AsyncWrite,
    K: AsyncRead + AsyncWrite,
{
    let kubelet = timeout(CLOSE_TIMEOUT, kubelet.sender.finish(&mut out.kubelet));
    let _ = tokio::join!(client.finish(&mut out.client), kubelet);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::{DuplexStream, duplex};
    use tokio::task::JoinHandle;

    use super::*;

    /// Passes bytes on unchanged.
    #[derive(Default)]
    struct Copier {
        ended: bool,
    }

    impl Translator for Copier {
        fn translate_client(&mut self, bytes: &mut BytesMut, out: &mut Outputs) {
            out.kubelet.extend_from_slice(&bytes.split());
        }

        fn translate_kubelet(&mut self, bytes: &mut BytesMut, out: &mut Outputs) {
            out.client.extend_from_slice(&bytes.split());
        }

        fn end_client(&mut self, _: &mut Outputs) {
            self.ended = true;
        }

        fn end_kubelet(&mut self, out: &mut Outputs) {
            out.client.extend_from_slice(b"end");
            self.ended = true;
        }

        fn has_ended(&self) -> bool {
            self.ended
        }
    }

    struct Relayed {
        client: DuplexStream,
        kubelet: DuplexStream,
        task: JoinHandle<()>,
        shutdown: CancellationToken,
    }

    fn relayed() -> Relayed {
        let (client, inner_client) = duplex(64);
        let (kubelet, inner_kubelet) = duplex(64);
        let shutdown = CancellationToken::new();
        let stopped = shutdown.clone();
        let task = tokio::spawn(async move {
            let mut client = Connection::new(inner_client);
            let mut kubelet = Connection::new(inner_kubelet);
            let mut out = Outputs::default();
            relay(&mut client, &mut kubelet, &mut out, &mut Copier::default(), &stopped).await;
            finish(&mut client, &mut kubelet, &mut out).await;
        });
        Relayed { client, kubelet, task, shutdown }
    }

    #[tokio::test]
    async fn last_bytes_follow_the_others() {
        let Relayed { mut client, mut kubelet, task, .. } = relayed();
        kubelet.write_all(&[b'x'; 50]).await.unwrap();
        drop(kubelet);
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        assert_eq!(received, [&[b'x'; 50][..], b"end"].concat());
        drop(client);
        task.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn slow_client_stops_the_kubelet() {
        let Relayed { mut client, mut kubelet, .. } = relayed();
        let output = vec![b'x'; 8 * READ_BYTES];
        let written = timeout(TICK / 2, kubelet.write_all(&output)).await;
        assert!(written.is_err());
        // Input of the same client still arrives.
        client.write_all(b"input").await.unwrap();
        let mut received = [0; 5];
        kubelet.read_exact(&mut received).await.unwrap();
        assert_eq!(&received, b"input");
    }

    #[tokio::test]
    async fn client_ends_the_relay() {
        let Relayed { client, mut kubelet, task, .. } = relayed();
        drop(client);
        let mut received = Vec::new();
        kubelet.read_to_end(&mut received).await.unwrap();
        task.await.unwrap();
        assert_eq!(received, b"");
    }

    #[tokio::test(start_paused = true)]
    async fn client_ends_the_relay_while_the_kubelet_reads_nothing() {
        let Relayed { mut client, kubelet, task, .. } = relayed();
        client.write_all(&[b'x'; 1000]).await.unwrap();
        drop(client);
        timeout(2 * CLOSE_TIMEOUT, task).await.unwrap().unwrap();
        drop(kubelet);
    }

    #[tokio::test]
    async fn shutdown_ends_the_relay() {
        let Relayed { client, kubelet, task, shutdown } = relayed();
        shutdown.cancel();
        drop(client);
        task.await.unwrap();
        drop(kubelet);
    }
}
