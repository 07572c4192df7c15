//! The comparison in words: what was shown, what was not, and what it would take.

use super::format::{count, wrap};
use crate::measure::{Comparison, FEWEST_ROUNDS, Pair, RunRecord};

/// A sentence for each two neighbours of the ranking.
pub fn conclusion(record: &RunRecord) -> String {
    let Some(comparison) = &record.comparison else { return String::new() };
    let open = record.load.rate_per_s.is_some();
    let pairs = neighbours(comparison);
    let mut out = String::new();
    match pairs.first() {
        Some(first)
            if first.rounds > 0
                && pairs.iter().all(|p| is_short(p) && p.rounds == first.rounds) =>
        {
            out += &wrap(" ", &format!("{}: {FEWEST_ROUNDS} are needed", too_few(first)));
        }
        _ => out.extend(pairs.iter().map(|pair| wrap(" ", &sentence(pair, open)))),
    }
    out.extend(cpu_neighbours(comparison).into_iter().filter_map(of_cpu).map(|s| wrap(" ", &s)));
    if let Some(percent) = comparison.noise_floor_percent {
        out += &wrap(" ", &noise_floor(percent, pairs.iter().any(|pair| pair.shown)));
    }
    out
}

/// What the rounds of both tell of the CPU that they need; nothing where they can't tell it.
fn of_cpu(pair: &Pair) -> Option<String> {
    let Pair { better, worse, .. } = pair;
    let (ratio, [low, high]) = (pair.ratio?, pair.confidence_95?);
    if !pair.shown {
        let none = format!(
            "no difference between {better} and {worse} in CPU for a request could be shown"
        );
        return Some(none + &what_it_takes(pair));
    }
    let [ratio, low, high] = times([1.0 / ratio, 1.0 / high, 1.0 / low]);
    Some(format!("{better} needs {ratio} times the CPU of {worse} for a request ({low}–{high})"))
}

/// What one server, held against itself, tells of the machine.
fn noise_floor(percent: f64, shown: bool) -> String {
    match shown {
        false => {
            format!("two measurements of the same server differ by up to ±{percent:.1} % here")
        }
        true => "but both are the same server: one in twenty such runs shows a difference by \
                 chance; where more of them do, compare nothing"
            .to_owned(),
    }
}

/// The rounds to ask for so that all neighbours are told apart if they differ by 5 %; five where
/// there were fewer. `None` where these rounds do already, or no number of rounds would.
pub fn rounds_to_ask_for(record: &RunRecord) -> Option<u32> {
    let unsettled = |pair: &&Pair| !pair.shown && pair.ratio.is_some();
    let rounds = |pair: &Pair| match pair.more_rounds_for_5_percent {
        Some(more) => Some(pair.rounds + more),
        None if is_short(pair) => Some(FEWEST_ROUNDS),
        None => None,
    };
    let comparison = record.comparison.as_ref()?;
    let pairs = neighbours(comparison).into_iter().chain(cpu_neighbours(comparison));
    let most = pairs.filter(unsettled).filter_map(rounds).max()?;
    (most > record.load.rounds).then_some(most)
}

/// The pairs of neighbours, best first.
fn neighbours(comparison: &Comparison) -> Vec<&Pair> {
    let two = comparison.ranking.windows(2);
    two.filter_map(|two| comparison.pair(&two[0].target, &two[1].target)).collect()
}

/// The same pairs by their CPU, as far as there are figures.
fn cpu_neighbours(comparison: &Comparison) -> Vec<&Pair> {
    let two = comparison.ranking.windows(2);
    two.filter_map(|two| comparison.cpu_pair(&two[0].target, &two[1].target)).collect()
}

/// Whether it has too few rounds for any claim.
fn is_short(pair: &Pair) -> bool {
    pair.rounds < FEWEST_ROUNDS
}

fn too_few(pair: &Pair) -> String {
    match pair.rounds {
        1 => "one round is too few to claim a difference".to_owned(),
        n => format!("{n} rounds are too few to claim a difference"),
    }
}

/// What the rounds of both tell: of their rates, or in the `open` model of their latencies.
fn sentence(pair: &Pair, open: bool) -> String {
    let Pair { better, worse, .. } = pair;
    match (pair.ratio, pair.confidence_95) {
        (None, _) if open => {
            format!("{worse} did not carry the rate: its latencies are not compared")
        }
        _ if is_short(pair) => {
            let few = too_few(pair);
            format!("{better} and {worse}: {few} between them, {FEWEST_ROUNDS} are needed")
        }
        (Some(ratio), Some([low, high])) if pair.shown => {
            let [ratio, low, high] = times([ratio, low, high]);
            match open {
                false => {
                    format!("{better} serves {ratio} times the requests of {worse} ({low}–{high})")
                }
                true => format!(
                    "{better} answers {ratio} times as fast as {worse} ({low}–{high}), by the \
                     median"
                ),
            }
        }
        (None, _) | (_, None) => format!(
            "{better} and {worse} are not compared: a round of theirs has no expected answer"
        ),
        _ => {
            let none = format!("no difference between {better} and {worse} could be shown");
            none + &what_it_takes(pair)
        }
    }
}

/// What would settle a difference that these rounds don't show.
fn what_it_takes(pair: &Pair) -> String {
    match pair.more_rounds_for_5_percent {
        Some(0) => "; one of 5 % most likely would have been".to_owned(),
        Some(1) => ": 1 more round would settle 5 %".to_owned(),
        Some(n) => format!(": {} more rounds would settle 5 %", count(n.into())),
        None => ": to settle 5 % takes more than 1,000 rounds".to_owned(),
    }
}

/// A ratio and the ends of its interval, on one side of 1: with two decimals, more of them where an
/// end is so close to 1 that it would look like it, fewer where the ratio is large.
fn times([ratio, low, high]: [f64; 3]) -> [String; 3] {
    let distance = if high < 1.0 { 1.0 - high } else { low - 1.0 };
    let decimals = match high {
        high if high >= 100.0 => 0,
        high if high >= 10.0 => 1,
        _ => (2..4).find(|n| distance >= 0.5 * 0.1_f64.powi(*n)).map_or(4, |n| n as usize),
    };
    [ratio, low, high].map(|value| match decimals {
        0 => count(value.round() as u64),
        n => format!("{value:.n$}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(ratio: f64, confidence_95: [f64; 2]) -> Pair {
        Pair {
            better: "sanic".to_owned(),
            worse: "quart".to_owned(),
            rounds: 5,
            ratio: Some(ratio),
            confidence_95: Some(confidence_95),
            p_value: Some(0.01),
            p_holm: Some(0.03),
            shown: true,
            more_rounds_for_5_percent: Some(0),
        }
    }

    #[test]
    fn a_ratio_that_was_shown_never_looks_like_one() {
        let shown = |ratio, ends| {
            let sentence = sentence(&pair(ratio, ends), false);
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
    fn who_needs_less_cpu_comes_first_with_its_share() {
        let said = |ratio, ends| of_cpu(&pair(ratio, ends)).unwrap();
        assert_eq!(
            said(1.64, [1.56, 1.72]),
            "sanic needs 0.61 times the CPU of quart for a request (0.58–0.64)"
        );
        let close = said(1.003, [1.002, 1.004]);
        assert!(close.ends_with("(0.996–0.998)"), "{close}");
        let not_shown = Pair { shown: false, ..pair(1.0, [0.9, 1.1]) };
        assert_eq!(
            of_cpu(&not_shown).unwrap(),
            "no difference between sanic and quart in CPU for a request could be shown; one of 5 % \
             most likely would have been"
        );
        assert_eq!(of_cpu(&Pair { confidence_95: None, ..not_shown }), None, "too few rounds");
    }

    #[test]
    fn at_one_rate_it_is_latencies_that_are_compared() {
        let shown = sentence(&pair(1.5, [1.2, 1.9]), true);
        assert_eq!(shown, "sanic answers 1.50 times as fast as quart (1.20–1.90), by the median");
        let lost = Pair { ratio: None, rounds: 0, ..pair(1.0, [1.0, 1.0]) };
        let lost = sentence(&lost, true);
        assert_eq!(lost, "quart did not carry the rate: its latencies are not compared");
    }

    #[test]
    fn what_was_not_shown_says_what_it_takes() {
        let said = |more| {
            let pair =
                Pair { shown: false, more_rounds_for_5_percent: more, ..pair(1.0, [0.9, 1.1]) };
            sentence(&pair, false)
                .replace("no difference between sanic and quart could be shown", "")
        };
        assert_eq!(said(Some(0)), "; one of 5 % most likely would have been");
        assert_eq!(said(Some(1)), ": 1 more round would settle 5 %");
        assert_eq!(said(Some(6)), ": 6 more rounds would settle 5 %");
        assert_eq!(said(None), ": to settle 5 % takes more than 1,000 rounds");
    }
}
