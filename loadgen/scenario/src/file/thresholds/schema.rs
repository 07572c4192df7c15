//! The JSON Schema of `[thresholds]`, whose keys combine names and metrics.

use serde_json::{Map, Value as Json};

use crate::file::keys::schema::{DURATION, Schema, closed, matching};
use crate::metric::{METRICS, Metric, Statistic, Timing};

/// Regular expression for a number as Rust's parser reads numbers, with `_` allowed anywhere.
const NUMBER: &str = r"\+?[0-9._][0-9._eE+-]*";

/// Regular expression for the threshold keys of each kind of metric. Except for a counter, the name
/// of a step may precede the metric.
const PATTERNS: [(&str, Metric); 6] = [
    (r"^(.*\.)?(p[0-9].*|mean|max)$", Metric::Time(Timing::Latency, Statistic::Max)),
    (r"^(.*\.)?error_rate$", Metric::ErrorRate),
    (r"^(.*\.)?rate$", Metric::Rate),
    (r"^(.*\.)?event_rate$", Metric::EventRate),
    (r"^(.*\.)?unsent$", Metric::Unsent),
    (r"^counter\..+$", Metric::Counter(String::new())),
];

/// Returns the schema of the table.
pub(in crate::file) fn schema() -> Schema {
    let by_pattern = PATTERNS.map(|(key, metric)| {
        (key.to_owned(), condition(&metric, "Percentile, mean or maximum").into())
    });
    let offered = METRICS.iter().filter_map(|key| {
        let metric = Metric::parse(key)?;
        Some(((*key).to_owned(), condition(&metric, &statistic(&metric)).into()))
    });
    closed(offered.collect())
        .with("patternProperties", by_pattern.into_iter().collect::<Map<_, Json>>())
}

/// Returns what a metric of times is of them; nothing for another metric.
fn statistic(metric: &Metric) -> String {
    match metric {
        Metric::Time(_, Statistic::Percentile(percent)) => format!("{percent}th percentile"),
        Metric::Time(_, Statistic::Mean) => "Mean".to_owned(),
        Metric::Time(_, Statistic::Max) => "Maximum".to_owned(),
        _ => String::new(),
    }
}

/// Returns the schema of a condition on this metric: a comparison operator and a bound. `statistic` says what a metric
/// of times is of them.
fn condition(metric: &Metric, statistic: &str) -> Schema {
    let (bound, what) = match metric {
        Metric::Time(Timing::FirstByte, _) => {
            (DURATION.to_owned(), "time to the first byte of expected responses")
        }
        Metric::Time(Timing::FirstEvent, _) => {
            (DURATION.to_owned(), "time to the first event of expected streams")
        }
        Metric::Time(Timing::Gap, _) => {
            (DURATION.to_owned(), "time between successive events of expected streams")
        }
        // A key like `ttfb.p99` can also be a metric of a step called `ttfb`.
        Metric::Time(Timing::Latency, _) => (DURATION.to_owned(), "latency of expected responses"),
        Metric::ErrorRate => (format!(r"{NUMBER}\s*%"), "Share of failed requests"),
        Metric::EventRate => {
            (format!(r"{NUMBER}\s*(/s)?"), "Events per second, in expected streams")
        }
        Metric::Rate => (format!(r"{NUMBER}\s*(/s)?"), "Expected responses per second"),
        Metric::Unsent => (NUMBER.to_owned(), "Requests that no user was free to send"),
        Metric::Used(_) => (".*".to_owned(), "Resource that the target used"),
        // A key like `counter.p99` can also be a metric of a step called `counter`.
        Metric::Counter(_) | Metric::CounterRate(_) => {
            (".*".to_owned(), "Sum of a counter or, with /s, the sum per second")
        }
    };
    let what = match metric {
        Metric::Time(..) => format!("{statistic} of the {what}"),
        _ => what.to_owned(),
    };
    let about = format!(
        "{what}. Value: comparison, such as `{}`. Default: no threshold.",
        metric.example()
    );
    matching(&format!(r"^\s*(<=?|>=?)\s*{bound}\s*$"), &about)
}
