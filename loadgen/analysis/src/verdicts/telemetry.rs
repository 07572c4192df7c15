//! Checks whether a collector has all metrics and spans of a run.

use crate::record::{RunRecord, SpansRecord, TelemetryRecord, Verdict, VerdictKind};
use loadgen_text::{count, counted};

/// Returns a verdict if the collector of `--otlp` lacks some metrics or spans.
pub(super) fn telemetry(record: &RunRecord) -> Option<Verdict> {
    let telemetry = record.environment.telemetry.as_ref()?;
    let spans = telemetry.spans.as_ref().and_then(lack_of_spans);
    let all: Vec<String> = lack(telemetry).into_iter().chain(spans).collect();
    if all.is_empty() {
        return None;
    }
    let message = all.join("; ");
    let advice = "see the log of the collector".to_owned();
    Some(Verdict { kind: VerdictKind::TelemetryIncomplete, target: None, message, advice })
}

/// Describes what the collector lacks; `None` if it has all.
fn lack(of: &TelemetryRecord) -> Option<String> {
    let TelemetryRecord { url, messages, delivered, rejected_values, .. } = of;
    let lost = messages - messages.min(delivered);
    let lost = (lost > 0).then(|| {
        let all = counted(*messages, "message");
        format!("{} of {all} with metrics did not arrive", count(lost))
    });
    let rejected = (*rejected_values > 0)
        .then(|| format!("the collector rejected {}", counted(*rejected_values, "value")));
    let end = match of.is_complete {
        false => Some("it did not receive all that was measured"),
        true if lost.is_some() => Some("later messages have all that was measured"),
        true => None,
    };
    let all: Vec<String> = lost.into_iter().chain(rejected).chain(end.map(str::to_owned)).collect();
    let why = of.last_error.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    (!all.is_empty()).then(|| format!("{url}: {}{why}", all.join("; ")))
}

/// Describes the spans that the collector lacks; `None` if it has one for each request that should be traced.
fn lack_of_spans(of: &SpansRecord) -> Option<String> {
    let SpansRecord { url, traced, delivered, untraced, last_error, .. } = of;
    let lost = traced - traced.min(delivered);
    let lost = (lost > 0).then(|| {
        let why = last_error.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{} of {} did not arrive{why}", count(lost), counted(*traced, "span"))
    });
    let untraced = (*untraced > 0).then(|| {
        let these = counted(*untraced, "more request");
        format!("{these} should be traced, but a process traces at most 1,000 in a second")
    });
    let all: Vec<String> = lost.into_iter().chain(untraced).collect();
    (!all.is_empty()).then(|| format!("{url}: {}", all.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lack_of(counts: [u64; 3], is_complete: bool) -> Option<String> {
        let [messages, delivered, rejected_values] = counts;
        let last_error = (messages > delivered || rejected_values > 0).then(|| "why".to_owned());
        let url = "http://a".to_owned();
        lack(&TelemetryRecord {
            url,
            messages,
            delivered,
            rejected_values,
            is_complete,
            last_error,
            spans: None,
        })
    }

    #[test]
    fn missing_spans_are_told() {
        let lack = |traced, delivered, untraced| {
            let last_error = (delivered < traced).then(|| "why".to_owned());
            let url = "http://a".to_owned();
            let slowest = Vec::new();
            lack_of_spans(&SpansRecord { url, traced, delivered, untraced, last_error, slowest })
        };
        assert_eq!(lack(60, 60, 0), None);
        let said = "http://a: 12 of 60 spans did not arrive (why)";
        assert_eq!(lack(60, 48, 0).unwrap(), said);
        let more =
            "1,000 more requests should be traced, but a process traces at most 1,000 in a second";
        assert_eq!(lack(60, 60, 1_000).unwrap(), format!("http://a: {more}"));
        assert_eq!(lack(60, 48, 1_000).unwrap(), format!("{said}; {more}"));
    }

    #[test]
    fn what_a_collector_lacks_is_told() {
        assert_eq!(lack_of([60, 60, 0], true), None);
        let said = |counts, is_complete| lack_of(counts, is_complete).unwrap();
        let lost = "http://a: 12 of 60 messages with metrics did not arrive";
        let later = "later messages have all that was measured";
        assert_eq!(said([60, 48, 0], true), format!("{lost}; {later} (why)"));
        let end = "it did not receive all that was measured";
        assert_eq!(said([60, 48, 0], false), format!("{lost}; {end} (why)"));
        let rejected = "the collector rejected 7 values";
        assert_eq!(said([60, 60, 7], true), format!("http://a: {rejected} (why)"));
        assert_eq!(said([60, 48, 7], false), format!("{lost}; {rejected}; {end} (why)"));
        assert_eq!(said([0, 0, 0], false), format!("http://a: {end}"));
    }
}
