//! Checks whether a collector has all metrics of a run.

use crate::record::{RunRecord, TelemetryRecord, Verdict, VerdictKind};
use loadgen_text::{count, counted};

/// Returns a verdict if the collector of `--otlp` lacks some metrics.
pub(super) fn telemetry(record: &RunRecord) -> Option<Verdict> {
    let message = lack(record.environment.telemetry.as_ref()?)?;
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
        })
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
