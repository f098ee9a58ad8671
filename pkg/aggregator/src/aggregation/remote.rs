//! The server behind one APIService.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::user_info::UserInfo;
use bytes::Bytes;
use client::{Address, Client, Dialer, Error, Limits, Options, Source, Tls, Trust};
use endpoints::aggregated::set_user;
use endpoints::proxy::{Network, OneClient};
use http::{HeaderMap, Method, Request, Response, Uri};
use tokio::time::timeout;

use super::registered::{ApiService, Place};
use crate::config::AggregationConfig;
use crate::service_addresses::{Found, ServiceAddresses};

/// The server behind an APIService.
pub(super) struct Remote {
    pub(super) service: Arc<ApiService>,
    pub(super) place: Place,
    addresses: ServiceAddresses,
    /// Why there is none is told to clients.
    client: Result<Client, String>,
    pub(super) network: Result<Arc<dyn Network>, String>,
}

impl Remote {
    /// The server of an APIService that is at a place. Reads files.
    pub(super) fn new(
        service: Arc<ApiService>,
        place: Place,
        (addresses, dialer): (ServiceAddresses, Option<Dialer>),
        config: &AggregationConfig,
    ) -> Self {
        let trust = match (place.insecure, place.ca_bundle.is_empty()) {
            (true, _) => Trust::Anyone,
            (false, true) => Trust::System,
            (false, false) => Trust::Bundle(Source::Inline(Arc::from(&*place.ca_bundle))),
        };
        let tls = Tls {
            trust,
            certificate: certificate(config),
            server_name: Some(format!("{}.{}.svc", place.name, place.namespace)),
            http1_only: false,
        };
        let client =
            Client::new(Options { tls, dialer, ..Options::default() }).map_err(|error| error.to_string());
        let network = client.clone().map(|client| Arc::new(OneClient(client)) as Arc<dyn Network>);
        Remote { service, place, addresses, client, network }
    }

    /// Whether this is what an APIService wants.
    pub(super) fn is_of(&self, service: &ApiService) -> bool {
        let identity =
            |service: &ApiService| (service.uid.clone(), service.group.clone(), service.version.clone());
        service.place.as_ref() == Some(&self.place) && identity(service) == identity(&self.service)
    }

    /// What there is of the server's Service.
    pub(super) fn found(&self) -> Found {
        self.addresses.find(&self.place.namespace, &self.place.name)
    }

    /// Waits until there is something else of it.
    pub(super) async fn changed(&self, before: &Found) {
        self.addresses.changed(&self.place.namespace, &self.place.name, before).await;
    }

    /// Where the server is.
    ///
    /// # Errors
    /// Why it is nowhere.
    pub(super) fn address(&self) -> Result<Address, String> {
        let Place { namespace, name, port, .. } = &self.place;
        self.addresses.resolve(namespace, name, *port).map_err(|status| status.message)
    }

    /// The path of the version that the server answers for.
    pub(super) fn path(&self) -> String {
        match &*self.service.group {
            "" => format!("/api/{}", self.service.version),
            group => format!("/apis/{group}/{}", self.service.version),
        }
    }

    /// Asks for a document as a user.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(super) async fn get(
        &self,
        path: &str,
        user: &UserInfo,
        headers: &HeaderMap,
        limits: &Limits,
    ) -> Result<Response<Bytes>, String> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let uri = self.address()?.uri(path)?;
        let mut request = request(&uri, user)?;
        request.headers_mut().extend(headers.clone());
        client.call(request, limits).await.map_err(|error| error.of_request(&Method::GET, &uri))
    }

    /// The code with which the server at an address answers for its version, within a time.
    ///
    /// # Errors
    /// Why there is no answer, in the words of Go's client.
    pub(super) async fn probe(
        &self,
        address: &Address,
        user: &UserInfo,
        max: Duration,
    ) -> Result<u16, String> {
        let client = self.client.as_ref().map_err(Clone::clone)?;
        let uri = address.uri(&self.path())?;
        let request = request(&uri, user)?.map(client::full);
        match timeout(max, client.send(request)).await {
            Ok(Ok(answer)) => Ok(answer.status().as_u16()),
            Ok(Err(error)) => Err(error.of_request(&Method::GET, &uri)),
            Err(_) => {
                let told = Error::Timeout.of_request(&Method::GET, &uri);
                Err(format!("{told} (Client.Timeout exceeded while awaiting headers)"))
            }
        }
    }
}

/// What is shown to servers, by which they believe who asks.
fn certificate(config: &AggregationConfig) -> Option<(Source, Source)> {
    let files = config.certificate.as_ref()?;
    Some((Source::File(files.certificate.clone()), Source::File(files.key.clone())))
}

/// Tries what is shown to servers.
///
/// # Errors
/// It cannot be used.
pub(super) fn check(config: &AggregationConfig) -> Result<(), String> {
    let tls = Tls { trust: Trust::Anyone, certificate: certificate(config), ..Tls::default() };
    let client = Client::new(Options { tls, ..Options::default() });
    client.map(drop).map_err(|error| error.to_string())
}

fn request(uri: &Uri, user: &UserInfo) -> Result<Request<Bytes>, String> {
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri.clone();
    set_user(request.headers_mut(), user)?;
    Ok(request)
}
