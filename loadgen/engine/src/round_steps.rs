//! Sends the steps that are sent once for a round: before all users begin, and after all users have ended.

use super::plan::Plan;
use super::trial::{Trial, Tried};
use super::verify::VerifyError;
use loadgen_scenario::Step;

/// Numbers of the iterations under which the data of these steps is generated. The verification, whose user has the
/// same number, generates that of iteration 0.
const BEFORE: u64 = 1;
const AFTER: u64 = 2;

const FIX: &str = "fix the server, or the `expect` of the step: users begin only after each step with \
                   when = \"once\" has gone as expected";

const FIX_AFTER: &str =
    "fix the server, or the `expect` of the step, and see what the step leaves behind";

/// Sends the steps with `when = "once"` in order, each once, until one does not go as expected. Returns the values that
/// they captured, by name, for [`Plan::known`]. `who` names the server in an error.
///
/// # Errors
/// The first step that did not go as expected, with its response.
pub async fn set_up(plan: &Plan, who: &str) -> Result<Vec<(String, String)>, VerifyError> {
    let steps = &plan.scenario.once;
    let trial = Trial::of(plan, steps).map_err(VerifyError::Client)?;
    let mut user = trial.user(BEFORE);
    for (index, step) in steps.iter().enumerate() {
        check(who, step, user.send(index).await, FIX)?;
    }
    Ok(user.captured(steps))
}

/// Sends the steps with `when = "finally"` in order, each once, even if one does not go as expected.
///
/// # Errors
/// The first step that did not go as expected, with its response.
pub async fn tear_down(plan: &Plan, who: &str) -> Result<(), VerifyError> {
    let steps = &plan.scenario.finally;
    let trial = Trial::of(plan, steps).map_err(VerifyError::Client)?;
    let mut user = trial.user(AFTER);
    let mut all = Ok(());
    for (index, step) in steps.iter().enumerate() {
        all = all.and(check(who, step, user.send(index).await, FIX_AFTER));
    }
    all
}

fn check(who: &str, step: &Step, tried: Tried, fix: &str) -> Result<(), VerifyError> {
    VerifyError::of(who, step, tried, fix).map_or(Ok(()), Err)
}
