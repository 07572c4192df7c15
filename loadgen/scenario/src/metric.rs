//! Metrics that thresholds, claims and published figures are about, with their units.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::duration::parse_duration;

/// Metric of a threshold, and the unit of its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A statistic of times of expected answers, in microseconds.
    Time(Timing, Statistic),
    /// Failed requests divided by all ended requests, from 0 to 1.
    ErrorRate,
    /// Expected answers per second.
    Rate,
    /// Events per second, in the streams of expected answers.
    EventRate,
    /// Number of requests planned in the open model but not sent, because no user was free.
    Unsent,
    /// Sum of the counter of this name, over all steps that read the counter.
    Counter(String),
    /// Sum per second of the counter of this name, over all steps that read the counter.
    CounterRate(String),
    /// A resource that the target used. Only figures and claims of experiments have this metric, not
    /// thresholds.
    Used(Used),
}

/// A time that is measured of each expected answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Latency: from the planned send to the last byte of the answer.
    Latency,
    /// Time from the planned send to the first byte of the answer.
    FirstByte,
    /// Time from the planned send to the first event of a stream.
    FirstEvent,
    /// Time between successive events of a stream.
    Gap,
}

impl Timing {
    /// Word before the statistic in a metric's name; empty for the latency.
    fn prefix(self) -> &'static str {
        match self {
            Self::Latency => "",
            Self::FirstByte => "ttfb.",
            Self::FirstEvent => "first_event.",
            Self::Gap => "gap.",
        }
    }
}

/// A statistic of times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Percentile. The number is the percentage, strictly between 0 and 100.
    Percentile(f64),
    /// Arithmetic mean.
    Mean,
    /// Longest time.
    Max,
}

impl Statistic {
    /// Parses a statistic such as `p99.9` or `max`; `None` if `text` is no statistic. The percentage
    /// of a percentile may be out of range.
    fn parse(text: &str) -> Option<Self> {
        match text {
            "mean" => Some(Self::Mean),
            "max" => Some(Self::Max),
            _ => {
                let number = text.strip_prefix('p')?;
                let plain = number.starts_with(|c: char| c.is_ascii_digit() || c == '-');
                plain.then(|| number.parse().ok().map(Self::Percentile))?
            }
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percentile(percent) => write!(f, "p{percent}"),
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
        }
    }
}

/// A resource that the target used, over all of its processes and replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Used {
    /// CPU time, in % of one core.
    Cpu,
    /// CPU time per expected response, in microseconds.
    CpuPerRequest,
    /// Maximum of the memory, in bytes.
    Memory,
    /// Memory before the first request of a round, in bytes.
    MemoryIdle,
}

impl Used {
    /// Returns the resource of this name, or `None`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let all = [Self::Cpu, Self::CpuPerRequest, Self::Memory, Self::MemoryIdle];
        all.into_iter().find(|used| used.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::CpuPerRequest => "cpu_per_request",
            Self::Memory => "memory",
            Self::MemoryIdle => "memory_idle",
        }
    }
}

/// Metrics to suggest for an unknown metric.
pub(super) const METRICS: [&str; 15] = [
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "mean",
    "max",
    "ttfb.p99",
    "first_event.p99",
    "gap.p99",
    "error_rate",
    "rate",
    "event_rate",
    "unsent",
    "counter.NAME",
];

impl Metric {
    /// Parses a metric such as `p99.9`, `max` or `error_rate`; `None` if `text` is no metric. The
    /// percentage of a percentile may be out of range.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "error_rate" => Some(Self::ErrorRate),
            "rate" => Some(Self::Rate),
            "event_rate" => Some(Self::EventRate),
            "unsent" => Some(Self::Unsent),
            _ => {
                let timings = [Timing::FirstByte, Timing::FirstEvent, Timing::Gap, Timing::Latency];
                // The latency has no prefix.
                let (timing, statistic) = timings
                    .into_iter()
                    .find_map(|it| Some((it, text.strip_prefix(it.prefix())?)))?;
                Some(Self::Time(timing, Statistic::parse(statistic)?))
            }
        }
    }

    /// Returns the metric of a claim that has this name in documents; `None` if no metric has the name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        let counter = || Some(Self::CounterRate(name.strip_prefix("counter.")?.to_owned()));
        Self::parse(name).or_else(|| Used::parse(name).map(Self::Used)).or_else(counter)
    }

    /// Splits a key `NAME.METRIC` or `METRIC` into name and metric, in each possible way. Names and
    /// metrics can contain dots: `ttfb.p99` is a metric of all steps, or one of a step called `ttfb`.
    /// The longest metric comes first.
    pub(super) fn splits(key: &str) -> impl Iterator<Item = (Option<&str>, Self)> {
        let whole = Self::parse(key).map(|metric| (None, metric));
        let split = key.match_indices('.').filter_map(|(dot, _)| {
            let metric = Self::parse(&key[dot + 1..])?;
            Some((Some(&key[..dot]), metric))
        });
        whole.into_iter().chain(split)
    }

    /// Returns whether only responses have this metric, and not whole iterations.
    pub(super) fn is_of_response(&self) -> bool {
        self.is_of_stream() || matches!(self, Self::Time(Timing::FirstByte, _) | Self::Unsent)
    }

    /// Returns whether only a stream has this metric.
    #[must_use]
    pub fn is_of_stream(&self) -> bool {
        matches!(self, Self::Time(Timing::FirstEvent | Timing::Gap, _) | Self::EventRate)
    }

    /// Returns an example of a condition, for help texts.
    pub(super) fn example(&self) -> &'static str {
        match self {
            Self::Time(..) => "\"< 100ms\"",
            Self::ErrorRate => "\"< 1%\"",
            Self::Rate | Self::EventRate => "\"> 500\"",
            Self::Unsent => "\"<= 0\"",
            Self::Counter(_) => "\"> 1000\"",
            Self::CounterRate(_) => "\"> 1000/s\"",
            Self::Used(Used::Cpu) => "\"< 50%\"",
            Self::Used(Used::CpuPerRequest) => "\"< 500us\"",
            Self::Used(Used::Memory | Used::MemoryIdle) => "\"< 512MB\"",
        }
    }

    /// Returns the metric that the condition in `text` compares. For a counter, the metric is the
    /// counter's sum per second if the condition ends in `/s`, otherwise the counter's sum.
    pub(super) fn in_unit_of(self, text: &str) -> Self {
        match self {
            Self::Counter(name) if text.trim_end().ends_with("/s") => Self::CounterRate(name),
            metric => metric,
        }
    }

    /// Parses the bound of a condition, and returns the bound in the metric's unit.
    pub(super) fn bound(&self, text: &str) -> Result<f64, String> {
        match self {
            Self::Time(..) => parse_duration(text).map(|bound| bound.as_secs_f64() * 1e6),
            Self::ErrorRate => parse_percentage(text),
            Self::Rate => parse_number(text, "requests per second"),
            Self::EventRate => parse_number(text, "events per second"),
            Self::Counter(_) => parse_number(text, "counted items"),
            Self::CounterRate(_) => parse_number(text, "counted items per second"),
            // More than one core is more than 100 %.
            Self::Used(Used::Cpu) => match text.strip_suffix('%') {
                Some(number) => parse_number(number, "percent of a core"),
                None => Err(format!("`{text}` is not a percentage")),
            },
            Self::Used(Used::CpuPerRequest) => {
                parse_duration(text).map(|bound| bound.as_secs_f64() * 1e6)
            }
            Self::Used(Used::Memory | Used::MemoryIdle) => match text.strip_suffix("MB") {
                Some(number) => parse_number(number, "megabytes").map(|number| number * 1e6),
                None => Err(format!("`{text}` is not a number of megabytes, such as 512MB")),
            },
            Self::Unsent => match text.replace('_', "").parse::<u32>() {
                Ok(number) => Ok(number.into()),
                Err(_) => Err(format!("`{text}` is not a number of requests")),
            },
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(timing, statistic) => write!(f, "{}{statistic}", timing.prefix()),
            Self::ErrorRate => f.write_str("error_rate"),
            Self::Rate => f.write_str("rate"),
            Self::EventRate => f.write_str("event_rate"),
            Self::Unsent => f.write_str("unsent"),
            Self::Used(used) => f.write_str(used.name()),
            Self::Counter(name) | Self::CounterRate(name) => write!(f, "counter.{name}"),
        }
    }
}

pub(super) fn parse_percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').ok_or_else(|| format!("`{text}` is not a percentage"))?;
    match number.trim().parse::<f64>() {
        Ok(percent) if percent < 0.0 => Err("a percentage cannot be negative".to_owned()),
        Ok(percent) if percent > 100.0 => Err(format!("`{text}` is more than 100%")),
        Ok(percent) if percent.is_finite() => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a percentage")),
    }
}

fn parse_number(text: &str, of_what: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    match number.trim().replace('_', "").parse::<f64>() {
        Ok(rate) if rate < 0.0 => Err(format!("a number of {of_what} cannot be negative")),
        Ok(rate) if rate.is_finite() => Ok(rate),
        _ => Err(format!("`{text}` is not a number of {of_what}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_known_by_its_name() {
        for name in
            ["p99.9", "ttfb.p50", "mean", "rate", "error_rate", "memory_idle", "counter.items"]
        {
            assert_eq!(Metric::of_name(name).unwrap().to_string(), name);
        }
        assert_eq!(Metric::of_name("speed"), None);
    }

    #[test]
    fn a_key_is_split_where_the_metric_begins() {
        let time = |statistic| Metric::Time(Timing::Latency, statistic);
        let p = |percent| time(Statistic::Percentile(percent));
        let ttfb = Metric::Time(Timing::FirstByte, Statistic::Max);
        let cases = [
            ("p99.9", Some((None, p(99.9)))),
            ("redis3.ttfb.max", Some((Some("redis3"), ttfb.clone()))),
            ("redis3.p99.9", Some((Some("redis3"), p(99.9)))),
            ("v1.2 read.error_rate", Some((Some("v1.2 read"), Metric::ErrorRate))),
            ("a.p50.p95", Some((Some("a.p50"), p(95.0)))),
            ("rate.rate", Some((Some("rate"), Metric::Rate))),
            ("p101", Some((None, p(101.0)))),
            ("pinf", None),
            ("redis3", None),
            ("redis3.mean", Some((Some("redis3"), time(Statistic::Mean)))),
            ("max", Some((None, time(Statistic::Max)))),
            ("redis3.min", None),
        ];
        for (key, split) in cases {
            assert_eq!(Metric::splits(key).next(), split, "{key}");
        }
        let both = [(None, ttfb), (Some("ttfb"), time(Statistic::Max))];
        assert!(Metric::splits("ttfb.max").eq(both), "a metric, or a step of this name");
        for key in ["ttfb.p99.9", "first_event.mean", "gap.max", "event_rate", "p50"] {
            assert_eq!(Metric::parse(key).unwrap().to_string(), key);
        }
    }
}
