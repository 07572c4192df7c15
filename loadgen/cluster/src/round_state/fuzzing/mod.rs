//! Runs a round on arbitrary bytes as reports, for a fuzzer and for a bounded test. Anyone with a
//! join document can send such bytes.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Input, OnLoss, RoundState, Schedule};
use crate::encoding::decode;
use crate::messages::{Admission, Answer, Command, Hello, decode_report};
use loadgen_engine::Results;
use loadgen_measure::{Phase, Summary};

/// Number of workers in the round.
const WORKERS: u32 = 3;

/// Passes arbitrary bytes as messages to the manager's side of a round, with a pause after each
/// message, and computes the figures that a manager would show.
///
/// # Panics
/// Must never panic.
pub fn take_foreign<'a>(messages: impl IntoIterator<Item = &'a [u8]>) -> Results {
    let schedule = Schedule { measured: ms(100), end: None, drain: ms(3_000), last_stage: 0 };
    let mut state =
        RoundState::new(1, WORKERS, &BTreeSet::new(), Vec::new(), schedule, OnLoss::Continue);
    let mut now = Duration::ZERO;
    for message in messages {
        now += ms(250);
        let _ = decode::<Hello>(message);
        let _ = decode::<Admission>(message);
        let _ = decode::<Answer>(message);
        let _ = decode::<Command>(message);
        let input = match decode_report(message) {
            Ok(report) => Input::Report(report),
            Err(reason) => Input::Noise(reason),
        };
        let _ = state.take(now, input);
        let _ = state.take(now, Input::Tick);
    }
    let results = state.into_results(|seconds| Duration::from_secs(seconds.into()));
    show(&results);
    results
}

/// Splits a fuzzer's input into messages. Each message is its length, two bytes in big-endian
/// order, and then its bytes. The last message may be shorter than its length says.
pub fn split_foreign(mut data: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = data.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (message, rest) = rest.split_at(length);
        data = rest;
        Some(message)
    })
}

/// Computes the figures that a report of the run would contain.
fn show(results: &Results) {
    let _ = results.missing();
    let _ = (results.rows(), results.connections(), results.ran_out());
    let all = &results.series;
    let mut held = Duration::ZERO;
    for worker in &results.workers {
        held += worker.finished.held;
        let _ = (worker.strain.cpu_percent(), worker.strain.lag_mean_ms());
    }
    for counts in all.phase(Phase::Hold) {
        let _ = Summary::new("step", &counts, &counts, held);
        let _ = counts.answered.without_coordination(held);
    }
    let _ = all.seconds().map(|second| second.all.answered).max();
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[cfg(test)]
mod tests;
