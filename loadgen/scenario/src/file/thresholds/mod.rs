//! `[thresholds]`: conditions that the run must meet to pass.

mod schema;

pub(super) use schema::schema;
use toml::de::DeValue;

use super::expect;
use super::reader::{Faults, Value};
use crate::error::Fault;
use crate::flow::ITERATION;
use crate::metric::{METRICS, Metric, Statistic};
use crate::nearest::suggestion;
use crate::threshold::{Of, Threshold, parse_condition};

/// Names to which thresholds can refer. A list is `None`, and the check of its names is skipped, if
/// other faults make the names unknown.
pub(super) struct Known<'a> {
    /// Names of all steps.
    pub steps: Option<&'a [String]>,
    /// Names of the steps that no user sends.
    pub of_round: &'a [String],
    /// Names of all flows.
    pub flows: Option<&'a [String]>,
    /// Names of all groups of steps.
    pub groups: Option<&'a [&'a str]>,
    /// Names of all counters.
    pub counters: Option<&'a [&'a str]>,
    /// Whether a step expects a stream.
    pub has_stream: Option<bool>,
}

impl Known<'_> {
    /// Returns what a threshold is about whose key begins with this name; `None` for an unknown name.
    /// A name that other faults make unknown counts as that of a step.
    fn of(&self, name: &str) -> Option<Of> {
        let is_flow = self.flows.is_some_and(|flows| flows.iter().any(|it| it == name));
        let is_group = self.groups.is_some_and(|groups| groups.contains(&name));
        let is_step = self.steps.is_some_and(|steps| steps.iter().any(|it| it == name));
        let is_complete = self.steps.is_some() && self.flows.is_some() && self.groups.is_some();
        let name = name.to_owned();
        match name.as_str() {
            ITERATION => Some(Of::Iterations),
            _ if is_flow => Some(Of::Flow(name)),
            _ if is_group => Some(Of::Group(name)),
            _ if is_step || !is_complete => Some(Of::Step(name)),
            _ => None,
        }
    }

    /// Returns all known names.
    fn names(&self) -> impl Iterator<Item = &str> + Clone {
        let [steps, flows] = [self.steps, self.flows].map(Option::unwrap_or_default);
        let groups = self.groups.unwrap_or_default().iter().copied();
        steps.iter().chain(flows).map(String::as_str).chain(groups)
    }
}

pub(super) fn read(
    value: &Value<'_>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Vec<Threshold> {
    let Some(table) = value.table("[thresholds]", faults) else {
        return Vec::new();
    };
    let values = table.rest().into_iter();
    values.filter_map(|value| read_threshold(&value, known, faults)).collect()
}

fn read_threshold(
    value: &Value<'_>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<Threshold> {
    if let DeValue::Table(_) = value.node.get_ref() {
        let fault = Fault::new(format!("`{}` is a table, not a threshold", value.key));
        let help = format!("quote a name that has dots: \"{}.p99\" = \"< 100ms\"", value.key);
        faults.add(fault.at(value.key_place.clone(), "dots outside quotes").help(help));
        return None;
    }
    if let Some(metric) = counter(value, known, faults) {
        return read_condition(value, Of::All, metric, faults);
    }
    let at_key = |message: String, label: &str, help: String| {
        Fault::new(message).at(value.key_place.clone(), label).help(help)
    };
    let Some((name, metric)) = split(value.key, known) else {
        faults.add(unknown_metric(value, known));
        return None;
    };
    if let Metric::Time(_, Statistic::Percentile(percent)) = metric
        && !(percent > 0.0 && percent < 100.0)
    {
        let message =
            format!("`{}`: a percentile must be greater than 0 and less than 100", value.key);
        faults.add(at_key(message, "out of range", "write p50, p99 or p99.9".to_owned()));
    }
    let Some(of) = name.map_or(Some(Of::All), |name| known.of(name)) else {
        let name = name.unwrap_or_default();
        let message = match known.flows {
            _ if known.of_round.iter().any(|it| it == name) => {
                format!("no user sends the step `{name}`, so that it is in no result")
            }
            Some([_, ..]) => format!("the scenario has no step, flow or group `{name}`"),
            _ => format!("the scenario has no step `{name}`"),
        };
        let help = suggestion(name, known.names());
        faults.add(at_key(message, "unknown name", help));
        return None;
    };
    if metric.is_of_response() && matches!(of, Of::Flow(_) | Of::Iterations) {
        let message = format!("`{metric}` is about requests, not iterations");
        let help = format!("write \"{metric}\" = {} for all steps", metric.example());
        faults.add(at_key(message, "not of a flow", help));
    } else if metric.is_of_stream() && known.has_stream == Some(false) {
        let message = format!("`{metric}` is about streams, and no step expects a stream");
        let help = "add expect = { stream = true } to a step".to_owned();
        faults.add(at_key(message, "no stream", help));
    }
    read_condition(value, of, metric, faults)
}

/// Splits a key into a name and a metric. Of several possible splits, takes the first one whose name
/// is a step, a flow or a group, and otherwise the first one: a step called `ttfb` keeps its `ttfb.p99`.
fn split<'a>(key: &'a str, known: &Known<'_>) -> Option<(Option<&'a str>, Metric)> {
    let is_known = |(name, _): &(Option<&str>, Metric)| {
        name.is_some_and(|name| known.names().any(|it| it == name))
    };
    Metric::splits(key).find(is_known).or_else(|| Metric::splits(key).next())
}

/// Returns the counter metric of a key `counter.NAME`; `None` for any other key. Also returns
/// `None` if NAME is no known counter, but the key is a metric of a step: `counter.p99` can be a
/// metric of a step called `counter`.
fn counter(value: &Value<'_>, known: &Known<'_>, faults: &mut Faults<'_>) -> Option<Metric> {
    let name = value.key.strip_prefix("counter.")?;
    let is_known = known.counters.is_some_and(|counters| counters.contains(&name));
    if !is_known && Metric::splits(value.key).next().is_some() {
        return None;
    }
    if let Some(counters) = known.counters.filter(|_| !is_known) {
        let (message, help) = expect::unknown_counter(name, counters);
        let fault = Fault::new(message);
        faults.add(fault.at(value.key_place.clone(), "unknown counter").help(help));
    }
    Some(Metric::Counter(name.to_owned()))
}

fn read_condition(
    value: &Value<'_>,
    of: Of,
    metric: Metric,
    faults: &mut Faults<'_>,
) -> Option<Threshold> {
    let text = value.text_of(&format!("a condition such as {}", metric.example()), faults)?;
    let metric = metric.in_unit_of(text);
    match parse_condition(&metric, text) {
        Ok((operator, bound)) => Some(Threshold {
            of,
            metric,
            operator,
            bound,
            text: format!("{} {}", value.key, text.trim()),
        }),
        Err(message) => {
            let message = format!("`{}`: {message}", value.key);
            let help = format!("write a condition such as {}", metric.example());
            value.fault(message, "invalid condition", help, faults)
        }
    }
}

/// Returns the fault of a threshold's key that does not end in a metric. Either the metric is
/// misspelt, or the key is only a name.
fn unknown_metric(value: &Value<'_>, known: &Known<'_>) -> Fault {
    let last = value.key.rsplit('.').next().unwrap_or(value.key);
    let help = if known.names().any(|name| name == value.key) || value.key == ITERATION {
        format!("add a metric to the name, such as \"{}.p99\"", value.key)
    } else {
        suggestion(last, METRICS)
    };
    let message = format!("`{}` does not end in a metric", value.key);
    Fault::new(message).at(value.key_place.clone(), "unknown metric").help(help)
}
