//! OpenID Connect discovery: the documents that relying parties use to verify service account tokens
//! (KEP-1393).

use apimachinery::status::Status;
use authentication::service_account::{OpenIdDocuments, OpenIdMetadata};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Response};

use crate::api::Documents;
use crate::discovery::{accept_header, accept_route};
use crate::routing::path::is_under;

/// Serves the current documents, each at its path.
pub struct OpenId(OpenIdMetadata);

impl OpenId {
    pub fn new(metadata: OpenIdMetadata) -> Self {
        OpenId(metadata)
    }
}

impl Documents for OpenId {
    fn respond(&self, request: &Parts) -> Option<Result<Response<Bytes>, Status>> {
        let path = request.uri.path();
        let roots = [OpenIdDocuments::CONFIGURATION_PATH, OpenIdDocuments::KEYS_PATH];
        let root = roots.into_iter().find(|root| is_under(path, root))?;
        if path.trim_end_matches('/') != root {
            return Some(Err(Status::unknown_path()));
        }
        let (documents, max_age) = self.0.current();
        let (media_type, body) = match root {
            OpenIdDocuments::KEYS_PATH => ("application/jwk-set+json", &documents.keys),
            _ => ("application/json", &documents.configuration),
        };
        Some(document(request, media_type, body, max_age).map_err(|refusal| *refusal))
    }
}

/// Returns a document that has a single format and a cache lifetime in seconds.
fn document(
    request: &Parts,
    media_type: &'static str,
    body: &[u8],
    max_age: u64,
) -> Result<Response<Bytes>, Box<Status>> {
    if request.method != Method::GET {
        return Err(Status::method_not_allowed().into());
    }
    accept_route(&accept_header(&request.headers), &[media_type])?;
    let mut response = Response::new(Bytes::copy_from_slice(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Ok(max_age) = HeaderValue::try_from(format!("public, max-age={max_age}")) {
        response.headers_mut().insert(CACHE_CONTROL, max_age);
    }
    Ok(response)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use authentication::service_account::{PublicKeys, SigningKey};

    use super::*;

    fn check(method: &str, path: &str, accept: &str, expected: Option<Result<(&str, &str), u16>>) {
        let mut keys = PublicKeys::default();
        keys.add_pem(&SigningKey::generate_pem().unwrap()).unwrap();
        let metadata =
            OpenIdMetadata::new("https://issuer".to_owned(), None, "x".to_owned(), keys.into()).unwrap();
        let request = http::Request::builder().method(method).uri(path).header("accept", accept);
        let response = OpenId::new(metadata).respond(&request.body(()).unwrap().into_parts().0);
        let response = response.map(|response| {
            let response = response.map_err(|status| status.code)?;
            let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
            assert_eq!(header("cache-control"), "public, max-age=3600");
            let body: jsontree::Value = serde_json::from_slice(response.body()).unwrap();
            let members: Vec<String> =
                body.as_object().unwrap().keys().take(1).map(ToString::to_string).collect();
            Ok((header("content-type"), members.concat()))
        });
        let expected = expected.map(|e| e.map(|(kind, body)| (kind.to_owned(), body.to_owned())));
        assert_eq!(response, expected, "{method} {path} {accept}");
    }

    #[test]
    fn documents_are_served_at_their_paths() {
        let configuration = "/.well-known/openid-configuration";
        let keys = "/openid/v1/jwks";
        for path in [configuration, "/.well-known/openid-configuration/"] {
            check(
                "GET",
                path,
                "application/json",
                Some(Ok(("application/json", "id_token_signing_alg_values_supported"))),
            );
        }
        for accept in ["", "*/*", "application/jwk-set+json"] {
            check("GET", keys, accept, Some(Ok(("application/jwk-set+json", "keys"))));
        }
        check("GET", keys, "application/json", Some(Err(406)));
        check("GET", configuration, "application/yaml", Some(Err(406)));
        check("POST", configuration, "", Some(Err(405)));
        check("HEAD", keys, "", Some(Err(405)));
        check("GET", "/openid/v1/jwks//", "", Some(Ok(("application/jwk-set+json", "keys"))));
        check("GET", "/openid/v1/jwks/x", "", Some(Err(404)));
        for path in ["/openid", "/openid/v2/jwks", "/.well-known", "/openid/v1/jwksx"] {
            check("GET", path, "", None);
        }
    }
}
