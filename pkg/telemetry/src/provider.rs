//! Builds the tracer from a configuration, and flushes the spans at shutdown.

use std::sync::Arc;
use std::time::Duration;

use apimachinery::foreign_text::ForeignText;
use client::Dialer;
use component_base::trace::Tracer;
use opentelemetry::trace::TracerProvider;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithTonicConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{BatchSpanProcessor, Sampler, SdkTracerProvider};

use crate::config::TracingConfiguration;
use crate::spans::Spans;
use crate::{Error, ExporterEnvironment, channel};

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
    /// Exports the spans of the server with this id to the collector in `config`, or else in `environment`. If there is a
    /// `dialer` and the collector is not a local Unix socket, connections go through the dialer. The first batch opens
    /// the connection. A collector that is not running costs the spans and nothing else. Must be called within a tokio
    /// runtime.
    ///
    /// The queue of spans is bounded by the library: 2,048 spans, in batches of 512 after 5 s, unless
    /// `OTEL_BSP_MAX_QUEUE_SIZE` and its like in the process's environment differ. Further spans are dropped.
    ///
    /// # Errors
    /// The address, a certificate or a setting of the environment cannot be used.
    pub fn new(
        config: &TracingConfiguration,
        environment: &ExporterEnvironment,
        server_id: &str,
        dialer: Option<Dialer>,
    ) -> Result<Self, Error> {
        let exporter = SpanExporter::builder()
            .with_tonic()
            .with_channel(channel::connect_lazily(config.endpoint.as_deref(), environment, dialer)?)
            .build()?;
        let processor = BatchSpanProcessor::builder(exporter).build();
        let resource = Resource::builder_empty()
            .with_detector(Box::new(EnvResourceDetector::new()))
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
