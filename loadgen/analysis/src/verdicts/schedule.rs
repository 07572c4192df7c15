//! Checks whether the requests of the open model were sent at the planned distances.

use super::verdict;
use crate::record::{TargetRecord, Verdict, VerdictKind};
use loadgen_text::counted;

/// Least distance between planned and actual gaps (0 to 1) at which the schedule counts as not
/// kept. Where all requests came in clumps of eight, Sanic and FastAPI needed 10 to 12 % less CPU time
/// for a request than with evenly spaced ones; where a fifth did, no difference could be shown. See
/// docs/explanation/counting.md.
const DISTANCE: f64 = 0.2;

/// Returns a verdict if requests were sent closer together or further apart than planned, in most
/// rounds.
pub(super) fn schedule_not_kept(target: &TargetRecord) -> Option<Verdict> {
    let known: Vec<_> = target.rounds.iter().filter_map(|it| it.schedule.as_ref()).collect();
    let off = known.iter().filter(|schedule| schedule.gap_distance >= DISTANCE);
    if off.clone().count() * 2 <= known.len() {
        return None;
    }
    let worst = off.clone().max_by(|a, b| a.gap_distance.total_cmp(&b.gap_distance))?;
    let message = format!(
        "requests were not sent at the planned distances in {} of {}: in the worst round, at least \
         {:.0} % of the distances were wrong, and up to {} requests were sent within 1 ms, where \
         {} were planned",
        off.count(),
        counted(known.len() as u64, "round"),
        worst.gap_distance * 100.0,
        worst.clump,
        worst.planned_clump
    );
    let advice = "requests that come together cost a server less CPU time than the planned ones, and \
                  wait for each other: give loadgen more CPUs or workers, or use a lower rate";
    Some(verdict(target, VerdictKind::ScheduleNotKept, message, advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{RoundRecord, ScheduleRecord};
    use loadgen_measure::LatencySummary;

    fn target(distances: &[Option<f64>]) -> TargetRecord {
        let round = |distance: &Option<f64>| RoundRecord {
            schedule: distance.map(|gap_distance| ScheduleRecord {
                planned_gap_us: LatencySummary::default(),
                sent_gap_us: LatencySummary::default(),
                gap_distance,
                planned_clump: 2,
                clump: 30,
            }),
            ..RoundRecord::default()
        };
        TargetRecord { rounds: distances.iter().map(round).collect(), ..TargetRecord::default() }
    }

    #[test]
    fn requests_in_clumps_are_reported_for_most_rounds() {
        assert_eq!(schedule_not_kept(&target(&[Some(0.1), Some(0.9)])), None, "half of them");
        assert_eq!(schedule_not_kept(&target(&[Some(0.19); 3])), None);
        assert_eq!(schedule_not_kept(&target(&[None; 3])), None, "the closed model");
        let said = schedule_not_kept(&target(&[Some(0.1), Some(0.2), Some(0.34)])).unwrap();
        assert_eq!(
            said.message,
            "requests were not sent at the planned distances in 2 of 3 rounds: in the worst round, \
             at least 34 % of the distances were wrong, and up to 30 requests were sent within 1 ms, \
             where 2 were planned"
        );
    }
}
