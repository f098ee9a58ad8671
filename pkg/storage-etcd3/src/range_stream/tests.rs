//! Streamed lists from a fake member.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};

use etcd_client::proto::{PbRangeStreamResponse, PbResponseHeader};
use futures::TryStreamExt;
use http::{Request, Response};
use storage::{ListStream, Storage};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, ServerStreamingService, UnaryService};
use tonic::{Code, Status};
use tonic_prost::ProstCodec;
use tower_service::Service;

use super::*;
use crate::{Etcd, Options};

const PREFIX: &str = "/registry/pods/";
/// The revision of the fake member.
const REVISION: i64 = 42;
const PATIENCE: Duration = Duration::from_secs(30);

/// etcd's request of a range, as far as the fake member needs it.
#[derive(Clone, PartialEq, prost::Message)]
struct RangeRequest {
    #[prost(bytes = "vec", tag = "1")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    range_end: Vec<u8>,
    #[prost(int64, tag = "4")]
    revision: i64,
}

/// Response of the fake member to a stream: chunks of keys, then an end.
#[derive(Clone)]
struct Script {
    chunks: Vec<Vec<&'static str>>,
    /// Bytes of each value.
    value_bytes: usize,
    end: End,
}

#[derive(Clone)]
enum End {
    /// The last chunk has a header.
    Complete,
    /// The stream ends without a header.
    Cut,
    Failed(Code, &'static str),
    /// The last chunk is repeated without end.
    Endless,
    /// Chunks with one new key each follow without end.
    EndlessKeys,
}

fn script(chunks: &[&[&'static str]], end: End) -> Script {
    Script { chunks: chunks.iter().map(|chunk| chunk.to_vec()).collect(), value_bytes: 1, end }
}

/// A fake member of etcd.
#[derive(Clone)]
struct FakeMember {
    /// `None` if it has no streams.
    script: Option<Script>,
    requests: Arc<Mutex<Vec<RangeRequest>>>,
    sent: Arc<AtomicUsize>,
}

impl FakeMember {
    /// Starts a member and returns it with its URL.
    async fn start(script: Option<Script>) -> (Self, String) {
        let member = FakeMember { script, requests: Arc::default(), sent: Arc::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = tonic::transport::Server::builder().add_service(member.clone());
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        (member, url)
    }

    /// Key and revision of the streams that were requested.
    fn requests(&self) -> Vec<(String, i64)> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|request| (text(&request.key), request.revision)).collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A chunk of keys. A name that starts with `/` is a whole key. The last chunk has the number of all keys.
fn chunk(names: &[&str], value_bytes: usize, count: Option<usize>) -> PbRangeStreamResponse {
    let kv = |name: &&str| PbKeyValue {
        key: if name.starts_with('/') { (*name).into() } else { format!("{PREFIX}{name}").into_bytes() },
        value: vec![b'x'; value_bytes],
        mod_revision: REVISION,
        ..PbKeyValue::default()
    };
    let header = count.map(|_| PbResponseHeader { revision: REVISION, ..PbResponseHeader::default() });
    let count = count.unwrap_or(0).try_into().unwrap();
    let kvs = names.iter().map(kv).collect();
    let range = PbRangeResponse { header, kvs, count, ..PbRangeResponse::default() };
    PbRangeStreamResponse { range_response: Some(range) }
}

type Chunks = BoxStream<'static, Result<PbRangeStreamResponse, Status>>;

impl ServerStreamingService<RangeRequest> for FakeMember {
    type Response = PbRangeStreamResponse;
    type ResponseStream = Chunks;
    type Future = std::future::Ready<Result<tonic::Response<Chunks>, Status>>;

    fn call(&mut self, request: tonic::Request<RangeRequest>) -> Self::Future {
        self.requests.lock().unwrap().push(request.into_inner());
        let Some(Script { chunks, value_bytes, end }) = self.script.clone() else {
            let why = "unknown method RangeStream for service etcdserverpb.KV";
            return std::future::ready(Err(Status::unimplemented(why)));
        };
        let count = chunks.len();
        let keys = chunks.iter().map(Vec::len).sum();
        let complete = matches!(end, End::Complete);
        let repeated = chunks.last().cloned().unwrap_or_default();
        let regular = chunks.into_iter().enumerate().map(move |(number, names)| {
            Ok(chunk(&names, value_bytes, (complete && number + 1 == count).then_some(keys)))
        });
        let chunks = stream::iter(regular);
        let chunks = match end {
            End::Complete | End::Cut => chunks.boxed(),
            End::Failed(code, why) => chunks.chain(stream::iter([Err(Status::new(code, why))])).boxed(),
            End::Endless => {
                chunks.chain(stream::repeat_with(move || Ok(chunk(&repeated, value_bytes, None)))).boxed()
            }
            End::EndlessKeys => {
                let key = |number: u32| format!("k{number:010}");
                let more = move |number| Ok(chunk(&[key(number).as_str()], value_bytes, None));
                chunks.chain(stream::iter(0..u32::MAX).map(more)).boxed()
            }
        };
        let sent = Arc::clone(&self.sent);
        let counted = chunks.inspect(move |_| {
            sent.fetch_add(1, Relaxed);
        });
        std::future::ready(Ok(tonic::Response::new(counted.boxed())))
    }
}

/// Pages, and reads of the latest revision.
struct Ranges(Option<Script>);

impl UnaryService<RangeRequest> for Ranges {
    type Response = PbRangeResponse;
    type Future = std::future::Ready<Result<tonic::Response<PbRangeResponse>, Status>>;

    fn call(&mut self, request: tonic::Request<RangeRequest>) -> Self::Future {
        let is_list = !request.into_inner().range_end.is_empty();
        let names =
            self.0.as_ref().filter(|_| is_list).map_or_else(Vec::new, |script| script.chunks.concat());
        let page = chunk(&names, 0, Some(names.len())).range_response;
        std::future::ready(Ok(tonic::Response::new(page.unwrap_or_default())))
    }
}

impl NamedService for FakeMember {
    const NAME: &'static str = "etcdserverpb.KV";
}

impl Service<Request<Body>> for FakeMember {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let member = self.clone();
        Box::pin(async move {
            Ok(match request.uri().path() {
                "/etcdserverpb.KV/RangeStream" => {
                    Grpc::new(ProstCodec::default()).server_streaming(member, request).await
                }
                "/etcdserverpb.KV/Range" => {
                    Grpc::new(ProstCodec::default()).unary(Ranges(member.script), request).await
                }
                _ => Status::unimplemented("unknown method").into_http(),
            })
        })
    }
}

/// A store with one fake member.
async fn store(script: Option<Script>) -> (FakeMember, Etcd) {
    let (member, url) = FakeMember::start(script).await;
    (member, Etcd::new(Options::new([url])).await.unwrap())
}

/// The stream of everything at the latest revision.
async fn open(store: &Etcd) -> ListStream {
    store.list_stream(PREFIX, PREFIX, 0).await.unwrap().unwrap()
}

/// The names of the keys in each chunk, and the error at the end.
async fn read(mut list: ListStream) -> (Vec<Vec<String>>, Option<Error>) {
    let name = |kv: KeyValue| kv.key.trim_start_matches(PREFIX).to_owned();
    let mut chunks = Vec::new();
    loop {
        match tokio::time::timeout(PATIENCE, list.chunks.try_next()).await.unwrap() {
            Ok(Some(chunk)) => chunks.push(chunk.into_iter().map(name).collect()),
            Ok(None) => return (chunks, None),
            Err(error) => return (chunks, Some(error)),
        }
    }
}

#[tokio::test]
async fn chunks_have_one_pinned_revision() {
    let (member, store) = store(Some(script(&[&["a", "b"], &["c"]], End::Complete))).await;
    let list = open(&store).await;
    assert_eq!(list.revision, REVISION);
    let (chunks, error) = read(list).await;
    assert_eq!(chunks, [vec!["a", "b"], vec!["c"]]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(member.requests(), [(PREFIX.to_owned(), REVISION)]);
    assert_eq!(text(&member.requests.lock().unwrap()[0].range_end), "/registry/pods0");
}

#[tokio::test]
async fn empty_list_is_one_empty_chunk() {
    let (_member, store) = store(Some(script(&[&[]], End::Complete))).await;
    let (chunks, error) = read(open(&store).await).await;
    assert_eq!(chunks, [Vec::<String>::new()]);
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn missing_method_is_called_only_once() {
    let (member, store) = store(None).await;
    for _ in 0..3 {
        assert!(store.list_stream(PREFIX, PREFIX, 0).await.unwrap().is_none());
    }
    assert_eq!(member.requests().len(), 1);
}

#[tokio::test]
async fn disabled_streams_are_not_requested() {
    let (member, url) = FakeMember::start(Some(script(&[&["a"]], End::Complete))).await;
    let store = Etcd::new(Options { range_stream: false, ..Options::new([url]) }).await.unwrap();
    assert!(store.list_stream(PREFIX, PREFIX, 0).await.unwrap().is_none());
    assert_eq!(member.requests(), []);
}

#[test]
fn support_is_checked_again_after_an_interval() {
    let start = Instant::now();
    let support = StreamSupport::new(true);
    assert!(support.is_assumed(start));
    support.record_unimplemented(start);
    assert!(!support.is_assumed(start + RECHECK_INTERVAL - Duration::from_secs(1)));
    assert!(support.is_assumed(start + RECHECK_INTERVAL));
    support.record_unimplemented(start + RECHECK_INTERVAL);
    assert!(!support.is_assumed(start + RECHECK_INTERVAL));
    assert!(!StreamSupport::new(false).is_assumed(start));
}

#[tokio::test]
async fn cut_stream_is_not_a_complete_list() {
    let (_member, store) = store(Some(script(&[&["a"]], End::Cut))).await;
    let (chunks, error) = read(open(&store).await).await;
    assert_eq!(chunks, [vec!["a"]]);
    assert!(matches!(error, Some(Error::Unavailable(_))), "{error:?}");
}

#[tokio::test]
async fn compaction_during_a_stream_is_reported() {
    let compacted = End::Failed(Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted");
    let (_member, store) = store(Some(script(&[&["a"]], compacted))).await;
    let (chunks, error) = read(open(&store).await).await;
    assert_eq!(chunks, [vec!["a"]]);
    assert!(matches!(error, Some(Error::Compacted { .. })), "{error:?}");
}

#[tokio::test]
async fn rest_of_a_list_comes_from_another_member() {
    let failing = script(&[&["a"]], End::Failed(Code::Unavailable, "etcdserver: server stopped"));
    let (first, first_url) = FakeMember::start(Some(failing)).await;
    let (second, second_url) = FakeMember::start(Some(script(&[&["b"]], End::Complete))).await;
    let store = Etcd::new(Options::new([first_url, second_url])).await.unwrap();
    // Members take turns, so that one of two streams starts at the failing one.
    let mut broken = false;
    for _ in 0..2 {
        let list = store.list_stream(PREFIX, PREFIX, REVISION).await.unwrap().unwrap();
        let (_, error) = read(list).await;
        broken |= matches!(error, Some(Error::Unavailable(_)));
    }
    assert!(broken);
    let start = format!("{PREFIX}a\0");
    let before = first.requests().len();
    let rest = store.list_stream(PREFIX, &start, REVISION).await.unwrap().unwrap();
    let (chunks, error) = read(rest).await;
    assert_eq!((chunks, error.is_none()), (vec![vec!["b".to_owned()]], true));
    assert_eq!(first.requests().len(), before, "the suspect member is avoided");
    assert_eq!(second.requests().last(), Some(&(start, REVISION)));
}

#[tokio::test]
async fn unread_stream_stops_the_member() {
    const CHUNK_BYTES: usize = 1 << 20;
    let endless = Script { value_bytes: CHUNK_BYTES, ..script(&[&["a"]], End::EndlessKeys) };
    let (member, store) = store(Some(endless)).await;
    let mut list = open(&store).await;
    // The number of sent chunks stops to grow: the window is full.
    let mut sent = 0;
    let stopped = async {
        while sent == 0 || sent != member.sent.load(Relaxed) {
            sent = member.sent.load(Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, stopped).await.unwrap();
    assert!(sent <= 8, "{sent} chunks of 1 MiB are buffered");
    for _ in 0..sent + 4 {
        assert_eq!(list.chunks.try_next().await.unwrap().unwrap().len(), 1);
    }
    assert!(member.sent.load(Relaxed) > sent);
}

/// The number of chunks that a reader gets, and the error.
async fn rejection(script: Script) -> (usize, String) {
    let (_member, store) = store(Some(script)).await;
    let (chunks, error) = read(open(&store).await).await;
    (chunks.len(), error.unwrap().to_string())
}

#[tokio::test]
async fn wrong_chunks_end_a_stream() {
    let check = async |chunks: &[&[&'static str]], end: End, delivered: usize, text: &str| {
        assert_eq!(rejection(script(chunks, end)).await, (delivered, text.to_owned()), "{chunks:?}");
    };
    let outside = "etcd returned the key \"/registry/secrets/a\", which is not in the range of the list";
    check(&[&["a"], &["/registry/secrets/a"]], End::Complete, 1, outside).await;
    let order = "etcd returned the key \"/registry/pods/a\" twice or out of order";
    check(&[&["a", "b"], &["a"]], End::Complete, 1, order).await;
    check(&[&["a"]], End::Endless, 1, order).await;
    let empty = "etcd returned an empty part before the end of a list";
    check(&[&["a"], &[]], End::Endless, 1, empty).await;
}

#[tokio::test]
async fn member_with_a_wrong_list_is_avoided() {
    let (wrong, first_url) = FakeMember::start(Some(script(&[&["b", "a"]], End::Complete))).await;
    let (_second, second_url) = FakeMember::start(Some(script(&[&["a"]], End::Complete))).await;
    let store = Etcd::new(Options::new([first_url, second_url])).await.unwrap();
    let mut rejected = 0;
    for _ in 0..4 {
        let list = store.list_stream(PREFIX, PREFIX, REVISION).await.unwrap().unwrap();
        rejected += usize::from(read(list).await.1.is_some());
    }
    assert_eq!((rejected, wrong.requests().len()), (1, 1));
}

#[tokio::test]
async fn member_with_a_wrong_page_is_avoided() {
    let (_wrong, first_url) = FakeMember::start(Some(script(&[&["b", "a"]], End::Complete))).await;
    let (_second, second_url) = FakeMember::start(Some(script(&[&["a"]], End::Complete))).await;
    let store = Etcd::new(Options::new([first_url, second_url])).await.unwrap();
    let mut rejected = 0;
    for _ in 0..4 {
        rejected += usize::from(store.list(PREFIX, storage::ListOptions::default()).await.is_err());
    }
    assert_eq!(rejected, 1);
}
