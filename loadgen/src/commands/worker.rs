//! temp
use super::{Exit, Failure};
pub fn run(_a: &crate::cli::WorkerArgs) -> Result<Exit, Failure> {
    Ok(Exit::Failed)
}
