//! The metric families that every transport has.

use ptc_observers::Telemetry;
use ptc_observers::metrics::{Exposition, MetricKind};
use ptc_protocol::Service;

/// Writes the metric families of calls and of the service's limits.
pub fn write_metrics(telemetry: &Telemetry, service: &Service, to: &mut Exposition) {
    telemetry.write_metrics(to);
    let limiter = &service.limiter;
    to.family("ptc_gate_permits", "Calls that may run at the same time.", MetricKind::Gauge)
        .sample(&[], limiter.limits().all);
    to.family("ptc_gate_permits_in_use", "Permits taken.", MetricKind::Gauge).sample(&[], limiter.running());
    let listeners = &service.listeners;
    to.family("ptc_listeners", "Notification channels that may be open at the same time.", MetricKind::Gauge)
        .sample(&[], listeners.limits().all);
    to.family("ptc_listeners_open", "Open notification channels.", MetricKind::Gauge)
        .sample(&[], listeners.count());
}
