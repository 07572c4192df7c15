//! Puts the comparison into words: which differences were shown, which were not, and how many more
//! rounds would settle them.

use super::curves::curves;
use super::duet::of_duets;
use super::gate;
use super::latencies;
use super::matrix::scaling;
use super::pair::{is_short, of_cpu, sentence, too_few};
use super::precision::precision;
use super::slices::variation;
use crate::record::{
    Comparison, FEWEST_ROUNDS, Lack, NoiseFloor, Pair, RunRecord, ServerSize, TargetRecord,
};

/// Compares each pair of neighbours in the ranking, also by CPU and by the latencies. Then describes how targets scale,
/// targets without a round of full length and load, and the noise floor.
pub(crate) fn conclusion(record: &RunRecord) -> Vec<String> {
    let Some(comparison) = &record.comparison else {
        return [gate::sentences(record.gate.as_ref()), nothing_whole(record)].concat();
    };
    if let Some(duet) = &record.duet {
        let precision = precision(record).into_iter().collect();
        let differs = comparison.cpu_pairs.iter().any(|pair| pair.shown);
        let noise = noise(record, comparison, differs);
        return [
            gate::sentences(record.gate.as_ref()),
            of_duets(duet, comparison),
            precision,
            noise,
        ]
        .concat();
    }
    let pairs = neighbours(record, comparison);
    let mut out = gate::sentences(record.gate.as_ref());
    out.extend(conclude(&pairs, &comparison.scaling, comparison));
    out.extend(cpu_neighbours(record, comparison).into_iter().filter_map(of_cpu));
    let by_latency = by_latency(record, comparison);
    let differs = pairs.iter().any(|pair| pair.shown) || !by_latency.is_empty();
    out.extend(by_latency);
    let ranked: Vec<&str> = comparison.ranking.iter().map(|it| it.target.as_str()).collect();
    out.extend(latencies::lacking(comparison, &ranked, str::to_owned));
    out.extend(scaling(record));
    out.extend(curves(&record.scaling));
    let short = |(name, lack): (&String, &Lack)| match lack {
        Lack::NoWholeRound => Some(format!("{name} {lack}: not ranked")),
        _ => None,
    };
    out.extend(comparison.lacking.iter().filter_map(short));
    out.extend(precision(record));
    out.extend(variation(record));
    out.extend(noise(record, comparison, differs));
    out
}

/// Describes the noise of the machine, as this run or an earlier run measured it. `differs` tells whether
/// this run showed a difference.
fn noise(record: &RunRecord, comparison: &Comparison, differs: bool) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(percent) = comparison.noise_floor_percent {
        let figure = if record.duet.is_some() { " in CPU time per request" } else { "" };
        out.push(noise_floor(percent, figure, differs));
    }
    if let Some(known) = &record.noise_floor {
        let NoiseFloor { percent, scenario, target, started } = known;
        let day = started.split('T').next().unwrap_or_default();
        out.push(format!(
            "noise floor: ±{percent:.1} % ({target} compared with itself, {scenario}, {day})"
        ));
    }
    out
}

/// Says that no targets are compared if none of several targets has a round of full length and
/// load; otherwise empty.
fn nothing_whole(record: &RunRecord) -> Vec<String> {
    let has_whole = |target: &TargetRecord| target.rounds.iter().any(|round| round.whole);
    let none = record.targets.len() > 1 && !record.targets.iter().any(has_whole);
    let said = "no target has a round of full length and load: no targets are compared";
    none.then(|| said.to_owned()).into_iter().collect()
}

/// Returns a sentence for each of `pairs`. If all `pairs` and all `others` have the same number of
/// rounds, and the number is too small, one sentence stands for all. Other functions describe
/// `others`.
pub(crate) fn conclude(pairs: &[&Pair], others: &[Pair], comparison: &Comparison) -> Vec<String> {
    let mut all = pairs.iter().copied().chain(others).peekable();
    match all.peek().copied() {
        Some(first) if first.rounds > 0 && all.all(|p| is_short(p) && p.rounds == first.rounds) => {
            vec![format!("{}: {FEWEST_ROUNDS} are needed", too_few(first))]
        }
        _ => pairs.iter().map(|pair| sentence(pair, comparison)).collect(),
    }
}

/// Compares the latencies of each two neighbours in the ranking that differ by them.
fn by_latency(record: &RunRecord, comparison: &Comparison) -> Vec<String> {
    let two = neighbouring(record, comparison).into_iter();
    two.filter_map(|(one, other)| latencies::sentence(comparison, [one, other], [one, other]))
        .collect()
}

/// Describes the noise of the machine, as measured by comparing a server with itself.
fn noise_floor(percent: f64, figure: &str, shown: bool) -> String {
    match shown {
        false => format!(
            "the ratio of two measurements of the same server{figure} is uncertain by ±{percent:.1} % here"
        ),
        true => "but both are the same server: one in twenty such runs shows a difference by \
                 chance; if more of them do, do not compare targets here"
            .to_owned(),
    }
}

/// Returns the number of rounds that finds a difference of 5 % in all compared pairs that show no
/// difference yet, and at least [`FEWEST_ROUNDS`] for pairs with fewer rounds. Ignores pairs that
/// need more than 1,000 rounds. `None` if the run already has as many rounds, or if no pair
/// remains.
pub(crate) fn rounds_to_ask_for(record: &RunRecord) -> Option<u32> {
    let unsettled = |pair: &&Pair| !pair.shown && pair.ratio.is_some();
    let rounds = |pair: &Pair| match pair.more_rounds_for_5_percent {
        Some(more) => Some(pair.rounds + more),
        None if is_short(pair) => Some(FEWEST_ROUNDS),
        None => None,
    };
    let comparison = record.comparison.as_ref()?;
    let pairs: Vec<&Pair> = match record.duet {
        Some(_) => comparison.pairs.iter().chain(&comparison.cpu_pairs).collect(),
        None => [neighbours(record, comparison), cpu_neighbours(record, comparison)].concat(),
    };
    let pairs = pairs.into_iter().chain(&comparison.scaling);
    let most = pairs.filter(unsettled).filter_map(rounds).max()?;
    (most > record.load.rounds).then_some(most)
}

/// Returns the comparison of each pair of neighbours in the ranking, best first.
fn neighbours<'a>(record: &RunRecord, comparison: &'a Comparison) -> Vec<&'a Pair> {
    let two = neighbouring(record, comparison);
    two.into_iter().filter_map(|(one, other)| comparison.pair(one, other)).collect()
}

/// Returns the comparison by CPU of each pair of neighbours in the ranking, where figures are
/// available.
fn cpu_neighbours<'a>(record: &RunRecord, comparison: &'a Comparison) -> Vec<&'a Pair> {
    let two = neighbouring(record, comparison);
    two.into_iter().filter_map(|(one, other)| comparison.cpu_pair(one, other)).collect()
}

/// Returns the names of each two neighbours in the ranking, among targets with the same numbers of
/// server workers, replicas and users.
fn neighbouring<'a>(record: &RunRecord, comparison: &'a Comparison) -> Vec<(&'a str, &'a str)> {
    let mut groups: Vec<((ServerSize, u32), Vec<&str>)> = Vec::new();
    for name in comparison.ranking.iter().map(|placing| placing.target.as_str()) {
        let target = record.targets.iter().find(|target| target.name == name);
        let group = target
            .map_or((ServerSize::default(), 0), |target| (target.server.size(), target.users));
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, names)) => names.push(name),
            None => groups.push((group, vec![name])),
        }
    }
    groups.sort_by_key(|(group, _)| *group);
    let two = |names: &[&'a str]| names.windows(2).map(|two| (two[0], two[1])).collect::<Vec<_>>();
    groups.iter().flat_map(|(_, names)| two(names)).collect()
}
