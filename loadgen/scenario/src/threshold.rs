//! Thresholds: conditions that a run must meet to pass.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::metric::Metric;

/// A condition that a run must meet to pass, such as `redis3.p99.9 < 100ms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// Requests or iterations that the threshold is about.
    pub of: Of,
    /// Metric to compare with the bound.
    pub metric: Metric,
    /// Relation of the value to the bound that must hold.
    pub operator: Operator,
    /// Bound in the metric's unit, see [`Metric`].
    pub bound: f64,
    /// The threshold as written in the file, for people.
    pub text: String,
}

/// Requests or iterations whose results a threshold looks at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    /// All requests of iterations and of the start.
    #[default]
    All,
    /// Requests of the step of this name.
    Step(String),
    /// Requests of all steps in the group of this name.
    Group(String),
    /// Iterations of the flow of this name.
    Flow(String),
    /// Iterations of all flows.
    Iterations,
}

/// Relation of a value to a bound that must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    AtMost,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    AtLeast,
}

impl Threshold {
    /// Returns whether the threshold holds for `value`, in
    /// the metric's unit. No threshold holds for NaN.
    pub fn holds(&self, value: f64) -> bool {
        self.operator.holds(value, self.bound)
    }
}

impl Operator {
    /// Returns whether `value` is on the side of the bound that the operator demands. False for
    /// NaN.
    #[must_use]
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Greater => value > bound,
            Self::AtLeast => value >= bound,
        }
    }

    /// Returns whether the operator bounds a value from above (`<` or `<=`).
    #[must_use]
    pub fn is_upper(self) -> bool {
        matches!(self, Self::Less | Self::AtMost)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Parses a condition on this metric, such as `< 100ms`, into an operator and a bound in the
/// metric's unit.
pub(super) fn parse_condition(metric: &Metric, text: &str) -> Result<(Operator, f64), String> {
    // Longer operators first, because `<=` begins with `<`.
    let operators = [
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    let text = text.trim();
    let (operator, bound) = operators
        .iter()
        .find_map(|(sign, operator)| Some((*operator, text.strip_prefix(sign)?)))
        .ok_or_else(|| format!("`{text}` does not begin with <, <=, > or >="))?;
    Ok((operator, metric.bound(bound.trim())?))
}

#[cfg(test)]
mod tests {
    use super::super::metric::{Statistic, Timing, Used};
    use super::*;

    #[test]
    fn bounds_are_read_in_the_unit_of_the_metric() {
        let p99 = Metric::Time(Timing::Latency, Statistic::Percentile(99.0));
        assert_eq!(parse_condition(&p99, "< 100ms"), Ok((Operator::Less, 100_000.0)));
        assert_eq!(parse_condition(&Metric::ErrorRate, "<=1%"), Ok((Operator::AtMost, 0.01)));
        assert_eq!(parse_condition(&Metric::Rate, "> 1_500/s"), Ok((Operator::Greater, 1500.0)));
        assert_eq!(parse_condition(&Metric::Rate, ">= 0.5"), Ok((Operator::AtLeast, 0.5)));
        assert_eq!(
            parse_condition(&Metric::Time(Timing::FirstByte, Statistic::Max), "< 1s"),
            Ok((Operator::Less, 1e6))
        );
        assert_eq!(parse_condition(&Metric::Unsent, "<= 1_0"), Ok((Operator::AtMost, 10.0)));
        let items = || Metric::Counter("items".to_owned());
        assert_eq!(parse_condition(&items(), "> 1_000"), Ok((Operator::Greater, 1000.0)));
        let each_second = items().in_unit_of("> 2.5/s ");
        assert_eq!(each_second, Metric::CounterRate("items".to_owned()));
        assert_eq!(parse_condition(&each_second, "> 2.5/s"), Ok((Operator::Greater, 2.5)));
        assert_eq!(items().in_unit_of("> 2.5"), items());
    }

    #[test]
    fn resources_have_units_of_their_own() {
        let read = |used, text| parse_condition(&Metric::Used(used), text);
        assert_eq!(read(Used::Cpu, "> 150%"), Ok((Operator::Greater, 150.0)));
        assert_eq!(read(Used::CpuPerRequest, "< 1.5ms"), Ok((Operator::Less, 1_500.0)));
        assert_eq!(read(Used::MemoryIdle, "<= 5MB"), Ok((Operator::AtMost, 5e6)));
        let wrong = |used, text| read(used, text).unwrap_err();
        assert_eq!(wrong(Used::Cpu, "< 1"), "`1` is not a percentage");
        assert_eq!(wrong(Used::Memory, "< 5m"), "`5m` is not a number of megabytes, such as 512MB");
        assert_eq!(Used::parse("memory_idle"), Some(Used::MemoryIdle));
        assert_eq!(Used::parse("memory_max"), None);
    }

    #[test]
    fn an_invalid_condition_is_refused_with_a_reason() {
        let wrong = |metric: Metric, text| parse_condition(&metric, text).unwrap_err();
        assert_eq!(wrong(Metric::ErrorRate, "< 101%"), "`101%` is more than 100%");
        assert_eq!(wrong(Metric::ErrorRate, "< -1%"), "a percentage cannot be negative");
        assert_eq!(wrong(Metric::ErrorRate, "< nan%"), "`nan%` is not a percentage");
        assert_eq!(wrong(Metric::ErrorRate, "< 0.01"), "`0.01` is not a percentage");
        assert_eq!(wrong(Metric::Rate, "> inf"), "`inf` is not a number of requests per second");
        assert_eq!(wrong(Metric::Rate, "500"), "`500` does not begin with <, <=, > or >=");
        assert_eq!(
            wrong(Metric::Rate, "> -1"),
            "a number of requests per second cannot be negative"
        );
        let items = Metric::Counter("items".to_owned());
        assert_eq!(wrong(items, "> 1s"), "`1s` is not a number of counted items");
        assert_eq!(wrong(Metric::Unsent, "< 1%"), "`1%` is not a number of requests");
        let mean = Metric::Time(Timing::Latency, Statistic::Mean);
        assert_eq!(wrong(mean, "< -1ms"), "a duration cannot be negative");
    }

    #[test]
    fn no_threshold_holds_for_nan() {
        for operator in [Operator::Less, Operator::AtMost, Operator::Greater] {
            let (of, text) = (Of::All, String::new());
            let threshold = Threshold { of, metric: Metric::Rate, operator, bound: 1.0, text };
            assert!(!threshold.holds(f64::NAN));
            assert_eq!(threshold.holds(1.0), operator == Operator::AtMost);
            assert_eq!(threshold.holds(2.0), operator == Operator::Greater);
        }
    }
}
