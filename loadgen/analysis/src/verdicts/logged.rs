//! Checks whether writing a log was a large part of what was measured.

use super::verdict;
use crate::record::{LoadRecord, RoundRecord, TargetRecord, Verdict, VerdictKind};
use loadgen_text::megabytes;

/// Least number of bytes for each request, and per second, that are much. A line for each request has some 100 bytes.
const OF_REQUEST: f64 = 1_000.0;
const PER_S: f64 = 1e6;

/// Returns a verdict if a target wrote much to its log, in the round in which it wrote most.
pub(super) fn much_logged(target: &TargetRecord, load: &LoadRecord) -> Option<Verdict> {
    let rounds = target.rounds.iter().filter_map(|round| Some((round.logged_bytes?, round)));
    let (bytes, round) = rounds.max_by_key(|(bytes, _)| *bytes)?;
    // The log also has what was written in the warm-up and the ramp-up, whose requests are not counted here.
    let load_s = load.warmup_s + load.ramp_up_s + round.held_s;
    let per_s = bytes as f64 / load_s.max(1e-9);
    let each = per_s * round.held_s / sent(round).max(1) as f64;
    if each < OF_REQUEST || per_s < PER_S {
        return None;
    }
    let message = format!(
        "the target wrote {} MB of log in round {}, about {:.1} kB for each request",
        megabytes(bytes),
        round.round,
        each / 1e3
    );
    let advice = "writing a log is part of what was measured: let the target log as it does in production. Of a log of \
                  more than 64 MiB, the first MiB and the last four are kept";
    Some(verdict(target, VerdictKind::MuchLogged, message, advice))
}

/// Number of requests in the hold of a round.
fn sent(round: &RoundRecord) -> u64 {
    round.total.requests.saturating_add(round.total.cancelled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::Summary;

    #[test]
    fn a_target_that_writes_much_for_each_request_is_reported() {
        let said = |bytes, requests| {
            let total = Summary { requests, ..Summary::default() };
            let round = RoundRecord {
                round: 2,
                held_s: 5.0,
                total,
                logged_bytes: bytes,
                ..RoundRecord::default()
            };
            let target = TargetRecord { rounds: vec![round], ..TargetRecord::default() };
            let load = LoadRecord { warmup_s: 5.0, ..LoadRecord::default() };
            much_logged(&target, &load).map(|verdict| verdict.message)
        };
        assert_eq!(said(None, 10), None);
        assert_eq!(said(Some(18_000_000), 90_000), None, "a line for each request");
        assert_eq!(said(Some(90_000), 9), None, "much, but of little");
        assert_eq!(
            said(Some(200_000_000), 5_000).unwrap(),
            "the target wrote 200 MB of log in round 2, about 20.0 kB for each request"
        );
    }
}
