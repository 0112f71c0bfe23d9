//! The export to an OpenTelemetry collector.

use std::sync::Arc;

use ptc_host::credentials::Redactor;
use ptc_observers::Telemetry;
use ptc_protocol::Service;
#[cfg(feature = "otel")]
use ptc_protocol::settings::Otlp;
use ptc_protocol::settings::{BootError, Settings};
use ptc_transport::http::HttpServer;

/// Least length of a header's value that is a key, in bytes.
#[cfg(feature = "otel")]
const LEAST_KEY: usize = 16;

/// Starts the export, if a collector is named, so that its observer is among those of `telemetry`.
///
/// # Errors
/// If a certificate or URL cannot be used.
#[cfg(feature = "otel")]
pub(super) fn start(
    settings: &Settings,
    redactor: &Redactor,
    telemetry: &mut Telemetry,
    service: &mut Service,
) -> Result<(), BootError> {
    use ptc_host::http::Client;
    use ptc_observers::otel::Otel;

    let Some(otlp) = &settings.diagnostics.otlp else { return Ok(()) };
    hide_headers(otlp, redactor)?;
    let client = match &otlp.certificate {
        None => super::upstreams::client(settings)?,
        Some(path) => Client::with_ca_file(path)
            .map_err(|error| BootError::new(format!("OTEL_EXPORTER_OTLP_CERTIFICATE: {error}")))?,
    };
    let otel = Otel::start(otlp, client)?;
    if otel.exports_spans() {
        service.tracer = Some(otel.clone());
    }
    telemetry.otel = Some(otel);
    Ok(())
}

/// The same of a program that was built without it.
#[cfg(not(feature = "otel"))]
pub(super) fn start(
    settings: &Settings,
    _redactor: &Redactor,
    _telemetry: &mut Telemetry,
    _service: &mut Service,
) -> Result<(), BootError> {
    match settings.diagnostics.otlp {
        None => Ok(()),
        Some(_) => Err(BootError::new(
            "--otlp-endpoint (or OTEL_EXPORTER_OTLP_ENDPOINT) names a collector, and this ptc was built without the feature \
             `otel`; leave it out, or build with the default features",
        )),
    }
}

/// Has the values of the headers removed from all texts: they are keys.
#[cfg(feature = "otel")]
fn hide_headers(otlp: &Otlp, redactor: &Redactor) -> Result<(), BootError> {
    // Short ones are no keys, and would be found everywhere.
    let values = otlp.headers.iter().map(|(_, value)| value).filter(|value| value.len() >= LEAST_KEY);
    redactor.register(values).map_err(|no_room| {
        BootError::new(format!("the headers for the collector cannot be kept out of results: {no_room}"))
    })
}

/// Exports the metrics of an HTTP server from now on.
pub(super) fn export_http_metrics(telemetry: &Arc<Telemetry>, server: &HttpServer) {
    #[cfg(feature = "otel")]
    if let Some(otel) = &telemetry.otel {
        otel.export_metrics(Box::new(server.metrics()));
    }
    #[cfg(not(feature = "otel"))]
    let _ = (telemetry, server);
}

/// Exports the metrics of a server without a listener from now on.
pub(super) fn export_metrics(telemetry: &Arc<Telemetry>, service: &Arc<Service>) {
    #[cfg(feature = "otel")]
    if let Some(otel) = &telemetry.otel {
        let (telemetry, service) = (Arc::downgrade(telemetry), Arc::downgrade(service));
        otel.export_metrics(Box::new(move |to| {
            if let (Some(telemetry), Some(service)) = (telemetry.upgrade(), service.upgrade()) {
                ptc_transport::metrics::write_metrics(&telemetry, &service, to);
            }
        }));
    }
    #[cfg(not(feature = "otel"))]
    let _ = (telemetry, service);
}
