//! Periodically fetches discovery and OpenAPI of a server behind an APIService, so that clients never wait
//! for it. The last result remains until the next one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::catalog::{Document, ProxiedApiService};
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use bytes::Bytes;
use client::Limits;
use endpoints::openapi::part_of_version;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Response, StatusCode};
use jsontree::Value;
use schema::object::Object;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::discovery;
use super::remote::Remote;
use crate::error::Error;

/// Interval after a success.
const REFRESH_INTERVAL: Duration = Duration::from_secs(60);
/// First interval after a failure.
const RETRY_MIN: Duration = Duration::from_millis(500);
/// Maximum size of a document in bytes.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// Maximum number of OpenAPI 3.0 documents per version: its own and its group's.
const DOCUMENTS_MAX: usize = 2;
const DISCOVERY: Limits =
    Limits { total: Duration::from_secs(5), response_bytes_max: DOCUMENT_BYTES_MAX, redirects_max: 0 };
const OPEN_API: Limits =
    Limits { total: Duration::from_secs(60), response_bytes_max: DOCUMENT_BYTES_MAX, redirects_max: 0 };

/// The v2 and v2beta1 forms of aggregated discovery.
const ACCEPT_AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                                 application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// Result for the owner of the catalog.
pub(super) struct DiscoveryUpdate {
    pub(super) remote: Arc<Remote>,
    pub(super) proxied: ProxiedApiService,
}

/// Fetches the documents of one server.
pub(super) struct DiscoveryTask {
    remote: Arc<Remote>,
    updates: mpsc::Sender<DiscoveryUpdate>,
    /// Notified when the server becomes available again.
    recovered: Arc<Notify>,
    cache: CachedDiscovery,
}

/// The last documents, with their tags for conditional requests.
#[derive(Default)]
struct CachedDiscovery {
    proxied: ProxiedApiService,
    discovery_tag: Option<HeaderValue>,
    swagger_tag: Option<HeaderValue>,
    /// URLs of documents by path; they contain a digest.
    locations: BTreeMap<String, String>,
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn headers(accept: &'static str, tag: Option<&HeaderValue>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.extend(tag.map(|tag| (IF_NONE_MATCH, tag.clone())));
    headers
}

impl DiscoveryTask {
    pub(super) fn new(
        remote: Arc<Remote>,
        updates: mpsc::Sender<DiscoveryUpdate>,
        recovered: Arc<Notify>,
    ) -> Self {
        let proxied = unknown(&remote.service.name);
        DiscoveryTask {
            remote,
            updates,
            recovered,
            cache: CachedDiscovery { proxied, ..CachedDiscovery::default() },
        }
    }

    /// Sends results until dropped, or until the receiver is gone.
    pub(super) async fn run(mut self) {
        let mut pause = RETRY_MIN;
        loop {
            let well = self.fetch_discovery().await;
            if let Err(error) = &well {
                let name = &self.remote.service.name;
                tracing::debug!(name, %error, "cannot discover an aggregated API server");
            }
            if self.send_update().await.is_none() {
                return;
            }
            if well.is_ok() {
                let before = self.cache.proxied.clone();
                self.open_api().await;
                if self.cache.proxied != before && self.send_update().await.is_none() {
                    return;
                }
            }
            let wait = if well.is_ok() { REFRESH_INTERVAL } else { pause };
            pause = if well.is_ok() { RETRY_MIN } else { (pause * 2).min(REFRESH_INTERVAL) };
            // Ends after the timeout or when the server is available again.
            _ = timeout(wait, self.recovered.notified()).await;
        }
    }

    async fn send_update(&self) -> Option<()> {
        let update =
            DiscoveryUpdate { remote: Arc::clone(&self.remote), proxied: self.cache.proxied.clone() };
        self.updates.send(update).await.ok()
    }

    /// Fetches discovery.
    async fn fetch_discovery(&mut self) -> Result<(), Error> {
        let fetched = self.aggregated().await;
        self.cache.proxied.stale = fetched.is_err();
        if let Some(described) = fetched? {
            self.cache.proxied.discovery = Some(Arc::new(described));
        }
        Ok(())
    }

    /// Fetches aggregated discovery of the server's version; `None` if it is unchanged.
    async fn aggregated(&mut self) -> Result<Option<Object>, Error> {
        let asker = user("system:kube-aggregator", &[GROUP_MASTERS]);
        let headers = headers(ACCEPT_AGGREGATED, self.cache.discovery_tag.as_ref());
        let response = self.remote.get("/apis", &asker, &headers, &DISCOVERY).await?;
        let media_type = endpoints::header::text_or_empty(response.headers(), CONTENT_TYPE);
        let service = &self.remote.service;
        match response.status().as_u16() {
            304 if self.cache.discovery_tag.is_some() => Ok(None),
            503 => Err(Error::Unavailable),
            200 if discovery::is_aggregated(&media_type) => {
                let described = discovery::version_of(response.body(), &service.group, &service.version)?;
                self.cache.discovery_tag = response.headers().get(ETAG).cloned();
                Ok(Some(described))
            }
            _ => self.fetch_legacy_discovery().await.map(Some),
        }
    }

    async fn fetch_legacy_discovery(&mut self) -> Result<Object, Error> {
        let asker = user("system:kube-aggregator", &[]);
        let headers = headers("application/json", None);
        let path = self.remote.path();
        let response = self.remote.get(&path, &asker, &headers, &DISCOVERY).await?;
        match response.status() {
            StatusCode::OK => Ok(discovery::version_of_list(response.body())?),
            status => Err(Error::Status { from: path, status }),
        }
    }

    /// Fetches OpenAPI. A failure keeps the previous documents.
    async fn open_api(&mut self) {
        let name = self.remote.service.name.clone();
        if let Err(error) = self.documents().await {
            tracing::debug!(name, %error, "OpenAPI 3.0 of an aggregated API server");
        }
        if let Err(error) = self.swagger().await {
            tracing::debug!(name, %error, "OpenAPI 2.0 of an aggregated API server");
        }
    }

    async fn fetch(&self, path: &str, headers: &HeaderMap) -> Result<Response<Bytes>, Error> {
        self.remote.get(path, &user("system:aggregator", &[]), headers, &OPEN_API).await
    }

    async fn fetch_json(&self, path: &str) -> Result<Bytes, Error> {
        let response = self.fetch(path, &headers("application/json", None)).await?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            status => Err(Error::Status { from: path.to_owned(), status }),
        }
    }

    async fn documents(&mut self) -> Result<(), Error> {
        let index = self.fetch_json("/openapi/v3").await?;
        let index = schema::json::decode_untyped(&index)?.value;
        let paths = [self.remote.path(), format!("/apis/{}", self.remote.service.group)];
        let paths: Vec<&str> =
            paths.iter().take(DOCUMENTS_MAX).filter_map(|path| path.strip_prefix('/')).collect();
        for path in &paths {
            let location = index.get("paths").and_then(|paths| paths.get(*path)?.get("serverRelativeURL"));
            let at = location.and_then(Value::as_str).filter(|at| at.starts_with("/openapi/v3/"));
            let Some(at) = at else {
                self.cache.locations.remove(*path);
                self.cache.proxied.documents.retain(|document| document.path != *path);
                continue;
            };
            if self.cache.locations.get(*path).is_some_and(|location| location == at) {
                continue;
            }
            let json = self.fetch_json(at).await?;
            schema::json::decode_untyped(&json)?;
            self.cache.proxied.documents.retain(|document| document.path != *path);
            self.cache.proxied.documents.push(Document { path: (*path).to_owned(), json });
            self.cache.locations.insert((*path).to_owned(), at.to_owned());
        }
        Ok(())
    }

    async fn swagger(&mut self) -> Result<(), Error> {
        let headers = headers("application/json", self.cache.swagger_tag.as_ref());
        let path = "/openapi/v2";
        let response = self.fetch(path, &headers).await?;
        match response.status() {
            StatusCode::OK => {
                let tag = response.headers().get(ETAG).cloned();
                let group = self.remote.service.group.clone();
                let version = self.remote.service.version.clone();
                let reading = move || part_of_version(response.body(), &group, &version);
                let part = tokio::task::spawn_blocking(reading).await?;
                self.cache.proxied.swagger = Some(part?);
                self.cache.swagger_tag = tag;
                Ok(())
            }
            StatusCode::NOT_MODIFIED => Ok(()),
            StatusCode::NOT_FOUND => {
                self.cache.proxied.swagger = None;
                Ok(())
            }
            status => Err(Error::Status { from: path.to_owned(), status }),
        }
    }
}

/// Returns the state of a server before its first response.
pub(super) fn unknown(api_service: &str) -> ProxiedApiService {
    ProxiedApiService { api_service: api_service.to_owned(), stale: true, ..ProxiedApiService::default() }
}
