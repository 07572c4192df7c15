//! Sends the steps that are sent once for a round: before all users begin, and after all users have ended.

use super::plan::Plan;
use super::trial::Trial;
use super::verify::{Mismatch, VerifyError};

/// Numbers of the iterations under which the data of these steps is generated. The verification, whose user has the
/// same number, generates that of iteration 0.
const BEFORE: u64 = 1;
const AFTER: u64 = 2;

const FIX: &str = "fix the server, or the `expect` of the step: users begin only after each step with \
                   when = \"once\" has gone as expected";

/// Sends the steps with `when = "once"` in order, until one does not go as expected. Keeps the values that they capture
/// in `known`, by name, for [`Plan::known`], also if the future is dropped. `who` names the server in an error.
///
/// # Errors
/// The first step that did not go as expected, with its response.
pub async fn set_up(
    plan: &Plan,
    who: &str,
    known: &mut Vec<(String, String)>,
) -> Result<(), VerifyError> {
    let steps = &plan.scenario.once;
    let trial = Trial::of(plan, steps).map_err(VerifyError::Client)?;
    let mut user = trial.user(BEFORE);
    for (index, step) in steps.iter().enumerate() {
        let tried = user.send(index).await;
        *known = user.captured(&steps[..=index]);
        if let Some(error) = VerifyError::of(who, step, tried, FIX) {
            return Err(error);
        }
    }
    Ok(())
}

/// Sends the steps with `when = "finally"` in order, even if one does not go as expected. Leaves out a step that needs a
/// value that was never captured: what it would remove was never made. Ends after a step without any response.
///
/// Returns each step that did not go as expected.
pub async fn tear_down(plan: &Plan) -> Vec<Mismatch> {
    let steps = &plan.scenario.finally;
    let mut wrong = Vec::new();
    // The steps before have made a client of the same options.
    let Ok(trial) = Trial::of(plan, steps) else { return wrong };
    let mut user = trial.user(AFTER);
    for (index, step) in steps.iter().enumerate() {
        let tried = user.send(index).await;
        if !tried.is_sent {
            continue;
        }
        let Some(mismatch) = Mismatch::of(step, tried) else { continue };
        let is_silent = mismatch.is_silent();
        wrong.push(mismatch);
        if is_silent {
            break;
        }
    }
    wrong
}
