//! Checks whether many requests were sent again.

use super::verdict;
use crate::record::{TargetRecord, Verdict, VerdictKind};
use loadgen_text::{count, counted};

/// Least share of requests (0 to 1) that were sent again at which this matters: p99.9 includes the time that it took.
const MATTERS: f64 = 0.001;

/// Returns a verdict if many of a target's requests were sent again.
pub(super) fn resent(target: &TargetRecord) -> Option<Verdict> {
    let total = &target.total;
    let sent = total.requests.saturating_add(total.cancelled);
    let share = total.resent as f64 / sent.max(1) as f64;
    if share < MATTERS {
        return None;
    }
    let message = format!(
        "{} of {} ({:.2} %) were sent again: the server ended their connections or refused them",
        count(total.resent),
        counted(sent, "request"),
        share * 100.0
    );
    let advice = "latencies count from the first send. Let the server keep connections for longer or for more \
                  requests, or see in its log why it closes them; `resend = false` in [http] counts such requests \
                  as failed";
    Some(verdict(target, VerdictKind::Resent, message, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::Summary;

    #[test]
    fn many_requests_that_were_sent_again_are_reported() {
        let said = |resent| {
            let total = Summary { requests: 9_900, cancelled: 100, resent, ..Summary::default() };
            resent_of(total)
        };
        assert_eq!(said(0), None);
        assert_eq!(said(9), None);
        assert_eq!(
            said(10).unwrap(),
            "10 of 10,000 requests (0.10 %) were sent again: the server ended their connections or refused them"
        );
        assert_eq!(resent_of(Summary::default()), None);
    }

    fn resent_of(total: Summary) -> Option<String> {
        let target = TargetRecord { total, ..TargetRecord::default() };
        resent(&target).map(|verdict| verdict.message)
    }
}
