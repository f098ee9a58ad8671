//! OpenTelemetry's environment variables for the connection to the collector
//! (<https://opentelemetry.io/docs/specs/otel/protocol/exporter/>).
//!
//! The exporter library itself reads those for headers, compression, timeout, batches and limits.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::Error;

/// Maximum duration of an export without the variable (OpenTelemetry's default).
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Protocol of this exporter. Upstream's exporter has no other one either.
const GRPC: &str = "grpc";

/// File that an environment variable names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct NamedFile {
    variable: String,
    path: PathBuf,
}

/// Connection settings of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExporterEnvironment {
    /// Collector URL; `None` for the default.
    pub(crate) endpoint: Option<String>,
    /// CA certificates of the collector, PEM.
    certificate: Option<NamedFile>,
    /// Client certificate and its key, PEM. One without the other is ignored, as in upstream.
    client: Option<ClientFiles>,
    /// Maximum duration of an export. The library's own limit covers only repetitions.
    pub(crate) timeout: Duration,
}

impl Default for ExporterEnvironment {
    fn default() -> Self {
        ExporterEnvironment { endpoint: None, certificate: None, client: None, timeout: EXPORT_TIMEOUT }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ClientFiles {
    certificate: NamedFile,
    key: NamedFile,
}

impl ExporterEnvironment {
    /// Reads the variables `OTEL_EXPORTER_OTLP_*` by `lookup`. Those for traces (`OTEL_EXPORTER_OTLP_TRACES_*`) take
    /// precedence. Empty variables count as absent.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let named = |prefix: &str, name: &str| {
            let variable = format!("{prefix}_{name}");
            let value = lookup(&variable)?.trim().to_owned();
            (!value.is_empty()).then_some((variable, value))
        };
        let prefixes = ["OTEL_EXPORTER_OTLP_TRACES", "OTEL_EXPORTER_OTLP"];
        let value = |name: &str| prefixes.iter().find_map(|prefix| named(prefix, name));
        let file = |(variable, path): (String, String)| NamedFile { variable, path: path.into() };
        let client = |prefix: &&str| {
            let certificate = named(prefix, "CLIENT_CERTIFICATE").map(file)?;
            let key = named(prefix, "CLIENT_KEY").map(file)?;
            Some(ClientFiles { certificate, key })
        };
        if let Some((variable, protocol)) = value("PROTOCOL").filter(|(_, protocol)| protocol != GRPC) {
            tracing::warn!(variable, protocol, "unsupported trace protocol, using grpc");
        }
        let milliseconds = value("TIMEOUT").and_then(|(_, text)| text.parse().ok());
        ExporterEnvironment {
            endpoint: value("ENDPOINT").map(|(_, url)| url),
            certificate: value("CERTIFICATE").map(file),
            client: prefixes.iter().find_map(client),
            timeout: milliseconds.map_or(EXPORT_TIMEOUT, Duration::from_millis),
        }
    }

    /// Reads the files. `None` without certificates.
    ///
    /// # Errors
    /// A file is unreadable, or contains no certificate.
    pub(crate) fn tls(&self) -> Result<Option<ClientTlsConfig>, Error> {
        if self.certificate.is_none() && self.client.is_none() {
            return Ok(None);
        }
        let tls = match &self.certificate {
            Some(file) => ClientTlsConfig::new().ca_certificate(Certificate::from_pem(file.certificates()?)),
            None => ClientTlsConfig::new().with_native_roots(),
        };
        Ok(Some(match &self.client {
            Some(files) => {
                tls.identity(Identity::from_pem(files.certificate.certificates()?, files.key.text()?))
            }
            None => tls,
        }))
    }
}

impl NamedFile {
    fn text(&self) -> Result<Vec<u8>, Error> {
        fs::read(&self.path).map_err(|source| Error::File {
            variable: self.variable.clone(),
            path: self.path.clone(),
            source,
        })
    }

    /// Returns the text of a file with at least one certificate.
    fn certificates(&self) -> Result<Vec<u8>, Error> {
        let text = self.text()?;
        let has_certificate = CertificateDer::pem_slice_iter(&text).any(|certificate| certificate.is_ok());
        let absent = || Error::NoCertificate { variable: self.variable.clone(), path: self.path.clone() };
        has_certificate.then_some(text).ok_or_else(absent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> ExporterEnvironment {
        let lookup =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, v)| (*v).to_owned());
        ExporterEnvironment::read(lookup)
    }

    #[test]
    fn variables_for_traces_take_precedence() {
        let environment = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4317"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", " https://traces:4317 "),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/all.pem"),
            ("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", ""),
        ]);
        assert_eq!(environment.endpoint.as_deref(), Some("https://traces:4317"));
        let certificate =
            NamedFile { variable: "OTEL_EXPORTER_OTLP_CERTIFICATE".to_owned(), path: "/all.pem".into() };
        assert_eq!(environment.certificate, Some(certificate));
        assert_eq!(read(&[]), ExporterEnvironment::default());
    }

    #[test]
    fn client_certificate_needs_its_key() {
        let certificate = ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/c.pem");
        assert_eq!(read(&[certificate]).client, None);
        let key = ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/k.pem");
        assert!(read(&[certificate, key]).client.is_some());
        let of_traces = ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/k.pem");
        assert_eq!(read(&[certificate, of_traces]).client, None);
    }

    #[test]
    fn errors_name_variable_and_file() {
        let error = |path: &str| {
            let environment = read(&[("OTEL_EXPORTER_OTLP_CERTIFICATE", path)]);
            environment.tls().map(|tls| tls.is_some()).unwrap_err().to_string()
        };
        assert_eq!(
            error("/nowhere/ca.pem"),
            "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere/ca.pem: No such file or directory (os error 2)"
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-----BEGIN NOTHING-----").unwrap();
        let path = file.path().to_str().unwrap();
        assert_eq!(
            error(path),
            format!("OTEL_EXPORTER_OTLP_CERTIFICATE={path}: the file contains no PEM certificate")
        );
    }
}
