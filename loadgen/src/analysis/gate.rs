//! Judges whether the targets of a run are slower than the first of them, by more than a limit.

use super::loss::Limit;
use super::runs::limited;
use super::statistics::Sample;
use crate::record::{Bottleneck, FEWEST_ROUNDS, GateRecord, LossOf, RunRecord, TargetRecord};

impl GateRecord {
    /// Judges each target of a run against the first, which may lose `limit_percent` % at most. The
    /// record must be complete, except for the gate.
    #[must_use]
    pub fn of(record: &RunRecord, limit_percent: f64) -> Self {
        let [base, others @ ..] = record.load.targets.as_slice() else {
            return Self { base: String::new(), limit_percent, judged: Vec::new() };
        };
        let of = match (&record.duet, record.load.rate_per_s) {
            (Some(_), _) => LossOf::CpuTime,
            (None, Some(_)) => LossOf::Latency,
            (None, None) => LossOf::Rate,
        };
        let limit = Limit::of(limit_percent, others.len());
        let judged = others.iter().map(|it| limit.judge(it, of, sample(record, base, it)));
        Self { limit_percent, judged: judged.collect(), base: base.clone() }
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
    pair.and_then(|pair| pair.gain_of(target)).ok_or_else(|| {
        match pair.map_or(0, |pair| pair.rounds) {
            n if n < FEWEST_ROUNDS => {
                format!("{FEWEST_ROUNDS} whole rounds are needed, and {n} ran")
            }
            _ => "a round has no expected response, or no known CPU time".to_owned(),
        }
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
    use crate::record::{DuetRecord, Judged, Judgement, LoadRecord, RoundRecord};

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
    fn a_lower_rate_is_a_loss() {
        let of = judged(&run(&[4.0, 5.0, 6.0, 5.0, 5.0]), 4.0);
        assert_eq!((of.judgement, of.of, of.why_not), (Judgement::Slower, LossOf::Rate, None));
        assert!((of.loss_percent.unwrap() - 5.00211).abs() < 1e-3);
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
