//! OpenID Connect discovery on the wire: the documents by which others verify the tokens of service
//! accounts (KEP-1393).

use apimachinery::status::Status;
use authentication::service_account::OpenIdDocuments;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Response};

use crate::api::Documents;
use crate::discovery::{accept_header, accept_route};

/// How long a client may keep the documents: an hour, as long as upstream's keys cannot change.
const KEPT: &str = "public, max-age=3600";

/// The documents, each at its path.
#[derive(Debug)]
pub struct OpenId {
    configuration: Bytes,
    keys: Bytes,
}

impl OpenId {
    /// Serves these documents.
    pub fn new(documents: OpenIdDocuments) -> Self {
        OpenId { configuration: documents.configuration.into(), keys: documents.keys.into() }
    }
}

impl Documents for OpenId {
    fn respond(&self, request: &Parts) -> Option<Result<Response<Bytes>, Status>> {
        let path = request.uri.path();
        let (media_type, body) = match path.strip_suffix('/').unwrap_or(path) {
            OpenIdDocuments::CONFIGURATION_PATH => ("application/json", &self.configuration),
            OpenIdDocuments::KEYS_PATH => ("application/jwk-set+json", &self.keys),
            _ => return None,
        };
        Some(document(request, media_type, body).map_err(|refusal| *refusal))
    }
}

/// A document that comes in one format alone.
fn document(request: &Parts, media_type: &'static str, body: &Bytes) -> Result<Response<Bytes>, Box<Status>> {
    if request.method != Method::GET {
        return Err(Status::method_not_allowed().into());
    }
    accept_route(&accept_header(&request.headers), &[media_type])?;
    let mut response = Response::new(body.clone());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(KEPT));
    Ok(response)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(method: &str, path: &str, accept: &str, expected: Option<Result<(&str, &str), u16>>) {
        let documents = OpenIdDocuments { configuration: b"{}".to_vec(), keys: b"[]".to_vec() };
        let request = http::Request::builder().method(method).uri(path).header("accept", accept);
        let answer = OpenId::new(documents).respond(&request.body(()).unwrap().into_parts().0);
        let answer = answer.map(|answer| {
            let answer = answer.map_err(|status| status.code)?;
            let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
            assert_eq!(header("cache-control"), KEPT);
            Ok((header("content-type"), String::from_utf8(answer.body().to_vec()).unwrap()))
        });
        let expected = expected.map(|e| e.map(|(kind, body)| (kind.to_owned(), body.to_owned())));
        assert_eq!(answer, expected, "{method} {path} {accept}");
    }

    #[test]
    fn a_document_is_served_at_its_path_in_its_format() {
        let (configuration, keys) = ("/.well-known/openid-configuration", "/openid/v1/jwks");
        for path in [configuration, "/.well-known/openid-configuration/"] {
            check("GET", path, "application/json", Some(Ok(("application/json", "{}"))));
        }
        for accept in ["", "*/*", "application/jwk-set+json"] {
            check("GET", keys, accept, Some(Ok(("application/jwk-set+json", "[]"))));
        }
        check("GET", keys, "application/json", Some(Err(406)));
        check("GET", configuration, "application/yaml", Some(Err(406)));
        check("POST", configuration, "", Some(Err(405)));
        check("HEAD", keys, "", Some(Err(405)));
        for path in ["/openid", "/openid/v2/jwks", "/.well-known", "/openid/v1/jwks//"] {
            check("GET", path, "", None);
        }
    }
}
