//! Trace recording, if configured.

use std::path::Path;

use egress::Network;
use server::Traces;
use telemetry::{ExporterEnvironment, Provider, TracingConfiguration};

use crate::config::Config;
use crate::error::RunError;
use crate::identity;

/// Traces of a server and their exporter.
pub(super) struct Recorder {
    pub(super) traces: Traces,
    pub(super) provider: Provider,
}

impl Recorder {
    /// Reads `--tracing-config-file`; `None` if it is not set. OpenTelemetry's environment variables complete the file.
    ///
    /// # Errors
    /// Upstream's message about an unreadable or invalid file, or an invalid variable.
    pub(super) fn of(config: &Config) -> Result<Option<Self>, RunError> {
        let Some(path) = &config.tracing_config_file else { return Ok(None) };
        let dialer = config.egress.dialer(Network::ControlPlane);
        let config = TracingConfiguration::parse(&read(path)?)?;
        let environment = ExporterEnvironment::read(|variable| std::env::var(variable).ok());
        let provider = Provider::new(&config, &environment, &identity::of_this_machine(), dialer)?;
        let traces = Traces { tracer: provider.tracer(), sampling_rate: config.sampling_rate() };
        Ok(Some(Recorder { traces, provider }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, RunError> {
    std::fs::read(path).map_err(|error| {
        RunError::System(error).within(format!(
            "failed to read tracing config: unable to read tracing configuration from {path:?}"
        ))
    })
}
