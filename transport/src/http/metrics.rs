//! `GET` on the metrics path.

use std::net::IpAddr;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderValue, Method, StatusCode};

use super::admission::{Target, admit, check_source, names_loopback};
use super::answer::{self, HttpResponse};
use super::endpoint::Endpoint;
use super::headers::Headers;
use crate::metrics::write_metrics;
use ptc_observers::metrics::{Exposition, Format, MetricKind};
use ptc_protocol::operator::OperatorUse;

/// Answers a scrape. Requires the credentials of the MCP path, unless it comes from this machine, to which the listener is bound;
/// with a policy, those of an operator, as the labels name all upstreams.
pub(super) async fn answer(
    endpoint: &Endpoint,
    peer: IpAddr,
    target: Target<'_>,
    method: &Method,
    headers: &Headers<'_>,
) -> HttpResponse {
    let admitted = if is_of_this_machine(endpoint, target.authority, headers) {
        check_source(endpoint, target.authority, headers)
    } else {
        let service = &endpoint.service;
        match admit(endpoint, peer, target, headers).await {
            Ok(caller) if service.policy.is_some() && !caller.is_operator(service) => {
                if let Some(audit) = &endpoint.telemetry.audit {
                    audit.denied(caller.principal.name(), "metrics", "not_an_operator");
                }
                let text = "the metrics name all upstreams: with a policy they are for operators";
                Err(Box::new(answer::text(StatusCode::FORBIDDEN, text)))
            }
            Ok(caller) => {
                if service.policy.is_some() {
                    endpoint.record_operator(&caller, OperatorUse::ReadMetrics);
                }
                Ok(())
            }
            Err(refusal) => Err(refusal),
        }
    };
    if let Err(refusal) = admitted {
        return *refusal;
    }
    if *method != Method::GET && *method != Method::HEAD {
        return answer::method_not_allowed("GET, HEAD");
    }
    let accept = headers.all.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let format = Format::negotiate(accept);
    let mut to = Exposition::new(format);
    write(endpoint, &mut to);
    let mut answer = answer::json(StatusCode::OK, to.finish());
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(format.content_type()));
    answer
}

/// Whether a request was made on this machine to the address of the listener itself, as far as it can be seen: a proxy in front says
/// for whom it asks, or names the host that it was asked for.
fn is_of_this_machine(endpoint: &Endpoint, authority: Option<&str>, headers: &Headers<'_>) -> bool {
    let is_forwarding = |name: &str| name == "forwarded" || name == "via" || name.starts_with("x-forwarded-");
    endpoint.loopback_bind
        && names_loopback(authority, headers)
        && !headers.all.keys().any(|name| is_forwarding(name.as_str()))
}

/// Writes all metric families of a server with this endpoint.
pub(super) fn write(endpoint: &Endpoint, to: &mut Exposition) {
    write_metrics(&endpoint.telemetry, &endpoint.service, to);
    endpoint.counts.write_metrics(to);
    endpoint.sessions.write_metrics(to);
    to.family("ptc_http_requests_in_progress", "HTTP requests that are being answered.", MetricKind::Gauge)
        .sample(&[], endpoint.active.count());
    let (held, most) = endpoint.bodies.held();
    to.family(
        "ptc_http_body_bytes",
        "Bytes of request bodies and of unread answers held now.",
        MetricKind::Gauge,
    )
    .sample(&[], held);
    to.family("ptc_http_body_bytes_max", "Bytes of them that may be held.", MetricKind::Gauge)
        .sample(&[], most);
    to.family("ptc_http_head_bytes", "Bytes of heads that are not complete.", MetricKind::Gauge)
        .sample(&[], endpoint.bodies.heads());
    endpoint.connections.write_metrics(to);
    let draining = u8::from(endpoint.service.is_draining());
    to.family("ptc_draining", "1 while the server is about to stop.", MetricKind::Gauge)
        .sample(&[], draining);
}
