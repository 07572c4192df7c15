//! Finds the reason why the rounds of a search leave a capacity uncertain.

use crate::record::{CapacityRound, CapacityTarget};

/// Half the width of a capacity's 95 % confidence interval, in %, above which the capacity counts as
/// uncertain.
const WIDE_PERCENT: f64 = 25.0;

/// Least number of rounds that agree as well as machines allow: with fewer, Student's t alone makes
/// the interval of a little noise wide.
const ENOUGH: usize = 4;

/// Reason why a capacity is uncertain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Uncertain {
    /// The interval is that of this small number of rounds.
    FewRounds(usize),
    /// Each round found more than the round before, or each found less.
    Trend {
        /// Capacity that the first round found, in requests/s.
        first_per_s: f64,
        /// Capacity that the last round found, in requests/s.
        last_per_s: f64,
    },
    /// A rate failed in one round, and a higher rate passed in another.
    Disputed {
        /// Lowest rate that failed in a round, in requests/s.
        failed_per_s: f64,
        /// Highest rate that passed in a round, in requests/s.
        passed_per_s: f64,
        /// Number of trials from the one rate to the other.
        trials: usize,
        /// Number of these trials that passed.
        passed: usize,
    },
    /// No rate that failed in one round is below a rate that passed in another: the rounds differ by no
    /// more than the precision of the search.
    Coarse,
}

/// Returns half the width of the capacity's confidence interval in %, if it is wide: the distance from
/// the capacity to the upper end.
#[must_use]
pub fn wide_percent(rate_per_s: Option<f64>, confidence_95: Option<[f64; 2]>) -> Option<f64> {
    let ([_, high], rate) = (confidence_95?, rate_per_s.filter(|rate| *rate > 0.0)?);
    let percent = (high / rate - 1.0) * 100.0;
    (percent > WIDE_PERCENT).then_some(percent)
}

/// Returns the main reason why the target's capacity is uncertain; `None` if it is not.
#[must_use]
pub fn uncertain(target: &CapacityTarget) -> Option<Uncertain> {
    let capacity = &target.capacity;
    wide_percent(capacity.rate_per_s, capacity.confidence_95_per_s)?;
    let found: Vec<f64> = target.found_per_s().into_values().collect();
    if found.len() < ENOUGH {
        return Some(Uncertain::FewRounds(found.len()));
    }
    let (first_per_s, last_per_s) = (*found.first()?, *found.last()?);
    let rises = found.windows(2).all(|two| two[0] < two[1]);
    let falls = found.windows(2).all(|two| two[0] > two[1]);
    if rises || falls {
        return Some(Uncertain::Trend { first_per_s, last_per_s });
    }
    let least = |of: fn(&CapacityRound) -> Option<f64>| {
        target.rounds.iter().filter_map(of).min_by(f64::total_cmp)
    };
    let failed_per_s = least(|round| round.failed_per_s)?;
    let passed_per_s =
        target.rounds.iter().filter_map(|round| round.passed_per_s).max_by(f64::total_cmp)?;
    if failed_per_s >= passed_per_s {
        return Some(Uncertain::Coarse);
    }
    let disputed = failed_per_s..=passed_per_s;
    let trials = || target.trials.iter().filter(|trial| disputed.contains(&trial.rate_per_s));
    Some(Uncertain::Disputed {
        failed_per_s,
        passed_per_s,
        trials: trials().count(),
        passed: trials().filter(|trial| trial.passed).count(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Bound, Capacity, ServerRecord};

    /// Returns a target whose rounds found these rates, in requests/s, to this precision.
    fn target(found: &[f64], precision: f64) -> CapacityTarget {
        let rounds: Vec<CapacityRound> = (1..)
            .zip(found)
            .map(|(round, rate)| CapacityRound {
                round,
                bound: Bound::Found,
                capacity_per_s: Some(*rate),
                passed_per_s: Some(rate / (1.0 + precision)),
                failed_per_s: Some(rate * (1.0 + precision)),
                trials: 5,
            })
            .collect();
        CapacityTarget {
            profile: None,
            name: "a".to_owned(),
            url: String::new(),
            transport: None,
            connections: None,
            server: ServerRecord::default(),
            capacity: Capacity::of(&rounds),
            knee: None,
            curve: Vec::new(),
            rounds,
            trials: Vec::new(),
        }
    }

    #[test]
    fn the_main_reason_for_a_wide_interval_is_found() {
        let of = |found: &[f64]| uncertain(&target(found, 0.02));
        assert_eq!(of(&[100.0]), None);
        assert_eq!(of(&[100.0, 101.0, 99.0, 100.0, 102.0]), None);
        assert_eq!(of(&[100.0, 140.0]), Some(Uncertain::FewRounds(2)));
        let trend = Uncertain::Trend { first_per_s: 400.0, last_per_s: 100.0 };
        assert_eq!(of(&[400.0, 300.0, 200.0, 100.0]), Some(trend));
        let Some(Uncertain::Disputed { failed_per_s, passed_per_s, .. }) =
            of(&[400.0, 100.0, 390.0, 110.0, 400.0])
        else {
            panic!()
        };
        assert_eq!((failed_per_s.round(), passed_per_s.round()), (102.0, 392.0));
        let coarse = target(&[100.0, 180.0, 120.0, 170.0], 0.5);
        assert_eq!(uncertain(&coarse), Some(Uncertain::Coarse));
    }
}
