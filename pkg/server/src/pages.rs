//! The paths that are no resources: a router, and the list of what it has, for `/`.
//!
//! A page is asked for after its request was authorized, and is told of it by the [`RequestContext`]: nothing
//! here reads a query again. Methods do not matter, as upstream.

pub(crate) mod console;
pub(crate) mod debugging;
pub(crate) mod routes;
pub(crate) mod snapshots;
pub(crate) mod zpages;

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::any;
use http::Uri;
use http::request::Parts;
use http_body_util::BodyExt;
use tower_service::Service;

use apimachinery::request_context::RequestContext;
use endpoints::routing::dispatch::{Body, Response};

use crate::respond;

/// What a page is told of its request.
pub(crate) type Context = axum::Extension<Arc<RequestContext>>;

/// Paths, each with what answers it.
#[derive(Default)]
pub(crate) struct Pages {
    router: Router,
    listed: Vec<String>,
}

impl Pages {
    /// With a path that is listed at `/`.
    pub(crate) fn listed<T: 'static>(mut self, path: &str, page: impl Handler<T, ()>) -> Self {
        self.listed.push(path.to_owned());
        self.unlisted(path, page)
    }

    /// With a path that nobody is told of. `{*rest}` at its end stands for one or more segments.
    pub(crate) fn unlisted<T: 'static>(self, path: &str, page: impl Handler<T, ()>) -> Self {
        Pages { router: self.router.route(path, any(page)), ..self }
    }

    /// With the paths of others, which must not be the same.
    pub(crate) fn and(mut self, others: Pages) -> Self {
        self.listed.extend(others.listed);
        Pages { router: self.router.merge(others.router), ..self }
    }

    /// With upstream's text for every other path. To be called once, when there are no more pages to come.
    pub(crate) fn complete(self) -> Self {
        Pages { router: self.router.fallback(async || respond::not_found()), ..self }
    }

    /// The paths that are listed at `/`.
    pub(crate) fn paths(&self) -> &[String] {
        &self.listed
    }

    /// Answers a request; 404 for a path that nobody has. Paths are compared as they were authorized: decoded.
    pub(crate) async fn answer(&self, parts: Parts, body: Body, context: Arc<RequestContext>) -> Response {
        let Some(path) = plain(&context.info.path) else { return respond::not_found() };
        let mut request = http::Request::from_parts(parts, body);
        *request.uri_mut() = path;
        request.extensions_mut().insert(context);
        let mut router = self.router.clone();
        match router.call(request).await {
            Ok(response) => response.map(|body| body.map_err(Into::into).boxed_unsync()),
            Err(never) => match never {},
        }
    }
}

/// A path of which every character stands for itself in a URI. No page has another.
fn plain(path: &str) -> Option<Uri> {
    let stands_for_itself = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,=:@".contains(&byte);
    path.bytes().all(stands_for_itself).then(|| path.parse().ok()).flatten()
}
