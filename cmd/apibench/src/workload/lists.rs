//! Lists of the measured pods: full, filtered and paged, in each media type that clients request.

use std::sync::Arc;

use async_trait::async_trait;

use super::closed_loop::{ClosedLoop, Operation};
use super::{Context, Workload};
use crate::args::Settings;
use crate::check::{self, Format, MAX_BODY};
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};
use crate::setup::{METADATA_LIST, path};

/// Media types of the lists.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// The app and the node in selectors of filtered lists.
const APP: u64 = 7;
const NODE: u64 = 0;

/// Page size, the same as kubectl's.
const PAGE: u64 = 500;

/// Bytes of a page that contain its metadata, including a long continue token.
const PAGE_HEAD: usize = 8 << 10;

/// Maximum number of pages, based on the largest setup.
const MAX_PAGES: u64 = 1_000_000 / PAGE + 1;

pub(super) fn lists() -> Vec<Box<dyn Workload>> {
    let full_list = |name, about| List { name, about, ..List::WHOLE };
    let mut all: Vec<Box<dyn Workload>> = [
        full_list("list-json", "all pods of a namespace, most recent, as JSON"),
        List {
            accept: PROTOBUF,
            format: Format::Protobuf,
            ..full_list("list-protobuf", "the same as protobuf")
        },
        List { gzip: true, ..full_list("list-json-gzip", "the same as JSON, gzipped") },
        List {
            accept: TABLE,
            format: Format::Table,
            ..full_list("list-table", "the same as kubectl's table")
        },
        List { accept: METADATA_LIST, ..full_list("list-partial-metadata", "the same, metadata only") },
        List { query: "?resourceVersion=0", ..full_list("list-rv0", "all pods, any state not older than 0") },
        List {
            query: "?labelSelector=app%3Dapp-7",
            expected: |settings| settings.pods_of(APP),
            ..full_list("list-by-label", "the pods of one app, one in 50")
        },
        List {
            query: "?fieldSelector=spec.nodeName%3Dnode-0",
            path: |_| "/api/v1/pods".to_owned(),
            expected: |settings| settings.pods_on(NODE),
            ..full_list("list-by-node", "the 25 pods of one node, in all namespaces, as kubelets list")
        },
        List {
            lanes: |settings| settings.concurrency,
            ..full_list("list-concurrent", "all pods as JSON, --concurrency lists at a time")
        },
    ]
    .into_iter()
    .map(ClosedLoop::of)
    .collect();
    all.push(ClosedLoop::of(Pages));
    all
}

/// A single list request.
struct List {
    name: &'static str,
    about: &'static str,
    path: fn(&Settings) -> String,
    query: &'static str,
    accept: &'static str,
    gzip: bool,
    format: Format,
    expected: fn(&Settings) -> u64,
    lanes: fn(&Settings) -> u64,
}

impl List {
    const WHOLE: Self = Self {
        name: "",
        about: "",
        path: |settings| path(settings, "pods"),
        query: "",
        accept: JSON,
        gzip: false,
        format: Format::Json,
        expected: |settings| settings.objects,
        lanes: |settings| settings.list_concurrency,
    };

    fn call(&self, settings: &Settings) -> Call {
        let path = format!("{}{}", (self.path)(settings), self.query);
        Call::get(path).accept(self.accept).gzip(self.gzip)
    }
}

#[async_trait]
impl Operation for List {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn lanes(&self, settings: &Settings) -> u64 {
        (self.lanes)(settings)
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let settings = &context.settings;
        let response = client.call(0, self.call(settings), MAX_BODY).await?.expect(200)?;
        if response.gzipped != self.gzip {
            return Err(Error::Wrong(format!("gzip wanted: {}, got: {}", self.gzip, response.gzipped)));
        }
        let expected = (self.expected)(settings);
        let count = check::items(self.format, &response)?;
        if count != expected {
            return Err(Error::Wrong(format!("{count} items, expected {expected}")));
        }
        Ok(response.bytes / 2)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, _: u64) -> Result<Option<u64>> {
        let response = client.call(lane, self.call(&context.settings), 0).await?;
        response.expect(200).map(|response| Some(response.bytes))
    }
}

/// All pods, page by page.
struct Pages;

impl Pages {
    /// Reads all pages, storing `keep` bytes of each. Returns bytes, pages, and items if they were stored.
    async fn walk(context: &Context, client: &Client, lane: usize, keep: usize) -> Result<(u64, u64, u64)> {
        let first = format!("{}?limit={PAGE}", path(&context.settings, "pods"));
        let mut bytes = 0;
        let mut items = 0;
        let mut next = first.clone();
        for page in 1..=MAX_PAGES {
            let response = client.call(lane, Call::get(next), keep).await?.expect(200)?;
            bytes += response.bytes;
            if keep == MAX_BODY {
                items += check::items(Format::Json, &response)?;
            }
            match check::continue_token(&response.head) {
                // The token uses the base64 URL alphabet; only its padding needs escaping.
                Some(token) => next = format!("{first}&continue={}", token.replace('=', "%3D")),
                None => return Ok((bytes, page, items)),
            }
        }
        Err(Error::Wrong(format!("more than {MAX_PAGES} pages")))
    }
}

#[async_trait]
impl Operation for Pages {
    fn name(&self) -> &'static str {
        "list-pages"
    }

    fn about(&self) -> &'static str {
        "all pods in pages of 500, following continue; one operation is the whole walk"
    }

    fn lanes(&self, settings: &Settings) -> u64 {
        settings.list_concurrency
    }

    async fn verify(&self, context: &Context, client: &Client) -> Result<u64> {
        let (bytes, _, items) = Self::walk(context, client, 0, MAX_BODY).await?;
        if items != context.settings.objects {
            return Err(Error::Wrong(format!("{items} items, expected {}", context.settings.objects)));
        }
        Ok(bytes / 2)
    }

    async fn run(&self, context: &Context, client: &Client, lane: usize, _: u64) -> Result<Option<u64>> {
        let (bytes, pages, _) = Self::walk(context, client, lane, PAGE_HEAD).await?;
        let expected = context.settings.objects.div_ceil(PAGE);
        if pages != expected {
            return Err(Error::Wrong(format!("{pages} pages, expected {expected}")));
        }
        Ok(Some(bytes))
    }
}

/// Returns the request for a full list as JSON.
pub(super) fn whole(context: &Context) -> Call {
    List::WHOLE.call(&context.settings)
}

/// Fails unless the full list is correct. Returns its length in bytes.
pub(super) async fn verify_whole(context: &Context, client: &Arc<Client>) -> Result<u64> {
    List::WHOLE.verify(context, client).await.map(|half| half * 2)
}
