//! Lists of a store that sends them in streams.

use futures::stream;
use storage::ListStream;

use super::*;
use crate::tests::metrics::metrics_page;

/// Pairs of a chunk.
const CHUNK: usize = 2;
/// Names of the objects of a filled cache.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Revision of the last of them. An empty store is at revision 1.
const LAST: Revision = 6;

/// A store with streams that records their starts and revisions.
struct Streaming {
    memory: Memory,
    streams: Mutex<Vec<(String, Revision)>>,
    /// Ends of the first streams: the number of chunks before an error.
    failures: Mutex<Vec<(usize, Error)>>,
}

impl Streaming {
    /// A store with these keys below [`PREFIX`].
    async fn with(names: &[&str], failures: Vec<(usize, Error)>) -> Arc<Self> {
        let store =
            Streaming { memory: Memory::new(), streams: Mutex::default(), failures: Mutex::new(failures) };
        for name in names {
            set(&store.memory, name, Some("yes")).await;
        }
        Arc::new(store)
    }

    /// Name of the first key and revision of each stream of [`PREFIX`].
    fn streams(&self) -> Vec<(String, Revision)> {
        let streams = self.streams.lock().unwrap();
        let of_prefix = streams
            .iter()
            .filter_map(|(start, revision)| Some((start.strip_prefix(PREFIX)?.to_owned(), *revision)));
        of_prefix.collect()
    }
}

#[async_trait]
impl Storage for Streaming {
    async fn list_stream(
        &self,
        prefix: &str,
        start: &str,
        revision: Revision,
    ) -> Result<Option<ListStream>, Error> {
        let revision = if revision == 0 { self.memory.current_revision().await? } else { revision };
        self.streams.lock().unwrap().push((start.to_owned(), revision));
        let options = ListOptions { start: Some(start.to_owned()), revision, ..ListOptions::default() };
        let kvs = self.memory.list(prefix, options).await?.kvs;
        let mut chunks: Vec<_> = kvs.chunks(CHUNK).map(|chunk| Ok(chunk.to_vec())).collect();
        let mut failures = self.failures.lock().unwrap();
        if prefix == PREFIX && !failures.is_empty() {
            let (after, error) = failures.remove(0);
            chunks.truncate(after);
            chunks.push(Err(error));
        }
        Ok(Some(ListStream { revision, chunks: stream::iter(chunks).boxed() }))
    }

    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        self.memory.get(key).await
    }

    async fn list(&self, prefix: &str, _: ListOptions) -> Result<Listing, Error> {
        panic!("{prefix} is read in pages");
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        self.memory.count(prefix).await
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        self.memory.put(key, value, expected, ttl).await
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.memory.delete(key, expected).await
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        self.memory.watch(prefix, options).await
    }

    async fn request_progress(&self) -> Result<(), Error> {
        self.memory.request_progress().await
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.memory.current_revision().await
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        self.memory.compact(revision).await
    }

    fn compacted(&self) -> tokio::sync::watch::Receiver<Revision> {
        self.memory.compacted()
    }

    async fn healthy(&self) -> Result<(), Error> {
        self.memory.healthy().await
    }
}

/// The names in the cache of a store whose streams fail like this, and the store.
async fn filled(failures: Vec<(usize, Error)>) -> (Vec<String>, Arc<Streaming>) {
    let store = Streaming::with(&NAMES, failures).await;
    let driven = Driven::ready(store.clone()).await;
    let page = driven.reader().list(&all(Freshness::NotOlderThan(0))).await.unwrap();
    (names(&page), store)
}

#[tokio::test(start_paused = true)]
async fn cache_is_filled_by_one_stream() {
    let (names, store) = filled(Vec::new()).await;
    assert_eq!(names, NAMES);
    assert_eq!(store.streams(), [(String::new(), LAST)]);
}

#[tokio::test(start_paused = true)]
async fn interrupted_stream_resumes_after_last_key() {
    let lost = || Error::Unavailable("lost".to_owned());
    let (names, store) = filled(vec![(1, lost()), (0, lost()), (1, lost())]).await;
    assert_eq!(names, NAMES);
    let starts = ["", "b\0", "b\0", "d\0"];
    assert_eq!(store.streams(), starts.map(|start| (start.to_owned(), LAST)));
}

#[tokio::test(start_paused = true)]
async fn compacted_stream_starts_from_the_beginning() {
    let (names, store) = filled(vec![(2, Error::Compacted { oldest: 9 })]).await;
    assert_eq!(names, NAMES);
    assert_eq!(store.streams(), [(String::new(), LAST), (String::new(), LAST)]);
}

#[tokio::test(start_paused = true)]
async fn unlimited_storage_lists_are_streamed() {
    let store = Streaming::with(&["a", "b", "c"], Vec::new()).await;
    let driven = Driven::ready(store.clone()).await;
    let first = ListQuery { predicate: yes(), ..all(Freshness::Exact(3)) };
    let page = driven.reader().list(&first).await.unwrap();
    assert_eq!((names(&page).concat(), page.revision), ("ab".to_owned(), 3));
    assert_eq!(store.streams(), [(String::new(), 4), (String::new(), 3)]);
    let metrics = metrics_page(&driven.delegator);
    let count =
        "apiserver_storage_list_duration_seconds_count{group=\"test\",resource=\"p\",streamed=\"true\"} 2";
    assert!(metrics.lines().any(|line| line == count), "no {count} in\n{metrics}");
}
