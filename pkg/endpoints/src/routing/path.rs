//! Paths as the server matches them: decoded, exactly the text that authorization gets.

use std::sync::Arc;

use http::Uri;

/// Paths of the API. Each one includes the paths below it.
const API_ROOTS: [&str; 6] =
    ["/api", "/apis", "/openapi", "/version", "/openid/v1/jwks", "/.well-known/openid-configuration"];

/// Query of a request that is too long for its URI, as an extension of the request. The URI has an empty query.
#[derive(Debug, Clone)]
pub struct LongQuery(pub Arc<str>);

/// True if the API handles a decoded path, which includes all resources. The path must begin with the root.
/// Request info ignores additional slashes at the front, but upstream's router does not.
pub fn is_of_api(path: &str) -> bool {
    API_ROOTS.into_iter().any(|root| is_under(path, root))
}

/// True for `root` and the paths below it.
pub(crate) fn is_under(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the URI of a request with its decoded path. `None` if the path contains characters that a URI
/// must escape; no page or document has such a path.
pub fn with_decoded_path(uri: &Uri, path: &str) -> Option<Uri> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,=:@".contains(&byte);
    if !path.bytes().all(is_plain) {
        return None;
    }
    match uri.query() {
        None => path.parse().ok(),
        Some(query) => format!("{path}?{query}").parse().ok(),
    }
}
