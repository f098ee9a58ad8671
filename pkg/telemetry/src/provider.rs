//! Builds the tracer from a configuration, and flushes the spans at shutdown.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use client::Dialer;
use component_base::trace::Tracer;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider};

use crate::config::TracingConfiguration;
use crate::spans::Spans;
use crate::{Error, channel};

/// Maximum number of spans that wait for the collector; further spans are dropped. The bounds are those of
/// OpenTelemetry's Go library.
const QUEUED_MAX: usize = 2048;
/// Maximum number of spans per batch.
const BATCH_MAX: usize = 512;
/// Delay before a batch that is not full is sent.
const BATCH_AFTER: Duration = Duration::from_secs(5);
/// Timeout for the export of a batch.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for the last batches at shutdown.
const FLUSH_MAX: Duration = Duration::from_secs(5);

/// Upstream's instrumentation scopes, by which collectors can filter.
const REQUESTS: &str = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp";
const INSIDE: &str = "k8s.io/component-base/tracing";

/// Exports spans to a collector.
#[derive(Debug, Clone)]
pub struct Provider {
    provider: SdkTracerProvider,
}

impl Provider {
    /// Exports the spans of the server with this id to the collector in `config`. If there is a `dialer` and
    /// the collector is not a local Unix socket, connections go through the dialer. The first batch opens the
    /// connection. A collector that is not running costs the spans and nothing else. Must be called within a
    /// tokio runtime.
    ///
    /// # Errors
    /// The address is valid for gRPC but not supported by this server.
    pub fn new(
        config: &TracingConfiguration,
        server_id: &str,
        dialer: Option<Dialer>,
    ) -> Result<Self, Error> {
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_channel(channel::connect_lazily(config.endpoint.as_deref(), dialer)?)
            .with_timeout(EXPORT_TIMEOUT)
            .build()?;
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

    /// Returns the tracer that records requests.
    pub fn tracer(&self) -> Arc<dyn Tracer> {
        let tracer =
            |name: &'static str| self.provider.tracer_with_scope(InstrumentationScope::builder(name).build());
        Arc::new(Spans { requests: tracer(REQUESTS), inside: tracer(INSIDE) })
    }

    /// Sends the remaining spans and stops. Spans that the collector does not accept in time are lost.
    pub async fn shutdown(self) {
        // The library blocks while it waits.
        let stopped =
            tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH_MAX)).await;
        if let Ok(Err(error)) = stopped {
            tracing::warn!(error = %ForeignText::displayed(error), "could not flush the last spans to the collector");
        }
    }
}
