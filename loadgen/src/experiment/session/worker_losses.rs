//! Decides what a run does when workers are lost.

use super::generator::Generator;
use crate::cluster::OnLoss;
use crate::engine::Results;
use crate::experiment::measured::MeasuredRound;
use crate::failure::{Exit, Failure};

/// Returns whether the run must end after this round because too many workers are lost.
pub(super) fn are_too_many(round: &Results, on_loss: OnLoss, generator: &Generator) -> bool {
    (!round.is_whole() && on_loss == OnLoss::Fail) || !generator.can_go_on()
}

/// Returns an error if the last round of a run lacks results of
/// workers and ended before the hold (the phase with the full load).
/// Such a round is in no record, so the record cannot report the loss.
pub(super) fn end(round: &MeasuredRound) -> Result<(), Failure> {
    match round.results.missing() {
        Some(missing) if round.held.is_zero() => {
            let advice =
                "no request of this round was counted; see the logs of the workers in --out";
            Err(Failure::message(Exit::Degraded, "missing_results", missing, advice))
        }
        _ => Ok(()),
    }
}
