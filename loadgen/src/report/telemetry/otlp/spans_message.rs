//! Fills the messages with spans (<https://opentelemetry.io/docs/specs/otel/trace/api/>).

use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{self as v1, ResourceSpans, ScopeSpans, Status};

use super::parts::{attributes, of_command, scope, seconds};
use crate::measure::{ErrorKind, TracedEnd};
use crate::report::telemetry::known;
use crate::report::telemetry::spans::Span;

/// Returns the message with these spans.
pub(super) fn message(resource: &[(String, String)], spans: &[Span]) -> ExportTraceServiceRequest {
    let spans = spans.iter().map(span).collect();
    let scope_spans = ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() };
    let resource_spans = ResourceSpans {
        resource: Some(of_command(resource)),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

/// Returns a request as a span, by the semantic conventions for clients of HTTP. The URL and what the server answered
/// are left out, because they may have a secret.
fn span(of: &Span) -> v1::Span {
    let Span { target, round, worker, request } = of;
    let step = target.steps.get(request.step as usize);
    let after_send = |time: Duration| {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        request.sent_unix_ns.saturating_add(time)
    };
    let status = request.status.map(|status| status.to_string());
    let (ending, error) = match request.end {
        TracedEnd::Answered => ("answered", None),
        // The conventions want the status itself, if that is the error.
        TracedEnd::Failed(ErrorKind::Status) => {
            // A failed call of gRPC has the status 200, too.
            let told = status.clone().filter(|status| status != "200");
            ("failed", Some(told.unwrap_or_else(|| ErrorKind::Status.to_string())))
        }
        TracedEnd::Failed(kind) => ("failed", Some(kind.to_string())),
        // The server has done nothing wrong.
        TracedEnd::CutOff => ("cut_off", None),
    };
    // A response that the step expects is no error, even with the status 404.
    let code = if error.is_some() { StatusCode::Error } else { StatusCode::Unset };
    let of_step = step.map(|step| known::of_step(step, request.phase)).into_iter().flatten();
    let of_request = step.map(|step| known::of_request(step, target)).into_iter().flatten();
    let own = [
        ("loadgen.round", Some(round.to_string())),
        ("loadgen.worker", Some(worker.to_string())),
        ("loadgen.ending", Some(ending.to_owned())),
        ("error.type", error),
        ("http.response.status_code", status),
        ("http.request.resend_count", request.resent.then(|| "1".to_owned())),
    ];
    let own = own.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let all = target.attributes().chain(of_step).chain(of_request).chain(own).collect::<Vec<_>>();
    let mut attributes = attributes(&all);
    if target.is_open {
        attributes.push(seconds("loadgen.request.delay", request.delay.as_secs_f64()));
    }
    let first_byte = request.first_byte.map(|after| Event {
        time_unix_nano: after_send(after),
        name: "loadgen.first_byte".to_owned(),
        ..Event::default()
    });
    v1::Span {
        trace_id: request.context.trace_id.to_vec(),
        span_id: request.context.span_id.to_vec(),
        // Sampled, as the server was told.
        flags: 1,
        name: step.map(|step| step.name.clone()).unwrap_or_default(),
        kind: SpanKind::Client.into(),
        start_time_unix_nano: request.sent_unix_ns,
        end_time_unix_nano: after_send(request.took),
        attributes,
        events: first_byte.into_iter().collect(),
        status: Some(Status { code: code.into(), ..Status::default() }),
        ..v1::Span::default()
    }
}
