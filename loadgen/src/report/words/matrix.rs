//! Describes targets with several numbers of server workers, replicas or users: the table, and how
//! they scale.

use super::interval::{LEGEND, aligned_plus_minus};
use super::ranked::{parentheses, placed};
use super::ratio::{times, what_it_takes};
use crate::record::{Pair, Placing, RunRecord, TargetRecord};
use crate::text::{count, lay_out, megabytes, milliseconds, rate, wrap};

const HEADER: [&str; 8] =
    ["", "requests/s", "errors", "p50", "p99", "CPU", "CPU-µs/request", "memory"];

/// Returns a table with a block for each target. The block has a row for each combination of server
/// workers, replicas and users.
pub(crate) fn table(record: &RunRecord) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut before = None;
    for target in &record.targets {
        if before != Some(&target.target) {
            rows.push(vec![target.target.clone()]);
        }
        before = Some(&target.target);
        rows.push(row(&placed(way(target), record, target), target, placing(record, target)));
    }
    let legend = format!(
        "requests/s counts expected responses only{LEGEND}; latencies in ms; of the target: CPU in % of one \
         core, CPU time per expected response, and maximum memory in MB; × is the number of its worker \
         processes{}",
        parentheses(record)
    );
    lay_out(&HEADER, &rows) + "\n" + &wrap(" ", &legend)
}

fn placing<'a>(record: &'a RunRecord, target: &TargetRecord) -> Option<&'a Placing> {
    record.comparison.as_ref()?.ranking.iter().find(|placing| placing.target == target.name)
}

fn row(way: &str, target: &TargetRecord, placing: Option<&Placing>) -> Vec<String> {
    let total = &target.total;
    let mean = placing.map_or(total.rate_per_s, |placing| placing.rate_per_s);
    let interval = placing.and_then(|placing| placing.confidence_95_per_s);
    let answered = rate(mean) + &aligned_plus_minus(mean, interval);
    let mut row = vec![
        format!("  {way}"),
        answered,
        count(total.errors),
        milliseconds(total.latency_us.p50),
        milliseconds(total.latency_us.p99),
    ];
    if let Some(used) = target.resources.get("target") {
        row.push(count(used.cpu_percent.round() as u64));
        row.push(used.cpu_us_per_request.map_or("–".to_owned(), |us| count(us.round() as u64)));
        row.push(megabytes(used.memory_max_bytes));
    }
    row
}

/// Returns the part of the name that distinguishes a row from the target's other rows: `×2, 500
/// users`.
fn way(target: &TargetRecord) -> &str {
    let behind = target.name.strip_prefix(&target.target).unwrap_or(&target.name);
    behind.trim_start_matches([' ', ','])
}

/// Compares each target's results under the fewest and the most server workers, and likewise
/// replicas and users, in a sentence each.
pub(crate) fn scaling(record: &RunRecord) -> Vec<String> {
    let pairs = record.comparison.iter().flat_map(|comparison| &comparison.scaling);
    pairs.filter_map(|pair| sentence(record, pair)).collect()
}

/// Number in which the two results of a comparison of a target with itself differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    ServerWorkers,
    Replicas,
    Users,
}

impl Scale {
    fn of(one: &TargetRecord, other: &TargetRecord) -> Self {
        if one.server.workers != other.server.workers {
            Self::ServerWorkers
        } else if one.server.replicas != other.server.replicas {
            Self::Replicas
        } else {
            Self::Users
        }
    }

    fn amount(self, target: &TargetRecord) -> u32 {
        match self {
            Self::ServerWorkers => target.server.workers,
            Self::Replicas => target.server.replicas.unwrap_or(0),
            Self::Users => target.users,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::ServerWorkers => "server workers",
            Self::Replicas => "replicas",
            Self::Users => "users",
        }
    }
}

/// Compares the results of one target under two numbers of server workers, replicas or users. Without a
/// confidence interval, says which result lacks a figure, or returns `None` for too few rounds.
fn sentence(record: &RunRecord, pair: &Pair) -> Option<String> {
    let named = |name: &String| record.targets.iter().find(|target| target.name == *name);
    let (better, worse) = (named(&pair.better)?, named(&pair.worse)?);
    let scale = Scale::of(better, worse);
    let amount = |target: &TargetRecord| scale.amount(target);
    let gains = amount(better) > amount(worse);
    let (more, fewer) = if gains { (better, worse) } else { (worse, better) };
    let [to, from] = [more, fewer].map(|target| count(amount(target).into()));
    let (who, what) = (who(record, more, scale), scale.what());
    let (ratio, [low, high]) = match (pair.ratio, pair.confidence_95) {
        (Some(ratio), Some(ends)) => (ratio, ends),
        _ => {
            let two = [more.name.as_str(), fewer.name.as_str()];
            let (name, lack) = record.comparison.as_ref()?.lack(two)?;
            return Some(format!("{who}: {from} and {to} {what} are not compared: {name} {lack}"));
        }
    };
    if !pair.shown {
        let none = format!("{who}: no difference between {from} and {to} {what} could be shown");
        return Some(none + &what_it_takes(pair));
    }
    let [ratio, low, high] = match gains {
        true => times([ratio, low, high]),
        false => times([1.0 / ratio, 1.0 / high, 1.0 / low]),
    };
    Some(match (scale != Scale::Users, record.load.rate_per_s) {
        (true, None) => {
            format!("{who}: {to} {what} serve {ratio} times the requests of {from} ({low}–{high})")
        }
        (true, Some(_)) => format!(
            "{who}: {to} {what} answer {ratio} times as fast as {from} ({low}–{high}), by the median"
        ),
        (false, _) => {
            format!("{who}: {to} {what} get {ratio} times the responses of {from} ({low}–{high})")
        }
    })
}

/// Returns the target's name for a comparison of two numbers of the kind `scale`, with each other
/// number of which the target was measured with several.
fn who(record: &RunRecord, target: &TargetRecord, scale: Scale) -> String {
    let varies = |other: Scale| {
        let mut others = record.targets.iter().filter(|other| other.target == target.target);
        other != scale && others.any(|one| other.amount(one) != other.amount(target))
    };
    let mut who = target.target.clone();
    if varies(Scale::ServerWorkers) {
        who += &format!(" ×{}", target.server.workers);
    }
    for other in [Scale::Replicas, Scale::Users].into_iter().filter(|other| varies(*other)) {
        who += &format!(", {} {}", count(other.amount(target).into()), other.what());
    }
    who
}
