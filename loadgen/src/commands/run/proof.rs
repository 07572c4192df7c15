//! Whether a backend holds what the answers said it would.

use super::session::{PROVED, Round};
use super::steps::{by_step, counters};
use crate::measure::{Counts, Phase, Proof};
use crate::scenario::Step;

/// What is in no count, and reaches a backend all the same.
const UNCOUNTED: [Phase; 4] = [Phase::Warmup, Phase::RampUp, Phase::Tail, Phase::Stop];

/// Holds the counter against the rows that were found.
pub fn proof(steps: &[Step], round: &Round) -> Option<Proof> {
    let found = round.rows.as_ref()?;
    let of = |phase| {
        let counts = by_step(round.yielded.series.phase(phase), steps.len());
        counters(steps, &counts).get(PROVED).copied()
    };
    let counted = of(Phase::Hold)?;
    let verified = round
        .verified
        .iter()
        .map(|values| Counts { counters: values.clone(), ..Counts::default() })
        .collect::<Vec<_>>();
    let verified = counters(steps, &verified).get(PROVED).copied().unwrap_or(0);
    let others = UNCOUNTED.into_iter().filter_map(of).sum::<u64>();
    let uncounted = verified + others;
    let unknown = UNCOUNTED
        .into_iter()
        .chain([Phase::Hold])
        .flat_map(|phase| round.yielded.series.phase(phase))
        .map(|counts| counts.failures() + counts.unanswered)
        .sum();
    Some(Proof {
        round: round.number,
        counter: PROVED.to_owned(),
        counted,
        uncounted,
        held: found.rows,
        unknown,
        incomplete: found.nulls,
        agrees: found.rows == counted + uncounted && found.nulls == 0,
    })
}
