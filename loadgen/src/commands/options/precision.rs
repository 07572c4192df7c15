//! Checks the number of rounds of a run with a precision.

use crate::failure::Failure;
use crate::record::FEWEST_ROUNDS;

/// Number of rounds of the first stage, unless the command line has another number. Fewer show their
/// own noise badly, and cost more rounds in the end.
const FIRST_STAGE: u32 = 10;

/// Returns the number of rounds, which are those of the first stage if there is a `precision`. `rounds`
/// is the number of the command line.
pub fn first_stage(
    precision: Option<f64>,
    rounds: Option<u32>,
    rounds_max: u32,
) -> Result<Option<u32>, Failure> {
    if precision.is_none() {
        return Ok(rounds);
    }
    let first = rounds.unwrap_or(FIRST_STAGE.min(rounds_max));
    let refused = |message: String, help: &str| Err(Failure::conflict(message, help));
    if first < FEWEST_ROUNDS {
        let message =
            format!("--precision needs at least {FEWEST_ROUNDS} rounds in its first stage");
        return refused(message, "leave out --rounds, or use a larger number");
    }
    if first > rounds_max {
        let message = format!("--rounds {first} is more than --rounds-max {rounds_max}");
        return refused(
            message,
            "use a smaller --rounds, which is the first stage, or a larger --rounds-max",
        );
    }
    Ok(Some(first))
}
