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
    let why = of.last_error.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
    let what = match (lost, rejected_values) {
        (0, 0) if of.is_complete => return None,
        (0, 0) => format!("the collector at {url} lacks the last metrics{why}"),
        (0, _) => {
            let values = counted(*rejected_values, "value");
            return Some(format!("the collector at {url} rejected {values}{why}"));
        }
        (lost, _) => {
            let of = counted(*messages, "message");
            format!("{} of {of} with metrics did not arrive at {url}{why}", count(lost))
        }
    };
    let end = match (of.is_complete, lost) {
        (true, _) => "; the later ones have all that was measured",
        (false, 0) => "",
        (false, _) => "; the last metrics are missing there",
    };
    Some(what + end)
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
        let arrived = "with metrics did not arrive at http://a (why)";
        let later = "the later ones have all that was measured";
        assert_eq!(said([60, 48, 0], true), format!("12 of 60 messages {arrived}; {later}"));
        let missing = "the last metrics are missing there";
        assert_eq!(said([60, 48, 0], false), format!("12 of 60 messages {arrived}; {missing}"));
        assert_eq!(said([60, 60, 7], true), "the collector at http://a rejected 7 values (why)");
        assert_eq!(said([0, 0, 0], false), "the collector at http://a lacks the last metrics");
    }
}
