//! Puts the comparison into words: which differences were shown, which were not, and how many more
//! rounds would settle them.

use super::curves::curves;
use super::latencies;
use super::matrix::scaling;
use super::ratio::{times, what_it_takes};
use crate::record::{
    Comparison, FEWEST_ROUNDS, Lack, NoiseFloor, Pair, RankedBy, RunRecord, ServerSize,
    TargetRecord,
};

/// Compares each pair of neighbours in the ranking, also by CPU and by the latencies. Then describes how targets scale,
/// targets without a round of full length and load, and the noise floor.
pub(crate) fn conclusion(record: &RunRecord) -> Vec<String> {
    let Some(comparison) = &record.comparison else { return nothing_whole(record) };
    let pairs = neighbours(record, comparison);
    let mut out = conclude(&pairs, &comparison.scaling, comparison);
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
    if let Some(percent) = comparison.noise_floor_percent {
        out.push(noise_floor(percent, differs));
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

/// Compares the CPU time that the two targets of a pair need for a request; `None` if their rounds
/// do not allow a comparison.
fn of_cpu(pair: &Pair) -> Option<String> {
    let Pair { better, worse, .. } = pair;
    let (ratio, [low, high]) = (pair.ratio?, pair.confidence_95?);
    if !pair.shown {
        let none = format!(
            "no difference between {better} and {worse} in CPU time per request could be shown"
        );
        return Some(none + &what_it_takes(pair));
    }
    let [ratio, low, high] = times([1.0 / ratio, 1.0 / high, 1.0 / low]);
    Some(format!("{better} needs {ratio} times the CPU time of {worse} per request ({low}–{high})"))
}

/// Compares the latencies of each two neighbours in the ranking that differ by them.
fn by_latency(record: &RunRecord, comparison: &Comparison) -> Vec<String> {
    let two = neighbouring(record, comparison).into_iter();
    two.filter_map(|(one, other)| latencies::sentence(comparison, [one, other], [one, other]))
        .collect()
}

/// Describes the noise of the machine, as measured by comparing a server with itself.
fn noise_floor(percent: f64, shown: bool) -> String {
    match shown {
        false => {
            format!("two measurements of the same server differ by up to ±{percent:.1} % here")
        }
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
    let pairs = neighbours(record, comparison).into_iter();
    let pairs = pairs.chain(cpu_neighbours(record, comparison)).chain(&comparison.scaling);
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

/// Whether a pair has too few rounds to claim a difference.
fn is_short(pair: &Pair) -> bool {
    pair.rounds < FEWEST_ROUNDS
}

fn too_few(pair: &Pair) -> String {
    match pair.rounds {
        1 => "one round is too few to claim a difference".to_owned(),
        n => format!("{n} rounds are too few to claim a difference"),
    }
}

/// Describes the difference between the two targets of a pair, or says why none is shown.
fn sentence(pair: &Pair, comparison: &Comparison) -> String {
    let Pair { better, worse, .. } = pair;
    if let Some((who, lack)) = comparison.lack([worse, better]) {
        let what = match comparison.ranked_by {
            RankedBy::Speed => "its latencies are not compared",
            RankedBy::Answers | RankedBy::Capacity => "not compared",
        };
        return format!("{who} {lack}: {what}");
    }
    match (pair.ratio, pair.confidence_95) {
        _ if is_short(pair) => {
            let few = too_few(pair);
            format!("{better} and {worse}: {few} between them; {FEWEST_ROUNDS} are needed")
        }
        (Some(ratio), Some([low, high])) if pair.shown => {
            let [ratio, low, high] = times([ratio, low, high]);
            match comparison.ranked_by {
                RankedBy::Answers => {
                    format!("{better} serves {ratio} times the requests of {worse} ({low}–{high})")
                }
                RankedBy::Capacity => {
                    format!("{better} carries {ratio} times the rate of {worse} ({low}–{high})")
                }
                RankedBy::Speed => format!(
                    "{better} answers {ratio} times as fast as {worse} ({low}–{high}), by the \
                     median"
                ),
            }
        }
        (None, _) | (_, None) => format!(
            "{better} and {worse} are not compared: one of their rounds has no expected response"
        ),
        _ => {
            let none = format!("no difference between {better} and {worse} could be shown");
            none + &what_it_takes(pair)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare;

    fn pair(ratio: f64, confidence_95: [f64; 2]) -> Pair {
        Pair {
            better: "sanic".to_owned(),
            worse: "quart".to_owned(),
            rounds: 5,
            ratio: Some(ratio),
            freedom: Some(4.0),
            confidence_95: Some(confidence_95),
            p_value: Some(0.01),
            p_holm: Some(0.03),
            shown: true,
            more_rounds_for_5_percent: Some(0),
        }
    }

    fn ranked_by(ranked_by: RankedBy, lacking: &[(&str, Lack)]) -> Comparison {
        let lacking = lacking.iter().map(|(name, lack)| ((*name).to_owned(), *lack)).collect();
        Comparison { ranked_by, lacking, ..compare(&[]) }
    }

    #[test]
    fn a_shown_ratio_is_never_rounded_to_one() {
        let shown = |ratio, ends| {
            let sentence = sentence(&pair(ratio, ends), &ranked_by(RankedBy::Answers, &[]));
            let sentence = sentence.replace("sanic serves ", "");
            sentence.replace(" times the requests of quart", "")
        };
        assert_eq!(shown(1.834, [1.761, 1.909]), "1.83 (1.76–1.91)");
        assert_eq!(shown(1.0061, [1.0032, 1.0091]), "1.006 (1.003–1.009)");
        assert_eq!(shown(1.000_04, [1.000_01, 1.000_07]), "1.0000 (1.0000–1.0001)");
        assert_eq!(shown(12.34, [11.1, 13.6]), "12.3 (11.1–13.6)");
        assert_eq!(shown(15_432.1, [14_000.0, 17_000.4]), "15,432 (14,000–17,000)");
    }

    #[test]
    fn the_target_that_needs_less_cpu_comes_first() {
        let said = |ratio, ends| of_cpu(&pair(ratio, ends)).unwrap();
        assert_eq!(
            said(1.64, [1.56, 1.72]),
            "sanic needs 0.61 times the CPU time of quart per request (0.58–0.64)"
        );
        let close = said(1.003, [1.002, 1.004]);
        assert!(close.ends_with("(0.996–0.998)"), "{close}");
        let not_shown = Pair { shown: false, ..pair(1.0, [0.9, 1.1]) };
        assert_eq!(
            of_cpu(&not_shown).unwrap(),
            "no difference between sanic and quart in CPU time per request could be shown; a \
             difference of 5 % would most likely have been shown"
        );
        assert_eq!(of_cpu(&Pair { confidence_95: None, ..not_shown }), None, "too few rounds");
    }

    #[test]
    fn latencies_are_compared_at_one_rate() {
        let shown = sentence(&pair(1.5, [1.2, 1.9]), &ranked_by(RankedBy::Speed, &[]));
        assert_eq!(shown, "sanic answers 1.50 times as fast as quart (1.20–1.90), by the median");
        let lost = Pair { ratio: None, rounds: 0, ..pair(1.0, [1.0, 1.0]) };
        let said = |lacking| sentence(&lost, &ranked_by(RankedBy::Speed, &[lacking]));
        assert_eq!(
            said(("quart", Lack::RateNotCarried)),
            "quart did not carry the rate: its latencies are not compared"
        );
        assert_eq!(
            said(("sanic", Lack::TooFewAnswers)),
            "sanic has a round with too few expected responses for a median: its latencies are not compared"
        );
    }

    #[test]
    fn an_unclear_difference_names_the_rounds_that_would_settle_it() {
        let said = |more| {
            let pair =
                Pair { shown: false, more_rounds_for_5_percent: more, ..pair(1.0, [0.9, 1.1]) };
            sentence(&pair, &ranked_by(RankedBy::Answers, &[]))
                .replace("no difference between sanic and quart could be shown", "")
        };
        assert_eq!(said(Some(0)), "; a difference of 5 % would most likely have been shown");
        assert_eq!(said(Some(1)), ": 1 more round would settle 5 %");
        assert_eq!(said(Some(6)), ": 6 more rounds would settle 5 %");
        assert_eq!(said(None), ": more than 1,000 rounds are needed to settle 5 %");
    }
}
