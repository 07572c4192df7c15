//! Tells that a run was resumed.

use std::time::Duration;

use crate::record::{ResumedRecord, Verdict, VerdictKind};
use loadgen_text::duration;

/// Returns the verdict on one resumption of a run.
pub(super) fn resumed(of: &ResumedRecord) -> Verdict {
    let ResumedRecord { at, from_round, gap_s, changed } = of;
    let gap = duration(Duration::try_from_secs_f64(*gap_s).unwrap_or_default());
    let after = match from_round {
        0 | 1 => "its start".to_owned(),
        round => format!("the end of round {}", round - 1),
    };
    let told = format!("the run was resumed at {at} with round {from_round}, {gap} after {after}");
    let told = [told].into_iter().chain(changed.iter().cloned());
    Verdict {
        kind: VerdictKind::Resumed,
        target: None,
        message: told.collect::<Vec<_>>().join("; "),
        advice:
            "see whether the servers, the network or the hosts of workers changed in the meantime"
                .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumption_is_told_in_one_sentence() {
        let at = "2026-11-30T08:30:00Z".to_owned();
        let record = ResumedRecord { at, from_round: 3, gap_s: 62.4, changed: Vec::new() };
        assert_eq!(
            resumed(&record).message,
            "the run was resumed at 2026-11-30T08:30:00Z with round 3, 1m 2s after the end of round 2"
        );
        let changed =
            ResumedRecord { changed: vec!["the kernel has changed".to_owned()], ..record.clone() };
        let told = resumed(&changed).message;
        assert!(told.ends_with("after the end of round 2; the kernel has changed"), "{told}");
        let told = resumed(&ResumedRecord { from_round: 1, ..record }).message;
        assert!(told.ends_with("with round 1, 1m 2s after its start"), "{told}");
    }
}
