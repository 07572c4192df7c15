//! Tells why a result is not what was planned.

use crate::engine::LostWorker;
use crate::experiment::job::Job;
use crate::experiment::measured::Measured;
use crate::failure::Exit;
use crate::record::{Degraded, LossRecord};
use crate::text::listed;

/// Returns the reasons why the result is not what was planned, if any: lost workers, each listed
/// once; results that did not arrive; a lost probe; and an error of workers that ended the run.
pub(super) fn degraded(job: &Job, measured: &Measured) -> Option<Degraded> {
    let mut lost: Vec<LossRecord> = Vec::new();
    let mut gaps: Vec<String> = Vec::new();
    for round in &measured.rounds {
        let (number, results) = (round.number, &round.results);
        let target = &job.contenders[round.contender].name;
        for LostWorker { worker, second, why, taken_over } in &results.lost {
            // A worker that was lost before the load was dealt was there in an earlier round.
            let earlier =
                measured.rounds.iter().rev().find_map(|round| round.results.worker(*worker));
            let of = results.worker(*worker).or(earlier);
            if lost.iter().all(|known| known.worker != *worker) {
                lost.push(LossRecord {
                    worker: *worker,
                    host: of.and_then(|of| Some(of.host.as_ref()?.name.clone())),
                    target: target.clone(),
                    round: number,
                    second: *second,
                    users: of.map_or(0, |of| of.users),
                    why: why.clone(),
                    taken_over_s: taken_over.map(|at| at.as_secs_f64()),
                });
            }
        }
        let of_round = results.gaps().into_iter();
        gaps.extend(of_round.map(|gap| format!("round {number} ({target}): {gap}")));
        let of_probe = round.probe.iter().flat_map(|probe| {
            let lost = probe.lost.iter().map(|lost| format!("the probe was lost: {}", lost.why));
            lost.chain(probe.gaps().into_iter().map(|gap| format!("the probe: {gap}")))
        });
        gaps.extend(of_probe.map(|gap| format!("round {number} ({target}): {gap}")));
    }
    let failed = measured.failure.as_ref().filter(|failure| failure.exit == Exit::Degraded);
    let failed = failed.map(|failure| failure.report.to_string());
    let of_workers: Vec<String> = lost.iter().map(ToString::to_string).chain(gaps).collect();
    let of_workers = (!of_workers.is_empty()).then(|| listed(&of_workers, "; "));
    let reasons: Vec<String> = of_workers.into_iter().chain(failed).collect();
    (!reasons.is_empty()).then(|| Degraded { reason: reasons.join("; "), lost })
}
