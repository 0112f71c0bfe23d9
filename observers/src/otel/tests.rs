use std::sync::Arc;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span as SpanMessage;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message;
use ptc_host::time;
use ptc_host::trace::{OpenSpan, SpanWork};
use ptc_mcp::trace_context::TraceContext;
use ptc_protocol::observer::Tracer;

use super::*;

const CLIENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// An export whose thread is never started.
fn otel(sampler: Sampler) -> Otel {
    Otel {
        queue: Arc::new(SpanQueue::new(100, 100, Ids::new().unwrap())),
        sampler,
        traces: true,
        source: Arc::default(),
        closing: watch::Sender::new(false),
        ended: Mutex::new(channel().1),
    }
}

/// The spans that wait, as the messages of OpenTelemetry's own crate.
fn spans(otel: &Otel) -> Vec<SpanMessage> {
    otel.queue.take_batch().iter().map(|span| SpanMessage::decode(&**span).unwrap()).collect()
}

fn attributes(span: &SpanMessage) -> Vec<String> {
    let shown = |attribute: &opentelemetry_proto::tonic::common::v1::KeyValue| {
        let value = attribute.value.clone().and_then(|value| value.value);
        format!("{}={}", attribute.key, format!("{value:?}").replace("Some(", "").replace(')', ""))
    };
    span.attributes.iter().map(shown).collect()
}

#[test]
fn a_trace_continues_that_of_its_client() {
    let client = TraceContext::parse(CLIENT, Some("a=b")).unwrap();
    let trace = otel(Sampler::default()).begin(Some(client.clone()));
    assert!(trace.is_recorded());
    assert_eq!((trace.id(), trace.parent()), (client.trace_id, Some(client.span_id)));
    assert_ne!(trace.context.span_id, client.span_id);
    assert_eq!(trace.context.state, client.state);
}

#[test]
fn a_client_that_does_not_record_is_not_recorded_here_and_travels_on() {
    let client = TraceContext::parse(&CLIENT.replace("-01", "-00"), None).unwrap();
    let trace = otel(Sampler::default()).begin(Some(client.clone()));
    assert!(!trace.is_recorded());
    assert_eq!(trace.context, client);
}

#[test]
fn a_call_without_a_client_has_a_trace_of_its_own() {
    let otel = otel(Sampler::default());
    let (one, other) = (otel.begin(None), otel.begin(None));
    assert!(one.is_recorded() && one.context.is_sampled);
    assert_ne!(one.id(), other.id());
    assert_eq!(one.parent(), None);
}

#[test]
fn a_call_of_an_upstream_is_a_client_span_with_the_names_of_the_conventions() {
    let otel = otel(Sampler::default());
    let trace = Arc::new(otel.begin(None));
    let call = |transport, method, tool, fault| {
        let span = OpenSpan::below(Some(&trace)).unwrap();
        let http_status = (fault == Some("rate_limited")).then_some(429);
        let rpc_code = (fault == Some("upstream_error")).then_some(-32603);
        span.end(SpanWork::Call { upstream: "fs", transport, method, tool, fault, rpc_code, http_status });
    };
    call("mcp_stdio", "tools/call", Some("read\u{202e}"), None);
    call("mcp_http", "resources/read", None, Some("rate_limited"));
    let long = "x".repeat(5000);
    call("openapi", "tools/call", Some(&long), None);
    call("mcp_http", "prompts/get", None, Some("upstream_error"));
    let spans = spans(&otel);
    assert!(spans.iter().all(|span| span.kind == i32::from(SpanKind::Client)));
    assert_eq!(attributes(&spans[3]).last().map(String::as_str), Some("error.type=StringValue(\"-32603\""));
    assert!(spans.iter().all(|span| span.parent_span_id == trace.context.span_id.0));
    assert!(spans[0].name.starts_with("tools/call read") && spans[0].name.is_ascii(), "{}", spans[0].name);
    assert_eq!(spans[0].status, None);
    assert_eq!(
        attributes(&spans[1]),
        [
            "ptc.upstream=StringValue(\"fs\"",
            "mcp.method.name=StringValue(\"resources/read\"",
            "network.transport=StringValue(\"tcp\"",
            "http.response.status_code=IntValue(429",
            "error.type=StringValue(\"rate_limited\"",
        ]
    );
    assert_eq!(
        (&*spans[1].name, spans[1].status.as_ref().map(|status| status.code)),
        ("resources/read", Some(2))
    );
    assert_eq!(spans[2].name.len(), "execute_tool ".len() + 256);
    assert!(attributes(&spans[2]).iter().all(|text| !text.starts_with("mcp.")));
}

#[test]
fn a_span_ends_now_and_began_as_long_ago_as_it_took() {
    let otel = otel(Sampler::default());
    let clock = Clock::stepped();
    let _entered = clock.enter();
    let (trace, started) = (otel.begin(None).below(), time::now());
    clock.advance(Duration::from_millis(250));
    trace.end(started, SpanWork::Run { failure: Some("timeout") });
    let span = spans(&otel).pop().unwrap();
    // A machine that does much else takes longer.
    let took = span.end_time_unix_nano - span.start_time_unix_nano;
    assert!((250_000_000..60_250_000_000).contains(&took), "{took}");
    assert_eq!((&*span.name, span.kind), ("run", i32::from(SpanKind::Internal)));
    assert_eq!(attributes(&span), ["error.type=StringValue(\"timeout\""]);
}

#[test]
fn a_request_is_read_by_the_messages_of_opentelemetry() {
    let otel = otel(Sampler::default());
    let trace = otel.begin(TraceContext::parse(CLIENT, Some("a=b")));
    for failure in [None, Some("timeout")] {
        trace.end(time::now(), SpanWork::Run { failure });
    }
    let (resource, scope) = (vec![0x0a, 0], vec![0x0a, 3, b'p', b't', b'c']);
    let request = spans::export_request(&resource, &scope, &otel.queue.take_batch());
    let request = ExportTraceServiceRequest::decode(&*request).unwrap();
    let scopes = &request.resource_spans[0].scope_spans[0];
    assert_eq!(
        request.resource_spans[0].resource.as_ref().map(|resource| resource.attributes.len()),
        Some(1)
    );
    assert_eq!(scopes.scope.as_ref().map(|scope| &*scope.name), Some("ptc"));
    let [good, bad] = &*scopes.spans else { panic!("{scopes:?}") };
    assert_eq!((&*good.name, good.status.clone(), good.flags, &*good.trace_state), ("run", None, 1, "a=b"));
    assert_eq!(good.trace_id, trace.id().0);
    assert_eq!(good.parent_span_id, [0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7]);
    assert_eq!(bad.status.as_ref().map(|status| (status.code, &*status.message)), Some((2, "")));
}
