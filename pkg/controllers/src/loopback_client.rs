//! HTTP client for requests of the server to itself.

use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use bytes::Bytes;
use client::kubeconfig::Credentials;
use client::{Address, Client, Limits, Options, Source, Tls, Trust};
use component_base::features::Release;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request};
use jsontree::Value;
use schema::object::Object;

/// Limits of one request.
const LIMITS: Limits =
    Limits { total: Duration::from_secs(10), response_bytes_max: 4 << 20, redirects_max: 0 };

/// Loopback client. Its requests pass admission, audit and metrics like those of any client. Cheap to clone.
#[derive(Clone)]
pub struct LoopbackClient {
    client: Client,
    address: Address,
}

/// A failed request.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The status code; 0 if there was no response.
    pub code: u16,
    message: String,
}

impl LoopbackClient {
    /// Creates a client with these credentials for an address.
    ///
    /// # Errors
    /// The credentials are incomplete or unusable.
    pub fn new(credentials: Credentials, address: Address) -> Result<Self, client::Error> {
        let Credentials { bearer, expected, .. } = credentials;
        let expected = expected.ok_or(client::Error::credentials("nobody is expected".to_owned()))?;
        let tls = Tls {
            trust: Trust::Bundle(Source::Inline(expected.authorities)),
            server_name: Some(expected.name),
            ..Tls::default()
        };
        let client = Client::new(Options { tls, bearer, ..Options::default() });
        Ok(LoopbackClient { client: client?, address })
    }

    /// Reads an object, if it exists.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn get(&self, path: &str) -> Result<Option<Object>, RequestError> {
        match self.send(Method::GET, path, Bytes::new()).await {
            Ok(object) => Ok(Some(object)),
            Err(refused) if refused.code == 404 => Ok(None),
            Err(refused) => Err(refused),
        }
    }

    /// Creates an object in the collection at `path`, and returns the stored object.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn create(&self, path: &str, object: &Object) -> Result<Object, RequestError> {
        self.send(Method::POST, path, body(object)).await
    }

    /// Updates an object, and returns the stored object.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn update(&self, path: &str, object: &Object) -> Result<Object, RequestError> {
        self.send(Method::PUT, path, body(object)).await
    }

    /// Deletes the object or collection at `path`, and returns the response.
    ///
    /// # Errors
    /// [`RequestError`].
    pub async fn delete(&self, path: &str, options: &Object) -> Result<Object, RequestError> {
        self.send(Method::DELETE, path, body(options)).await
    }

    async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Object, RequestError> {
        let broken = |message: String| RequestError { code: 0, message };
        let uri = self.address.uri(path).map_err(|error| broken(error.to_string()))?;
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // The part before the slash is the field manager.
        let user_agent = format!("kube-apiserver/v{}", Release::THIS);
        headers.extend(HeaderValue::try_from(user_agent).ok().map(|value| (USER_AGENT, value)));
        let response = self.client.call(request, &LIMITS).await;
        let response = response.map_err(|error| broken(error.of_request(&method, &uri)))?;
        let code = response.status().as_u16();
        let decoded = schema::json::decode_untyped(response.body()).map(|decoded| decoded.value);
        match decoded {
            Ok(Value::Object(object)) if (200..300).contains(&code) => Ok(object),
            Ok(value) => {
                let message = value.get("message").and_then(Value::as_str).unwrap_or("no message");
                Err(RequestError { code, message: ForeignText::new(message).into() })
            }
            Err(error) => Err(RequestError { code, message: error.to_string() }),
        }
    }
}

fn body(object: &Object) -> Bytes {
    serde_json::to_vec(object).unwrap_or_default().into()
}
