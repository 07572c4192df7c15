//! Describes duets, in which two targets were loaded at the same time on the same CPUs.

use super::pair::{is_short, of_cpu, sentence, too_few};
use crate::record::{Comparison, DuetPair, DuetRecord, FEWEST_ROUNDS, Pair, RunRecord};

/// Compares the first target with each other one: by rate, or says why not, and by CPU time.
pub(super) fn of_duets(duet: &DuetRecord, comparison: &Comparison) -> Vec<String> {
    let of_pair = |pair: &DuetPair| {
        let (base, other) = (duet.base.as_str(), pair.other.as_str());
        let rates = match (pair.rates_not_compared, comparison.pair(base, other)) {
            (None, Some(by_rate)) => {
                let said = sentence(by_rate, comparison);
                match share_of_difference(by_rate, pair) {
                    Some(percent) => format!("{said}, with {percent:.1} % more CPU time"),
                    None => said,
                }
            }
            (why, _) => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                format!("requests/s of {base} and {other} are not compared{why}")
            }
        };
        [rates, by_cpu(pair, base, comparison)]
    };
    duet.pairs.iter().flat_map(of_pair).collect()
}

/// Compares a contender with the base by CPU time per request, or says why not.
fn by_cpu(pair: &DuetPair, base: &str, comparison: &Comparison) -> String {
    let other = pair.other.as_str();
    let by_cpu = comparison.cpu_pair(base, other);
    if let Some(said) = by_cpu.and_then(of_cpu) {
        return said;
    }
    let why = match (pair.cpu_lacking.iter().next(), by_cpu) {
        (Some((name, lack)), _) => format!("{name} {lack}"),
        (None, Some(pair)) if is_short(pair) => {
            format!("{}: {FEWEST_ROUNDS} are needed", too_few(pair))
        }
        (None, _) => "a round has no expected response".to_owned(),
    };
    format!("CPU time per request of {base} and {other} is not compared: {why}")
}

/// Returns how much more CPU time the better target of a pair got, in %, if that alone may be the
/// difference that is shown between the rates.
fn share_of_difference(by_rate: &Pair, pair: &DuetPair) -> Option<f64> {
    let ratio = pair.cpu_time_ratio?;
    let share = if by_rate.better == pair.other { ratio } else { 1.0 / ratio };
    let [low, _] = by_rate.confidence_95?;
    (by_rate.shown && low <= share).then_some((share - 1.0) * 100.0)
}

/// Says what rates and latencies of duets are not; `None` without duets.
pub(crate) fn shared(record: &RunRecord) -> Option<&'static str> {
    let said = "two targets shared the CPUs: no figure here is that of a server alone";
    record.duet.as_ref().map(|_| said)
}
