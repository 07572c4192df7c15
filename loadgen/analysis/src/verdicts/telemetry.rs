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
    let is_theirs = telemetry.spans.as_ref().is_none_or(|spans| spans.over_limit == 0);
    let advice = if is_theirs { "see the log of the collector" } else { FEWER };
    let advice = advice.to_owned();
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

/// Advice if more requests should be traced than can be.
const FEWER: &str = "trace fewer requests: name a larger number for --trace-one-in";

/// Describes the spans that the collector lacks; `None` if it has one for each request that should be traced.
fn lack_of_spans(of: &SpansRecord) -> Option<String> {
    let SpansRecord { url, traced, delivered, dropped, over_limit, last_error, .. } = of;
    let lost = traced.saturating_sub(delivered.saturating_add(*dropped));
    let lost = (lost > 0).then(|| {
        let why = last_error.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("{} of {} did not arrive{why}", count(lost), counted(*traced, "span"))
    });
    let dropped = (*dropped > 0)
        .then(|| format!("{} not sent, because too many waited", were(*dropped, "span")));
    let over_limit = (*over_limit > 0).then(|| {
        let these = were(*over_limit, "request");
        format!("{these} not traced that should be: a process traces at most 1,000 in a second")
    });
    let all: Vec<String> = [lost, dropped, over_limit].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("{url}: {}", all.join("; ")))
}

fn were(n: u64, noun: &str) -> String {
    format!("{} {}", counted(n, noun), if n == 1 { "was" } else { "were" })
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
        let lack = |traced, delivered, dropped, over_limit| {
            let last_error = (delivered + dropped < traced).then(|| "why".to_owned());
            let (url, slowest) = ("http://a".to_owned(), Vec::new());
            let of =
                SpansRecord { url, traced, delivered, dropped, over_limit, last_error, slowest };
            lack_of_spans(&of)
        };
        assert_eq!(lack(60, 60, 0, 0), None);
        let all = [lack(60, 48, 0, 0), lack(60, 59, 1, 0), lack(60, 60, 0, 7), lack(60, 30, 20, 1)];
        let said = [
            "http://a: 12 of 60 spans did not arrive (why)",
            "http://a: 1 span was not sent, because too many waited",
            "http://a: 7 requests were not traced that should be: a process traces at most 1,000 in a second",
            "http://a: 10 of 60 spans did not arrive (why); 20 spans were not sent, because too many waited; 1 request \
             was not traced that should be: a process traces at most 1,000 in a second",
        ];
        assert_eq!(all.map(Option::unwrap), said);
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
