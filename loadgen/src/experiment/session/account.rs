//! Accounts for the planned requests of a round that lacks results of workers.

use super::Session;
use crate::cluster::OnLoss;
use crate::engine::load::planned_requests;
use crate::engine::{Plan, Results};
use crate::experiment::measured::MeasuredRound;
use crate::measure::Phase;
use crate::record::AccountRecord;

impl Session<'_> {
    /// Returns what became of all requests of a round that lacks results; `None` for other rounds, and if the round was stopped.
    pub(super) async fn account(
        &self,
        plan: &Plan,
        round: &MeasuredRound,
        is_stopped: bool,
    ) -> Option<AccountRecord> {
        // A loss that ends the round stops the other workers, too.
        let is_stopped = is_stopped || self.job().on_loss == OnLoss::Fail;
        // So does the loss of all.
        let lost = u32::try_from(round.results.lost.len()).unwrap_or(u32::MAX);
        let is_stopped = is_stopped || lost >= self.generator.workers().max(1);
        match is_stopped || round.results.is_whole() {
            true => None,
            false => account(plan, &round.results).await,
        }
    }
}

/// Returns what became of all requests that the round was planned to send; `None` if their number is not known, or if rows
/// ran out, so that users stopped before their planned end.
async fn account(plan: &Plan, results: &Results) -> Option<AccountRecord> {
    if !results.ran_out().is_empty() {
        return None;
    }
    // Takes up to a second.
    let (of, changes) = (plan.clone(), results.changes.clone());
    let planned = tokio::task::spawn_blocking(move || planned_requests(&of, &changes));
    let planned = planned.await.ok()??;
    // Iterations count from the end of the warm-up on, and time from its start on.
    let warmup = plan.length().map(|_| Phase::Warmup);
    let phases = [Phase::RampUp, Phase::Hold, Phase::Tail].into_iter().chain(warmup);
    let (mut answered, mut failed, mut cancelled, mut unsent) = (0, 0, 0, 0);
    for steps in phases.map(|phase| results.series.phase(phase)) {
        let flows = plan.scenario.flows.iter().flat_map(|flow| flow.steps.clone());
        for counts in flows.filter_map(|step| steps.get(step)) {
            answered = counts.answered.len().saturating_add(answered);
            failed = counts.failures().saturating_add(failed);
            cancelled = counts.cancelled.saturating_add(cancelled);
            unsent = counts.unsent.saturating_add(unsent);
        }
    }
    // Counts come from the network, and a worker may claim anything.
    let ended =
        [answered, failed, cancelled, unsent].into_iter().try_fold(0_u64, u64::checked_add)?;
    let lost = planned.checked_sub(ended)?;
    Some(AccountRecord { planned, answered, failed, cancelled, unsent, lost })
}
