//! Client of the server behind an APIService.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::user_info::UserInfo;
use bytes::Bytes;
use client::{Address, Client, Dialer, Limits, Options, Source, Tls, Trust};
use endpoints::aggregated::set_user;
use endpoints::proxy::{Network, SingleClient};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use tokio::time::timeout;

use super::registered::{ApiService, ServerAddress};
use crate::config::AggregationConfig;
use crate::error::Error;
use crate::service_addresses::{ResolvedService, ServiceAddresses};

/// The server behind an APIService.
pub(super) struct Remote {
    pub(super) service: Arc<ApiService>,
    pub(super) address: ServerAddress,
    addresses: ServiceAddresses,
    /// The error is sent to clients.
    client: Result<Client, client::Error>,
    pub(super) network: Result<Arc<dyn Network>, client::Error>,
}

impl Remote {
    /// Creates the client for an APIService and a location. Reads files.
    pub(super) fn new(
        service: Arc<ApiService>,
        address: ServerAddress,
        addresses: ServiceAddresses,
        dialer: Option<Dialer>,
        config: &AggregationConfig,
    ) -> Self {
        let trust = match (address.insecure, address.ca_bundle.is_empty()) {
            (true, _) => Trust::Unverified,
            (false, true) => Trust::System,
            (false, false) => Trust::Bundle(Source::Inline(Arc::from(&*address.ca_bundle))),
        };
        let tls = Tls {
            trust,
            certificate: certificate(config),
            server_name: Some(format!("{}.{}.svc", address.name, address.namespace)),
            http1_only: false,
        };
        let client = Client::new(Options { tls, dialer, ..Options::default() });
        let network = client.clone().map(|client| Arc::new(SingleClient(client)) as Arc<dyn Network>);
        Remote { service, address, addresses, client, network }
    }

    /// True if it matches the APIService.
    pub(super) fn is_of(&self, service: &ApiService) -> bool {
        let identity =
            |service: &ApiService| (service.uid.clone(), service.group.clone(), service.version.clone());
        service.address.as_ref() == Some(&self.address) && identity(service) == identity(&self.service)
    }

    /// Returns the server's Service.
    pub(super) fn resolved_service(&self) -> ResolvedService {
        self.addresses.find(&self.address.namespace, &self.address.name)
    }

    /// Waits until the Service changes.
    pub(super) async fn wait_for_change(&self, before: &ResolvedService) {
        self.addresses.changed(&self.address.namespace, &self.address.name, before).await;
    }

    /// Resolves the server's address.
    ///
    /// # Errors
    /// The Service leads nowhere.
    pub(super) fn address(&self) -> Result<Address, Error> {
        let ServerAddress { namespace, name, port, .. } = &self.address;
        Ok(self.addresses.resolve(namespace, name, *port)?)
    }

    /// Returns the path of the server's API version.
    pub(super) fn path(&self) -> String {
        match &*self.service.group {
            "" => format!("/api/{}", self.service.version),
            group => format!("/apis/{group}/{}", self.service.version),
        }
    }

    /// Fetches a document on behalf of a user.
    ///
    /// # Errors
    /// The request failed.
    pub(super) async fn get(
        &self,
        path: &str,
        user: &UserInfo,
        headers: &HeaderMap,
        limits: &Limits,
    ) -> Result<Response<Bytes>, Error> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let uri = self.address()?.uri(path)?;
        let mut request = request(&uri, user)?;
        request.headers_mut().extend(headers.clone());
        client.call(request, limits).await.map_err(|error| failed(error, &uri))
    }

    /// Sends a request for the server's version to an address and returns the status code, within a timeout.
    ///
    /// # Errors
    /// The request failed, with the message of Go's client.
    pub(super) async fn probe(
        &self,
        address: &Address,
        user: &UserInfo,
        max: Duration,
    ) -> Result<StatusCode, Error> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let uri = address.uri(&self.path())?;
        let request = request(&uri, user)?.map(client::full);
        match timeout(max, client.send(request)).await {
            Ok(Ok(response)) => Ok(response.status()),
            Ok(Err(error)) => Err(failed(error, &uri)),
            Err(_) => {
                let source = client::Error::Timeout;
                let text = source.of_request(&Method::GET, &uri);
                let message = format!("{text} (Client.Timeout exceeded while awaiting headers)");
                Err(Error::Request { message, source })
            }
        }
    }
}

/// Returns the client certificate that authenticates this server as a proxy.
fn certificate(config: &AggregationConfig) -> Option<(Source, Source)> {
    let files = config.certificate.as_ref()?;
    Some((Source::File(files.certificate.clone()), Source::File(files.key.clone())))
}

/// Checks the client certificate.
///
/// # Errors
/// It is unusable.
pub(super) fn check(config: &AggregationConfig) -> Result<(), Error> {
    let tls = Tls { trust: Trust::Unverified, certificate: certificate(config), ..Tls::default() };
    let client = Client::new(Options { tls, ..Options::default() });
    Ok(client.map(drop)?)
}

fn failed(source: client::Error, uri: &Uri) -> Error {
    Error::Request { message: source.of_request(&Method::GET, uri), source }
}

fn request(uri: &Uri, user: &UserInfo) -> Result<Request<Bytes>, Error> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri.clone();
    set_user(request.headers_mut(), user)?;
    Ok(request)
}
