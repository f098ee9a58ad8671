//! Router for paths that are no resources, with the list of its paths for `/`.
//!
//! A page gets an authorized request with its [`RequestContext`], and no page parses the query again. As in
//! upstream, the method is ignored.

pub(crate) mod console;
pub(crate) mod debugging;
pub(crate) mod options;
pub(crate) mod routes;
pub(crate) mod snapshots;
pub(crate) mod zpages;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::any;
use http::request::Parts;
use http_body_util::BodyExt;
use tower_service::Service;

use apimachinery::request_context::RequestContext;
use endpoints::routing::dispatch::{Body, Response};
use endpoints::routing::path::with_decoded_path;

use crate::respond;

pub(crate) type Context = axum::Extension<Arc<RequestContext>>;

/// Handlers by path.
#[derive(Default)]
pub(crate) struct Pages {
    router: Router,
    listed: Vec<String>,
}

impl Pages {
    /// Adds a path that is listed at `/`.
    pub(crate) fn add_listed<T: 'static>(mut self, path: &str, page: impl Handler<T, ()>) -> Self {
        self.listed.push(path.to_owned());
        self.add_unlisted(path, page)
    }

    /// Adds a path that is not listed. A final `{*rest}` matches one or more segments.
    pub(crate) fn add_unlisted<T: 'static>(self, path: &str, page: impl Handler<T, ()>) -> Self {
        Pages { router: self.router.route(path, any(page)), ..self }
    }

    /// Adds other pages, which must have different paths.
    pub(crate) fn merge(mut self, pages: Pages) -> Self {
        self.listed.extend(pages.listed);
        Pages { router: self.router.merge(pages.router), ..self }
    }

    /// Sets upstream's response for all other paths. Call it once, after all pages were added.
    pub(crate) fn with_fallback(self) -> Self {
        Pages { router: self.router.fallback(async || respond::not_found()), ..self }
    }

    /// Paths that are listed at `/`.
    pub(crate) fn paths(&self) -> &[String] {
        &self.listed
    }

    /// Handles a request; 404 for an unknown path. Paths match in their authorized form: decoded.
    pub(crate) async fn handle(&self, parts: Parts, body: Body, context: Arc<RequestContext>) -> Response {
        let Some(uri) = with_decoded_path(&parts.uri, &context.info.path) else {
            return respond::not_found();
        };
        let mut request = http::Request::from_parts(parts, body);
        *request.uri_mut() = uri;
        request.extensions_mut().insert(context);
        let mut router = self.router.clone();
        match router.call(request).await {
            Ok(response) => response.map(|body| body.map_err(Into::into).boxed_unsync()),
            Err(never) => match never {},
        }
    }
}
