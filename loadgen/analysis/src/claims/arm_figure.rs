//! Gives the figures of an arm to those who read a record, in which a metric is a name.

use super::figure::{figures, unit};
use crate::record::{FEWEST_ROUNDS, RoundRecord};
use crate::statistics::mean_95;
use loadgen_scenario::Metric;

/// Figure of an arm over whole rounds, in the unit in which people read the metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ArmFigure {
    /// Arithmetic mean over rounds.
    pub mean: f64,
    /// 95 % confidence interval of `mean`, by Student's t; `None` with fewer than five rounds.
    pub confidence_95: Option<[f64; 2]>,
}

/// Returns the figure of the metric of this name; `None` if a whole round lacks the figure, without a whole
/// round, and for an unknown metric.
#[must_use]
pub fn arm_figure(rounds: &[RoundRecord], metric: &str) -> Option<ArmFigure> {
    let metric = Metric::of_name(metric)?;
    let (_, factor) = unit(&metric);
    let values: Vec<f64> =
        figures(rounds, &metric).into_values().map(|figure| figure * factor).collect();
    let is_enough = values.len() >= FEWEST_ROUNDS as usize;
    (!values.is_empty()).then(|| ArmFigure {
        mean: values.iter().sum::<f64>() / values.len() as f64,
        confidence_95: mean_95(&values).filter(|_| is_enough),
    })
}

/// Returns the unit in which people read figures of the metric of this name, and the factor from the unit of
/// the record.
#[must_use]
pub fn unit_of(metric: &str) -> (&'static str, f64) {
    Metric::of_name(metric).map_or(("", 1.0), |metric| unit(&metric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadgen_measure::{LatencySummary, Summary};

    #[test]
    fn the_figure_of_an_arm_is_the_mean_of_its_whole_rounds_in_the_unit_of_people() {
        let round = |(number, mean): (u32, f64)| RoundRecord {
            round: number,
            whole: number < 6,
            total: Summary {
                latency_us: LatencySummary { mean: Some(mean), ..LatencySummary::default() },
                ..Summary::default()
            },
            ..RoundRecord::default()
        };
        let rounds: Vec<RoundRecord> =
            (1..).zip([1e3, 2e3, 3e3, 4e3, 5e3, 9e9]).map(round).collect();
        let figure = arm_figure(&rounds, "mean").unwrap();
        let [low, high] = figure.confidence_95.unwrap();
        assert!((figure.mean - 3.0).abs() < 1e-9 && low < 2.0 && high > 4.0, "{figure:?}");
        assert_eq!(arm_figure(&rounds[..4], "mean").unwrap().confidence_95, None, "too few rounds");
        assert_eq!(arm_figure(&rounds, "p50"), None, "the rounds lack the figure");
        assert_eq!(arm_figure(&rounds, "speed"), None);
        assert_eq!((unit_of("p99.9"), unit_of("memory")), (("ms", 1e-3), ("MB", 1e-6)));
    }
}
