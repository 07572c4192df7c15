//! Judges whether the targets of a run are slower than the first of them, by more than a limit.
//!
//! Two one-sided tests at the limit (Schuirmann, *A comparison of the Two One-Sided Tests Procedure and
//! the Power Approach for assessing the equivalence of average bioavailability*, 1987), in the form of a
//! confidence interval: a loss is shown if the whole interval is above the limit, and shown to be no
//! greater if the whole interval is below. The interval is that of Student's paired test, at 95 % for
//! all targets together.

use super::runs::limited;
use super::statistics::{LEVEL, Sample, rounds_to_exclude};
use crate::record::{
    Bottleneck, FEWEST_ROUNDS, GateRecord, Judged, Judgement, LossOf, Pair, RunRecord, TargetRecord,
};

impl GateRecord {
    /// Judges each target of a run against the first, which may lose `limit_percent` % at most. The
    /// record must be complete, except for the gate.
    #[must_use]
    pub fn of(record: &RunRecord, limit_percent: f64) -> Self {
        let base = record.load.targets.first().cloned().unwrap_or_default();
        let others: Vec<&String> = record.load.targets.iter().skip(1).collect();
        let level = LEVEL / others.len().max(1) as f64;
        let of = loss_of(record);
        let judged = others.into_iter().map(|target| match sample(record, &base, target) {
            Ok(sample) => judge(target, of, sample, limit_percent, level),
            Err(why) => Judged {
                target: target.clone(),
                of,
                loss_percent: None,
                confidence_percent: None,
                judgement: Judgement::Unjudged,
                why_not: Some(why),
                more_rounds: None,
            },
        });
        Self { limit_percent, judged: judged.collect(), base }
    }
}

fn loss_of(record: &RunRecord) -> LossOf {
    match (&record.duet, record.load.rate_per_s) {
        (Some(_), _) => LossOf::CpuTime,
        (None, Some(_)) => LossOf::Latency,
        (None, None) => LossOf::Rate,
    }
}

impl LossOf {
    /// Returns the loss in %, from the logarithm of the ratio of a target's figure to the first
    /// target's, where more is better: the rate, or one over the latency or the CPU time.
    fn percent(self, logarithm: f64) -> f64 {
        100.0
            * match self {
                Self::Rate => -logarithm.exp_m1(),
                Self::Latency | Self::CpuTime => (-logarithm).exp_m1(),
            }
    }

    /// Returns the logarithm of the ratio at which the loss is `percent` %.
    fn logarithm(self, percent: f64) -> f64 {
        match self {
            Self::Rate => (-percent / 100.0).ln_1p(),
            Self::Latency | Self::CpuTime => -(percent / 100.0).ln_1p(),
        }
    }
}

fn judge(target: &str, of: LossOf, sample: Sample, limit_percent: f64, level: f64) -> Judged {
    let limit = of.logarithm(limit_percent);
    let ends = sample.confidence(level);
    let judgement = match ends {
        Some([_, best]) if best < limit => Judgement::Slower,
        Some([worst, _]) if worst > limit => Judgement::NotSlower,
        _ => Judgement::Open,
    };
    let is_open = judgement == Judgement::Open;
    Judged {
        target: target.to_owned(),
        of,
        loss_percent: Some(of.percent(sample.mean)),
        // The smallest loss is at the upper end of the logarithm.
        confidence_percent: ends.map(|[worst, best]| [of.percent(best), of.percent(worst)]),
        judgement,
        why_not: None,
        more_rounds: is_open.then(|| rounds_to_exclude(&sample, limit)).flatten(),
    }
}

/// Returns the logarithms of the ratios of a target's figures to those of the first target, where more
/// is better.
///
/// # Errors
/// The reason why the target cannot be judged.
fn sample(record: &RunRecord, base: &str, target: &str) -> Result<Sample, String> {
    let comparison = record.comparison.as_ref().ok_or("no target has a round of full length")?;
    let measured = |name: &str| record.targets.iter().find(|it| it.name == name);
    let both = [base, target].map(measured);
    let pair = match (&record.duet, both) {
        (Some(_), [Some(one), Some(other)]) => {
            is_bound_by_cpu(one)?;
            is_bound_by_cpu(other)?;
            comparison.cpu_pair(base, target)
        }
        _ => comparison.pair(base, target),
    };
    if let Some(missing) = [base, target].iter().zip(both).find(|(_, it)| it.is_none()) {
        return Err(format!("{} was not measured", missing.0));
    }
    if let Some((who, lack)) = comparison.lack([base, target]) {
        return Err(format!("{who} {lack}"));
    }
    let limited = both.into_iter().flatten().find_map(|it| Some((it, limited(it, record)?)));
    if let (None, Some((it, lack))) = (&record.duet, limited) {
        return Err(format!("{} {lack}", it.name));
    }
    let oriented = |pair: &Pair| {
        let sample = pair.sample()?;
        let sign = if pair.better == target { 1.0 } else { -1.0 };
        Some(Sample { mean: sign * sample.mean, ..sample })
    };
    pair.and_then(oriented).ok_or_else(|| match pair.map_or(0, |pair| pair.rounds) {
        n if n < FEWEST_ROUNDS => format!("{FEWEST_ROUNDS} whole rounds are needed, and {n} ran"),
        _ => "a round has no expected response, or no known CPU time".to_owned(),
    })
}

/// Checks that the CPU limited a target of a duet in most of its rounds: the CPU time of a request says
/// nothing of the time that a request waits for something else.
fn is_bound_by_cpu(target: &TargetRecord) -> Result<(), String> {
    match target.bottleneck {
        Some(Bottleneck::Target) => Ok(()),
        _ => Err(format!(
            "the CPU did not limit {} in most rounds, so that its CPU time does not say how fast it is: \
             measure without --duet",
            target.name
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare;
    use crate::record::{DuetRecord, LoadRecord, RoundRecord};

    /// Returns the run of two targets, of which the second loses these % in each round.
    fn run(losses: &[f64]) -> RunRecord {
        let all = [("old", vec![0.0; losses.len()]), ("new", losses.to_vec())];
        let comparison = compare(&all.clone().map(|(name, losses)| {
            let rates = losses.into_iter().map(|loss| 1_000.0 - 10.0 * loss);
            (name.to_owned(), (1..).zip(rates).collect())
        }));
        let target = |name: &str| TargetRecord {
            name: name.to_owned(),
            bottleneck: Some(Bottleneck::Target),
            rounds: vec![RoundRecord::default(); losses.len()],
            ..TargetRecord::default()
        };
        RunRecord {
            load: LoadRecord {
                targets: all.iter().map(|(name, _)| (*name).to_owned()).collect(),
                ..LoadRecord::default()
            },
            targets: all.iter().map(|(name, _)| target(name)).collect(),
            comparison: Some(comparison),
            ..RunRecord::default()
        }
    }

    fn judged(record: &RunRecord, limit: f64) -> Judged {
        let gate = GateRecord::of(record, limit);
        assert_eq!((gate.base.as_str(), gate.judged.len()), ("old", 1));
        gate.judged[0].clone()
    }

    #[test]
    fn a_loss_is_shown_only_where_the_whole_interval_is_beyond_the_limit() {
        // x = np.log(1 - np.array([4, 5, 6, 5, 5]) / 100); m = x.mean(); s = x.std(ddof=1) / 5 ** .5
        // h = stats.t.ppf(.975, 4) * s; 100 * (1 - np.exp([m, m + h, m - h]))
        let record = run(&[4.0, 5.0, 6.0, 5.0, 5.0]);
        let of = judged(&record, 4.0);
        assert_eq!((of.judgement, of.of, of.why_not), (Judgement::Slower, LossOf::Rate, None));
        let [low, high] = of.confidence_percent.unwrap();
        let measured = [of.loss_percent.unwrap(), low, high];
        for (measured, expected) in measured.into_iter().zip([5.00211, 4.12003, 5.87607]) {
            assert!((measured - expected).abs() < 1e-3, "{measured} {expected}");
        }
        assert_eq!(judged(&record, 5.0).judgement, Judgement::Open);
        assert!(judged(&record, 5.5).more_rounds.is_some());
        assert_eq!(judged(&record, 6.0).judgement, Judgement::NotSlower);
    }

    #[test]
    fn a_gain_is_no_loss() {
        let of = judged(&run(&[-4.0, -5.0, -6.0, -5.0, -5.0]), 0.0);
        assert_eq!(of.judgement, Judgement::NotSlower);
        assert!((of.loss_percent.unwrap() + 5.0).abs() < 0.1, "{of:?}");
    }

    #[test]
    fn what_cannot_be_judged_has_a_reason() {
        let why = |record: &RunRecord| {
            let of = judged(record, 5.0);
            assert_eq!((of.judgement, of.loss_percent), (Judgement::Unjudged, None));
            of.why_not.unwrap()
        };
        assert_eq!(why(&run(&[5.0; 4])), "5 whole rounds are needed, and 4 ran");
        let mut limited = run(&[5.0, 6.0, 5.0, 6.0, 5.0]);
        limited.targets[1].bottleneck = Some(Bottleneck::Generator);
        assert_eq!(why(&limited), "new has a rate that loadgen itself limited");
        limited.targets.pop();
        assert_eq!(why(&limited), "new was not measured");
        let nothing = RunRecord { comparison: None, ..run(&[]) };
        assert_eq!(why(&nothing), "no target has a round of full length");
    }

    #[test]
    fn a_duet_is_judged_by_cpu_time_if_the_cpu_limits_both() {
        let mut record = run(&[5.0, 4.9, 5.1, 5.0, 5.0]);
        record.duet = Some(DuetRecord { base: "old".to_owned(), pairs: Vec::new() });
        if let Some(comparison) = &mut record.comparison {
            comparison.cpu_pairs = std::mem::take(&mut comparison.pairs);
        }
        let of = judged(&record, 4.0);
        assert_eq!((of.judgement, of.of), (Judgement::Slower, LossOf::CpuTime));
        // 5 % fewer requests per CPU time are 1 / 0.95 - 1 more CPU time per request.
        assert!((of.loss_percent.unwrap() - 5.263).abs() < 1e-2, "{of:?}");
        record.targets[0].bottleneck = Some(Bottleneck::Nobody);
        let of = judged(&record, 4.0);
        assert_eq!(of.judgement, Judgement::Unjudged);
        assert!(of.why_not.unwrap().ends_with("measure without --duet"));
    }
}
