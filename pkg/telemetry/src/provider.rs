//! From a configuration to a tracer, and at the end to a collector that has got everything.

use std::sync::Arc;
use std::time::Duration;

use client::Dialer;
use component_base::trace::Tracer;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider};

use crate::channel;
use crate::config::TracingConfiguration;
use crate::spans::Spans;

/// How many spans may wait for the collector; further ones are dropped. Upstream's library has the same
/// bounds.
const QUEUED_MAX: usize = 2048;
/// How many are sent at a time, at most.
const BATCH_MAX: usize = 512;
/// How long an ended span waits for others to be sent with.
const BATCH_AFTER: Duration = Duration::from_secs(5);
/// How long the collector may take for a batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last batches may take when the server stops.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// Names under which spans are made, which collectors can filter by: upstream's.
const REQUESTS: &str = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp";
const INSIDE: &str = "k8s.io/component-base/tracing";

/// What sends spans to a collector.
#[derive(Debug, Clone)]
pub struct Provider {
    provider: SdkTracerProvider,
}

impl Provider {
    /// Sends the spans of the server with this id to the collector that `config` names, through `dialer` if there is
    /// one and the collector is no socket of this machine. Nothing is connected
    /// before the first batch, and a collector that is not there costs spans and nothing else. Must be called
    /// within a tokio runtime.
    ///
    /// # Errors
    /// An address that gRPC could use and this server cannot.
    pub fn new(
        config: &TracingConfiguration,
        server_id: &str,
        dialer: Option<Dialer>,
    ) -> Result<Self, String> {
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_channel(channel::to(config.endpoint.as_deref(), dialer)?)
            .with_timeout(EXPORT_TIMEOUT)
            .build()
            .map_err(|error| error.to_string())?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUED_MAX)
            .with_max_export_batch_size(BATCH_MAX)
            .with_scheduled_delay(BATCH_AFTER)
            .build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.name", "apiserver"),
                KeyValue::new("service.instance.id", server_id.to_owned()),
            ])
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(Sampler::AlwaysOn)
            .with_resource(resource)
            .build();
        Ok(Provider { provider })
    }

    /// What records requests.
    pub fn tracer(&self) -> Arc<dyn Tracer> {
        let tracer =
            |name: &'static str| self.provider.tracer_with_scope(InstrumentationScope::builder(name).build());
        Arc::new(Spans { requests: tracer(REQUESTS), inside: tracer(INSIDE) })
    }

    /// Sends what is left, and stops. What the collector does not take in time is lost.
    pub async fn shutdown(self) {
        // The library waits by blocking.
        let stopped =
            tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_MAX)).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(%error, "the last spans did not reach their collector");
        }
    }
}
