//! Tells why a result is not what was planned.

use crate::engine::{LostWorker, WorkerResults};
use crate::experiment::job::Job;
use crate::experiment::measured::{EarlierLoss, Measured};
use crate::failure::Exit;
use crate::record::{AccountRecord, Degraded, LossRecord, ResumedRecord};
use crate::text::listed;

/// Returns the reasons why the result is not what was planned, if any: lost workers, each listed
/// once; results that did not arrive; a lost probe; and an error of workers that ended the run.
pub(super) fn degraded(job: &Job, measured: &Measured) -> Option<Degraded> {
    let mut gaps: Vec<String> = Vec::new();
    for round in &measured.rounds {
        let (number, results) = (round.number, &round.results);
        let target = &job.contenders[round.contender].name;
        let account = round.account.filter(|account| account.lost > 0);
        let of_account = account.map(|AccountRecord { planned, lost, .. }| {
            format!("{lost} of {planned} planned requests were never sent, or have no known end")
        });
        let of_round = results.gaps().into_iter().chain(of_account);
        gaps.extend(of_round.map(|gap| format!("round {number} ({target}): {gap}")));
        let of_probe = round.probe.iter().flat_map(|probe| {
            let lost = probe.lost.iter().map(|lost| format!("the probe was lost: {}", lost.why));
            lost.chain(probe.gaps().into_iter().map(|gap| format!("the probe: {gap}")))
        });
        gaps.extend(of_probe.map(|gap| format!("round {number} ({target}): {gap}")));
    }
    let lost = losses(job, measured);
    let failed = measured.failure.as_ref().filter(|failure| failure.exit == Exit::Degraded);
    let failed = failed.map(|failure| failure.report.to_string());
    let of_workers: Vec<String> = lost.iter().map(ToString::to_string).chain(gaps).collect();
    let of_workers = (!of_workers.is_empty()).then(|| listed(&of_workers, "; "));
    let reasons: Vec<String> = of_workers.into_iter().chain(failed).collect();
    (!reasons.is_empty()).then(|| Degraded { reason: reasons.join("; "), lost })
}

/// Returns all losses of workers, in their order. A worker counts once for each manager: it is missing in all later rounds
/// of the manager that lost it, and there again for another manager.
fn losses(job: &Job, measured: &Measured) -> Vec<LossRecord> {
    let earlier = measured.earlier.as_ref();
    let resumed: &[ResumedRecord] = earlier.map_or(&[], |earlier| &earlier.resumed);
    let of_earlier = earlier.into_iter().flat_map(|earlier| earlier.lost.iter().cloned());
    let of_rounds = measured.rounds.iter().flat_map(|round| {
        let before = resumed.iter().filter(|resumed| resumed.from_round <= round.number);
        let resumptions = before.count();
        round.results.lost.iter().map(move |lost| EarlierLoss {
            resumptions,
            round: round.number,
            contender: round.contender,
            host: None,
            lost: lost.clone(),
        })
    });
    let mut all: Vec<EarlierLoss> = Vec::new();
    for loss in of_earlier.chain(of_rounds) {
        let place = (loss.resumptions, loss.lost.worker);
        match all.iter_mut().find(|known| (known.resumptions, known.lost.worker) == place) {
            // Only at the end of a round is it known whether others took over.
            Some(known) if known.round == loss.round && known.contender == loss.contender => {
                known.lost.taken_over = known.lost.taken_over.or(loss.lost.taken_over);
            }
            Some(_) => {}
            None => all.push(loss),
        }
    }
    all.sort_by_key(|loss| (loss.resumptions, loss.round));
    let record = |loss: EarlierLoss| {
        let LostWorker { worker, second, why, taken_over } = loss.lost;
        let is_round = |number, contender| (number, contender) == (loss.round, loss.contender);
        let of = measured.rounds.iter().find(|round| is_round(round.number, round.contender));
        // A worker that was lost before the load was dealt was there in an earlier round.
        let earlier =
            || measured.rounds.iter().rev().find_map(|round| round.results.worker(worker));
        let of = of.and_then(|round| round.results.worker(worker)).or_else(earlier);
        let host = |of: &WorkerResults| Some(of.host.as_ref()?.name.clone());
        let next = resumed.get(loss.resumptions);
        LossRecord {
            worker,
            host: loss.host.or_else(|| of.and_then(host)),
            target: job
                .contenders
                .get(loss.contender)
                .map(|of| of.name.clone())
                .unwrap_or_default(),
            round: loss.round,
            second,
            users: of.map_or(0, |of| of.users),
            why,
            taken_over_s: taken_over.map(|at| at.as_secs_f64()),
            measured_again: next.is_some_and(|next| loss.round >= next.from_round),
        }
    };
    all.into_iter().map(record).collect()
}
