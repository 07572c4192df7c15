//! Checks whether a target was steady while it was measured.

use std::time::Duration;

use super::verdict;
use crate::record::{LoadRecord, RunRecord, TargetRecord, Verdict, VerdictKind};
use crate::steady::{Change, Figure, Step, Unsteady};
use loadgen_text::{counted, duration, rate};

/// Returns a verdict if the rate or the CPU time per request changed during the measurement. Only a
/// constant load for a fixed duration is checked, and of the open model only the CPU time.
pub(super) fn not_steady(target: &TargetRecord, record: &RunRecord) -> Option<Verdict> {
    let load = &record.load;
    load.duration_s?;
    if !load.stages.is_empty() {
        return None;
    }
    let figures: &[Figure] = match load.rate_per_s {
        None => &[Figure::Rate, Figure::CpuPerRequest],
        Some(_) => &[Figure::CpuPerRequest],
    };
    let unsteady = Unsteady::of(&target.rounds, load.ramp_up_s, figures)?;
    let what = match unsteady.figure {
        Figure::Rate => "the rate",
        Figure::CpuPerRequest => "the CPU time per request",
    };
    let changed = match &unsteady.change {
        Change::OverRounds { seconds, percent, confidence_95_percent: [low, high] } => format!(
            "{what} differed by {percent:+.1} % ({low:+.1} to {high:+.1} %) in the first {} of the \
             rounds from the rest",
            whole(*seconds as f64)
        ),
        Change::WithinRounds { rounds, of, worst } => {
            let Step { round, second, before, after } = worst;
            let (unit, [before, after]) = match unsteady.figure {
                Figure::Rate => ("requests/s", [before, after].map(|it| rate(*it))),
                Figure::CpuPerRequest => ("µs", [before, after].map(|it| format!("{it:.0}"))),
            };
            format!(
                "{what} changed within {rounds} of {}: in round {round}, from {before} to {after} \
                 {unit} after {}",
                counted(*of as u64, "round"),
                whole(*second as f64)
            )
        }
    };
    let advice = match unsteady.settles_after_s {
        Some(seconds) => {
            let (warmup, why) = enough_warmup(&record.load, seconds);
            format!(
                "the target was still warming up, or settling: start counting later, with --warmup \
                 {}{why}",
                whole(warmup)
            )
        }
        None => {
            "look for something that fills up, is throttled or competes for the CPUs, and hold the \
                 load for longer to see whether the target settles"
                .to_owned()
        }
    };
    Some(verdict(target, VerdictKind::NotSteady, changed, &advice))
}

/// Returns a warm-up in whole seconds that leaves out this many seconds more, and the reason for its
/// length if there are slices.
fn enough_warmup(load: &LoadRecord, seconds: usize) -> (f64, String) {
    let more = seconds as f64;
    match (load.slices, load.slice_warmup_s) {
        (Some(slices), Some(each)) => {
            let why = format!(
                " (of {slices} slices of a start, each but the first has 1/{slices} of it)"
            );
            ((f64::from(slices) * (each + more)).ceil(), why)
        }
        _ => ((load.warmup_s + more).ceil(), String::new()),
    }
}

/// Formats a whole number of seconds as a duration of the command line.
fn whole(seconds: f64) -> String {
    duration(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RoundRecord;
    use loadgen_measure::SecondRecord;

    /// Returns a target with rounds of these rates, and the record of its run.
    fn run(rounds: &[Vec<u64>]) -> (TargetRecord, RunRecord) {
        let second = |(second, answered): (u32, &u64)| SecondRecord {
            second,
            answered: *answered,
            ..SecondRecord::default()
        };
        let round = |(round, rates): (u32, &Vec<u64>)| RoundRecord {
            round,
            held_s: rates.len() as f64,
            whole: true,
            seconds: (0..).zip(rates).map(second).collect(),
            ..RoundRecord::default()
        };
        let rounds = (1..).zip(rounds).map(round).collect();
        let load = LoadRecord { duration_s: Some(20.0), warmup_s: 1.5, ..LoadRecord::default() };
        let record = RunRecord { load, ..RunRecord::default() };
        (TargetRecord { rounds, ..TargetRecord::default() }, record)
    }

    #[test]
    fn a_short_warm_up_is_named_with_one_that_would_do() {
        let rounds = [790, 810, 805, 795, 800]
            .map(|first| vec![first, first + 5, 1_000, 1_010, 990, 1_000, 1_005, 995]);
        let (target, record) = run(&rounds);
        let said = not_steady(&target, &record).unwrap();
        assert_eq!(
            (said.kind, said.message.as_str()),
            (
                VerdictKind::NotSteady,
                "the rate differed by -19.8 % (-20.7 to -18.8 %) in the first 2s of the rounds from \
                 the rest"
            )
        );
        assert!(said.advice.ends_with("--warmup 4s"), "1.5 s and 2 s more: {}", said.advice);
        let mut sliced = record.clone();
        (sliced.load.slices, sliced.load.slice_warmup_s) = (Some(4), Some(0.375));
        let said = not_steady(&target, &sliced).unwrap();
        let advice = "--warmup 10s (of 4 slices of a start, each but the first has 1/4 of it)";
        assert!(said.advice.ends_with(advice), "4 × 2.375 s: {}", said.advice);
        let mut staged = record;
        staged.load.stages = vec![crate::record::StageRecord { to: 9.0, over_s: 20.0 }];
        assert_eq!(not_steady(&target, &staged), None);
    }

    #[test]
    fn a_change_in_a_single_long_round_is_named() {
        let noise = [3, -5, 8, -2, -7, 4, 1, -3, 6, -4];
        let rates = (0..20).map(|i| 1_000 - u64::from(i >= 14) * 300 + (noise[i % 10] + 10) as u64);
        let (target, record) = run(&[rates.collect()]);
        let said = not_steady(&target, &record).unwrap();
        assert_eq!(
            said.message,
            "the rate changed within 1 of 1 round: in round 1, from 1,010 to 709 requests/s after 14s"
        );
        assert!(said.advice.contains("hold the load for longer"), "{}", said.advice);
        let mut open = record;
        open.load.rate_per_s = Some(1_000.0);
        assert_eq!(not_steady(&target, &open), None, "the rate is that of the plan");
    }
}
