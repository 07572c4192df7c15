//! Describes the counters of the answers, and whether backends hold the expected values.

use super::ranked::ranked;
use super::replicas::replicas;
use crate::record::{ExpectedContentRecord, ProofRecord, RunRecord, TargetRecord};
use crate::text::count;

/// Returns a line for each counter of each target, which says whether a backend holds as much as
/// the answers reported. Then come the proofs of values that do not depend on the answers, and the
/// counts of replicas.
pub(crate) fn proofs(record: &RunRecord) -> Vec<String> {
    let targets: Vec<&TargetRecord> =
        ranked(record).into_iter().map(|(target, _)| target).collect();
    let counters = targets.iter().flat_map(|target| counters(target));
    counters.chain(values(&targets)).chain(replicas(record)).collect()
}

fn counters(target: &TargetRecord) -> Vec<String> {
    let mut out = Vec::new();
    for (name, counted) in &target.counters {
        let of_counter = |proof: &&ProofRecord| proof.expected.counter() == Some(name);
        let proofs = by_proof(target.proofs.iter().filter(of_counter));
        let mut line = |text: &str| out.push(format!("{}: {name} {text}", target.name));
        if proofs.is_empty() {
            line(&count(*counted));
        }
        for rounds in &proofs {
            // A counter with one proof needs only the name of the backend.
            let whom = if proofs.len() == 1 { rounds[0].backend.clone() } else { asked(rounds) };
            line(&sum(rounds, &whom, target.probe.is_some()));
        }
    }
    out
}

/// Adds up the expected values of all rounds of one proof, and compares the sum with the sum of the
/// values that the backend held. `whom` names the backend; `has_probe` tells whether a probe measured
/// beside the load.
fn sum(rounds: &[&ProofRecord], whom: &str, has_probe: bool) -> String {
    let (mut counted, mut expected, mut held) = (0_u64, 0_u64, 0_i64);
    for proof in rounds {
        if let ExpectedContentRecord::Answers { counted: in_count, .. } = proof.expected {
            counted = counted.saturating_add(in_count);
        }
        expected = expected.saturating_add(proof.expected.number());
        held = held.saturating_add(proof.held);
    }
    format!(
        "{} counted + {} uncounted (verification, warm-up, ramp-up, cut off{}) {} {} in {whom}: {}",
        count(counted),
        count(expected - counted),
        if has_probe { ", probe" } else { "" },
        if i64::try_from(expected) == Ok(held) { "=" } else { "≠" },
        signed(held),
        proved(rounds.iter().all(|proof| proof.agrees))
    )
}

/// Returns a line for each proof of a value that the scenario states, over all targets. The line
/// names the targets for which the proof failed.
fn values(targets: &[&TargetRecord]) -> Vec<String> {
    let all = targets.iter().flat_map(|target| &target.proofs);
    let mut out = Vec::new();
    for rounds in by_proof(all.filter(|proof| proof.expected.counter().is_none())) {
        let failed: Vec<&str> = targets
            .iter()
            .filter(|target| target.proofs.iter().any(|p| p.is_again(rounds[0]) && !p.agrees))
            .map(|target| target.name.as_str())
            .collect();
        let value = count(rounds[0].expected.number());
        let held = match failed.as_slice() {
            [] => format!("= {value}"),
            failed => format!("≠ {value} for {}", failed.join(", ")),
        };
        out.push(format!("{} {held}: {}", asked(&rounds), proved(failed.is_empty())));
    }
    out
}

/// Groups the records that belong to the same proof of the scenario, in the order of the records.
pub(crate) fn by_proof<'a>(
    records: impl Iterator<Item = &'a ProofRecord>,
) -> Vec<Vec<&'a ProofRecord>> {
    let mut proofs: Vec<Vec<&ProofRecord>> = Vec::new();
    for record in records {
        match proofs.iter_mut().find(|earlier| earlier[0].is_again(record)) {
            Some(earlier) => earlier.push(record),
            None => proofs.push(vec![record]),
        }
    }
    proofs
}

/// Returns the name of the backend and the query that the proof sends to the backend, shortened.
pub(crate) fn asked(rounds: &[&ProofRecord]) -> String {
    format!("{}, `{}`", rounds[0].backend, rounds[0].in_short())
}

fn proved(proved: bool) -> &'static str {
    if proved { "proved" } else { "NOT proved" }
}

fn signed(n: i64) -> String {
    format!("{}{}", if n < 0 { "-" } else { "" }, count(n.unsigned_abs()))
}
