//! Judges the loss of a target by the greatest loss that is accepted.
//!
//! A test of non-inferiority and one of inferiority, each one-sided at 2.5 %, in the form of a confidence
//! interval: a loss is shown if the whole interval is above the limit, and shown to be no greater if the
//! whole interval is below (Wellek, *Testing Statistical Hypotheses of Equivalence and Noninferiority*,
//! 2010). The interval is Student's, at 95 % for all targets together.

use super::figures::FAILED;
use super::statistics::{LEVEL, Sample, rounds_to_exclude};
use crate::record::{
    Bottleneck, JudgedTarget, Judgement, Lack, LoadRecord, LossOf, Pair, RankedBy, RoundRecord,
    TargetRecord,
};
use loadgen_text::counted;

/// Greatest loss that is accepted, and the level at which losses are judged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    percent: f64,
    level: f64,
}

impl Limit {
    /// Makes the limit of a number of targets that are judged together (Bonferroni).
    pub(super) fn of(percent: f64, targets: usize) -> Self {
        Self { percent, level: LEVEL / targets.max(1) as f64 }
    }

    /// Judges a target by the logarithms of the ratios of its figures to those of the base, where more
    /// is better; without them, by the reason why there are none. If there is a `doubt`, which is a reason
    /// why a small loss says little, the target is never judged as free of a greater one.
    pub(super) fn judge(
        self,
        target: &str,
        of: LossOf,
        ratios: Result<Sample, String>,
        doubt: Option<String>,
    ) -> JudgedTarget {
        let sample = match ratios {
            Ok(sample) => sample,
            Err(why) => return JudgedTarget::unjudged(target, of, why),
        };
        let limit = of.logarithm(self.percent);
        let ends = sample.confidence(self.level);
        let judgement = match ends {
            Some([_, best]) if best < limit => Judgement::Slower,
            Some([worst, _]) if worst > limit => Judgement::NotSlower,
            _ => Judgement::Open,
        };
        if let (Judgement::NotSlower | Judgement::Open, Some(doubt)) = (judgement, doubt) {
            return JudgedTarget::unjudged(target, of, doubt);
        }
        let is_open = judgement == Judgement::Open;
        JudgedTarget {
            target: target.to_owned(),
            of,
            loss_percent: Some(of.percent(sample.mean)),
            // The smallest loss is at the upper end of the logarithm.
            confidence_percent: ends.map(|[worst, best]| [of.percent(best), of.percent(worst)]),
            judgement,
            why_not: None,
            more_rounds: is_open.then(|| rounds_to_exclude(&sample, limit, self.level)).flatten(),
        }
    }
}

/// Greatest share of rounds (0 to 1) whose rate something other than the target may have limited, or that are
/// missing because loadgen was held up. Each such round hides a loss of the target: with more of them, a loss
/// seems smaller than it is by more than this.
const LIMITED: f64 = 0.1;

/// Returns why a small loss of a target says little, as the rest of a sentence that begins with the
/// target's name; `None` if nothing is wrong.
pub(super) fn doubt(target: &TargetRecord, load: &LoadRecord, of: LossOf) -> Option<String> {
    // The rounds that are left may be those in which the target was fast. That loadgen was held up says little
    // of the target, but a target may be the reason.
    let is_held_up = |round: &RoundRecord| {
        !round.held_up.is_empty() && round.changes.is_empty() && round.target_ended.is_none()
    };
    let (held_up, cut): (Vec<&RoundRecord>, Vec<_>) =
        target.rounds.iter().filter(|round| !round.whole).partition(|round| is_held_up(round));
    if !cut.is_empty() {
        return Some("has a round that was cut short or had another load".to_owned());
    }
    if held_up.len() as f64 > LIMITED * target.rounds.len() as f64 {
        let rounds = counted(held_up.len() as u64, "round");
        return Some(format!("has {rounds} in which loadgen was held up"));
    }
    // Latencies and CPU times have reasons of their own why they are not compared.
    if of != LossOf::Rate {
        return None;
    }
    if target.rounds.iter().any(|round| round.total.error_rate_with_in_flight() > FAILED) {
        return Some(Lack::TooManyErrors.to_string());
    }
    let by_another = |round: &&RoundRecord| {
        round.bottleneck.as_ref().is_some_and(|bottleneck| !bottleneck.is_of_target())
    };
    let limited = target.rounds.iter().filter(by_another).count();
    if limited as f64 > LIMITED * target.rounds.len() as f64 {
        return Some(format!(
            "has {} in which something other than the target limited the rate",
            counted(limited as u64, "round")
        ));
    }
    let help = "measure without think time, or at a rate of requests";
    match (&load.think_time, &target.bottleneck) {
        (None, _) | (Some(_), Some(Bottleneck::Target)) => None,
        (Some(_), Some(_)) => Some(format!("has a rate that think time sets: {help}")),
        (Some(_), None) => Some(format!("has a rate that think time may set: {help}")),
    }
}

impl From<RankedBy> for LossOf {
    /// Returns the figure of which a target loses something if targets are ranked by this quantity.
    fn from(ranked_by: RankedBy) -> Self {
        match ranked_by {
            RankedBy::Answers => Self::Rate,
            RankedBy::Speed => Self::Latency,
            RankedBy::Capacity => Self::Capacity,
        }
    }
}

impl LossOf {
    /// Returns the loss in %, from the logarithm of the ratio of a target's figure to that of the base,
    /// where more is better: the rate, the capacity, or one over the latency or the CPU time.
    fn percent(self, logarithm: f64) -> f64 {
        100.0
            * match self {
                Self::Rate | Self::Capacity => -logarithm.exp_m1(),
                Self::Latency | Self::CpuTime => (-logarithm).exp_m1(),
            }
    }

    /// Returns the logarithm of the ratio at which the loss is `percent` %.
    fn logarithm(self, percent: f64) -> f64 {
        match self {
            Self::Rate | Self::Capacity => (-percent / 100.0).ln_1p(),
            Self::Latency | Self::CpuTime => -(percent / 100.0).ln_1p(),
        }
    }
}

impl Pair {
    /// Returns the logarithms of the ratios of a target's figures to those of the other target of the
    /// pair, where more is better; `None` without an interval.
    pub(super) fn gain_of(&self, target: &str) -> Option<Sample> {
        let sample = self.sample()?;
        let sign = if self.better == target { 1.0 } else { -1.0 };
        Some(Sample { mean: sign * sample.mean, ..sample })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(limit: f64, of: LossOf, logarithms: &[f64]) -> JudgedTarget {
        Limit::of(limit, 1).judge("new", of, Ok(Sample::of(logarithms).unwrap()), None)
    }

    #[test]
    fn a_loss_is_shown_only_where_the_whole_interval_is_beyond_the_limit() {
        // x = np.log(1 - np.array([4, 5, 6, 5, 5]) / 100); m = x.mean(); s = x.std(ddof=1) / 5 ** .5
        // h = stats.t.ppf(.975, 4) * s; 100 * (1 - np.exp([m, m + h, m - h]))
        let logarithms = [4.0, 5.0, 6.0, 5.0, 5.0].map(|loss: f64| (1.0 - loss / 100.0).ln());
        let of = judged(4.0, LossOf::Rate, &logarithms);
        assert_eq!((of.judgement, of.why_not), (Judgement::Slower, None));
        let [low, high] = of.confidence_percent.unwrap();
        let measured = [of.loss_percent.unwrap(), low, high];
        for (measured, expected) in measured.into_iter().zip([5.00211, 4.12003, 5.87607]) {
            assert!((measured - expected).abs() < 1e-3, "{measured} {expected}");
        }
        assert_eq!(judged(5.0, LossOf::Rate, &logarithms).judgement, Judgement::Open);
        assert!(judged(5.5, LossOf::Rate, &logarithms).more_rounds.is_some());
        assert_eq!(judged(6.0, LossOf::Rate, &logarithms).judgement, Judgement::NotSlower);
    }

    #[test]
    fn a_longer_time_is_a_loss_of_its_own_size() {
        let logarithms = [-0.099, -0.1, -0.101, -0.1, -0.1];
        for of in [LossOf::Latency, LossOf::CpuTime] {
            let judged = judged(10.0, of, &logarithms);
            assert_eq!(judged.judgement, Judgement::Slower);
            assert!((judged.loss_percent.unwrap() - 10.517).abs() < 1e-3, "{judged:?}");
        }
        let less = judged(10.0, LossOf::Capacity, &logarithms);
        assert!((less.loss_percent.unwrap() - 9.516).abs() < 1e-3, "{less:?}");
        assert_eq!(less.judgement, Judgement::NotSlower);
    }

    #[test]
    fn a_gain_is_no_loss() {
        let of = judged(0.0, LossOf::Rate, &[0.04, 0.05, 0.06, 0.05, 0.05]);
        assert_eq!(of.judgement, Judgement::NotSlower);
        assert!((of.loss_percent.unwrap() + 5.127).abs() < 1e-3, "{of:?}");
    }

    #[test]
    fn more_targets_need_more_certainty() {
        let sample = Sample::of(&[-0.049, -0.052, -0.06, -0.056, -0.053]).unwrap();
        let judgement = |targets| {
            Limit::of(4.5, targets).judge("new", LossOf::Rate, Ok(sample), None).judgement
        };
        assert_eq!((judgement(1), judgement(9)), (Judgement::Slower, Judgement::Open));
    }

    #[test]
    fn a_doubt_passes_no_gate_but_hides_no_loss() {
        let sample = Sample::of(&[-0.049, -0.052, -0.06, -0.056, -0.053]).unwrap();
        let judged = |limit| {
            let doubt = Some("it failed".to_owned());
            Limit::of(limit, 1).judge("new", LossOf::Rate, Ok(sample), doubt)
        };
        assert_eq!(judged(2.0).judgement, Judgement::Slower);
        for limit in [5.0, 9.0] {
            let judged = judged(limit);
            assert_eq!(judged.judgement, Judgement::Unjudged);
            assert_eq!((judged.why_not.as_deref(), judged.loss_percent), (Some("it failed"), None));
        }
    }
}
