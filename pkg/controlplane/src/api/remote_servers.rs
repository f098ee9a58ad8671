//! Connections to other servers: extension API servers and webhooks.

use std::net::Ipv4Addr;
use std::sync::Arc;

use aggregator::{Aggregator, ServiceAddresses, api_services};
use apiextensions::{ConversionDeps, ConversionMetrics};
use client::Address;
use client::kubeconfig::{Credentials, WebhookCredentials};
use client::services::Routing;
use client::webhook::Dialers;
use component_base::features::Gate;
use egress::Network;
use endpoints::aggregated::Aggregation;
use endpoints::routing::served::ServedApi;
use registry::Registry;

use super::tasks::ApiTasks;
use crate::config::Config;
use crate::error::RunError;
use crate::process::ProcessContext;
use crate::system::SystemEntropy;
use controllers::hook::{StartEvent, hook, start_event};

/// Connections to other servers: extension API servers and webhooks.
pub(super) struct RemoteServers {
    pub(super) aggregation: Aggregation,
    /// Shared dependencies of conversion webhooks.
    pub(super) webhooks: ConversionDeps,
    /// Transports to webhooks.
    pub(super) dialers: Dialers,
    /// Completes when the APIServices of built-in versions are available.
    pub(super) available: StartEvent,
}

/// Builds the connections to other servers. `own_credentials` are for webhooks that this server itself serves.
pub(super) fn remote_servers(
    config: &Config,
    registry: &Registry,
    served: &Arc<ServedApi>,
    own_credentials: Credentials,
    process: &ProcessContext,
    tasks: &mut ApiTasks,
) -> Result<RemoteServers, RunError> {
    let (services, service_informer) = ServiceAddresses::new(registry, routing(config), loopback(config));
    let to_services = config.egress.dialer(Network::Cluster);
    let to_urls = config.egress.dialer(Network::ControlPlane);
    let addresses = services.clone();
    let dialer = to_services.clone();
    let (aggregator, registrations) =
        Aggregator::new(&config.aggregation, registry, served, addresses, dialer, &process.metrics)?;
    let aggregation = Aggregation {
        servers: aggregator.servers(),
        send_uid: config.gates.enabled(Gate::RemoteRequestHeaderUID),
        forward_redirects: config.aggregation.forward_redirects,
    };
    let credentials = WebhookCredentials::default().with_own_credentials(own_credentials);
    let webhooks = ConversionDeps {
        dialers: Dialers { services: services.of_webhooks(), to_services, to_urls },
        credentials,
        metrics: Arc::new(ConversionMetrics::new(&process.metrics)),
        calls: Arc::clone(&process.webhooks),
        entropy: Arc::new(SystemEntropy),
    };
    tasks.hooks.extend(aggregator::HOOKS.map(|name| hook(name, start_event(aggregator.synced()))));
    let available = start_event(aggregator.available(api_services::names(&served.now().catalog)));
    tasks.add_background(async move {
        tokio::join!(service_informer.run(), registrations.run(), aggregator.run());
    });
    let dialers = webhooks.dialers.clone();
    Ok(RemoteServers { aggregation, webhooks, dialers, available })
}

/// Returns the routing mode of connections to Services.
fn routing(config: &Config) -> Routing {
    if config.aggregation.endpoint_routing { Routing::Endpoints } else { Routing::ClusterIp }
}

/// Returns the loopback address of this server.
pub(super) fn loopback(config: &Config) -> Address {
    let bind = config.serving.bind.address;
    let host = if bind.ip().is_unspecified() { Ipv4Addr::LOCALHOST.into() } else { bind.ip() };
    Address { host: host.to_string(), port: bind.port() }
}
