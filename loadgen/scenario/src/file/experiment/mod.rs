//! Reads an experiment file.

mod capacity;
mod claim;
mod group;
mod limits;
mod published;
mod quick;

use std::path::Path;

use miette::NamedSource;
use toml::de::DeTable;

use super::reader::{Faults, Table, Value};
use super::syntax_fault;
use crate::error::Fault;
use crate::experiment::{ExperimentError, ExperimentFile, Group, Known, QUICK_TIME, Source};
use crate::metric::{Metric, Used};
use crate::nearest::suggestion;

/// Metrics that figures and claims can name: those that each round has.
const METRICS: [&str; 15] = [
    "mean",
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "p99.99",
    "max",
    "rate",
    "error_rate",
    "counter.NAME",
    "cpu",
    "cpu_per_request",
    "memory",
    "memory_idle",
];

/// Largest number of rounds, as of a run.
const MOST_ROUNDS: u64 = 10_000;

/// Most CPUs that an arm or a claim can need: more than any machine has.
const MOST_CPUS: u64 = 4_096;

/// Keys that limit the containers of backends.
const BACKEND_LIMITS: [&str; 2] = ["backend_cpus", "backend_memory"];

impl ExperimentFile {
    /// Reads and checks an experiment file. The experiment's name is the file's stem.
    pub fn load(path: &Path, known: &Known<'_>) -> Result<Self, ExperimentError> {
        let text = crate::read_text(crate::LARGEST, path).map_err(|reason| {
            let path = path.to_owned();
            ExperimentError::Unreadable { path, reason }
        })?;
        let name = path.file_stem().unwrap_or(path.as_os_str());
        Self::parse(&name.to_string_lossy(), &path.to_string_lossy(), &text, known)
    }

    /// Reads and checks the text of the experiment called `name`. Faults name `file` as the file.
    pub fn parse(
        name: &str,
        file: &str,
        text: &str,
        known: &Known<'_>,
    ) -> Result<Self, ExperimentError> {
        read(name, text, known).map_err(|faults| ExperimentError::Invalid {
            file: file.to_owned(),
            text: NamedSource::new(file, text.to_owned()),
            faults,
        })
    }

    /// Returns whether the text is that of an experiment rather than of a scenario: whether the text has
    /// groups.
    #[must_use]
    pub fn has_groups(text: &str) -> bool {
        let (tree, _) = DeTable::parse_recoverable(text);
        tree.get_ref().contains_key("group")
    }
}

/// Reads an experiment, or returns all faults of the file, in the order of their lines.
fn read(name: &str, text: &str, known: &Known<'_>) -> Result<ExperimentFile, Vec<Fault>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut faults = Faults::new(text);
    if !errors.is_empty() {
        errors.iter().for_each(|error| faults.add(syntax_fault(error, text)));
        return Err(faults.in_order());
    }
    let table = Table::new("an experiment", 0..0, tree.get_ref());
    match read_experiment(name, table, known, &mut faults) {
        Some(experiment) if faults.is_empty() => Ok(experiment),
        _ => Err(faults.in_order()),
    }
}

fn read_experiment(
    name: &str,
    mut table: Table<'_>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<ExperimentFile> {
    let title = table.take("title").and_then(|value| value.name(faults));
    let description = table.take("description").and_then(|value| value.text(faults));
    let source = table.take("source").and_then(|value| read_source(&value, faults));
    let quick_time =
        table.take("quick_time").map_or(Some(QUICK_TIME), |value| value.duration(faults));
    let limited = BACKEND_LIMITS.iter().find_map(|key| table.peek(key));
    let backend_limits = limits::read(&mut table, BACKEND_LIMITS, faults);
    let groups = group::read_all(table.take("group"), known, faults);
    let (published, claims) = (table.take("published"), table.take("claim"));
    table.finish(faults);
    // Figures and claims name groups and arms, which are unknown if a group has a fault.
    let groups = groups?;
    let mut arms = groups.iter().flat_map(|group| &group.arms);
    if let (Some(value), false) = (limited, arms.any(|arm| !arm.scenario.backends.is_empty())) {
        let message = format!("`{}` limits backends, but no arm has one", value.key);
        let help = "leave out the key, or list `backends` in the scenario of an arm";
        value.fault::<()>(message, "limits nothing", help, faults);
    }
    let published = published.map(|value| published::read_all(&value, &groups, faults));
    let claims = claims.map(|value| claim::read_all(&value, &groups, faults));
    Some(ExperimentFile {
        name: name.to_owned(),
        title: title.unwrap_or(name).to_owned(),
        description: description.map(str::to_owned),
        source,
        backend_limits: backend_limits?,
        quick_time: quick_time?,
        groups,
        published: published.unwrap_or_default(),
        claims: claims.unwrap_or_default(),
    })
}

/// Takes the number of CPUs that an arm or a claim needs; 0 if the key is absent.
fn take_needs_cpus(table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<u32> {
    table.take("needs_cpus").map_or(Some(0), |value| {
        value.integer(1..=MOST_CPUS, faults).and_then(|cpus| u32::try_from(cpus).ok())
    })
}

fn read_source(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Source> {
    let mut table = value.table("[source]", faults)?;
    let title = take_required(&mut table, "title", "add the title of the publication", faults);
    let year = table.take("year").and_then(|value| value.integer(1900..=2200, faults));
    let url = table.take("url").and_then(|value| value.name(faults));
    let differs = table.take("differs").map_or(Some(Vec::new()), |value| {
        let all = value.array("an array of phrases", faults)?;
        let phrases: Vec<_> = all.iter().map(|value| value.name(faults)).collect();
        phrases.into_iter().map(|phrase| phrase.map(str::to_owned)).collect()
    });
    table.finish(faults);
    Some(Source {
        title: title?.name(faults)?.to_owned(),
        year: year.and_then(|year| u16::try_from(year).ok()),
        url: url.map(str::to_owned),
        differs: differs?,
    })
}

/// Reads a number of rounds.
fn read_rounds(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<u32> {
    value.integer(1..=MOST_ROUNDS, faults).and_then(|rounds| u32::try_from(rounds).ok())
}

/// Takes a key that the table must have.
fn take_required<'a>(
    table: &mut Table<'a>,
    key: &'static str,
    help: &str,
    faults: &mut Faults<'_>,
) -> Option<Value<'a>> {
    let value = table.take(key);
    if value.is_none() {
        let fault = Fault::new(format!("{} has no `{key}`", table.name()));
        faults.add(fault.at(table.place.clone(), "here").help(help));
    }
    value
}

/// Takes the group that a figure or a claim is about. May be absent in a file with one group of
/// rounds: a group with a search has no figures of rounds.
fn take_group(table: &mut Table<'_>, groups: &[Group], faults: &mut Faults<'_>) -> Option<usize> {
    let has_rounds = |group: &&Group| group.capacity.is_none();
    let of_rounds: Vec<&Group> = groups.iter().filter(has_rounds).collect();
    if of_rounds.is_empty() {
        let fault = Fault::new(format!("{} needs a group of rounds", table.name()));
        let help = "add a group without `capacity`: a search has no figures of rounds";
        faults.add(fault.at(table.place.clone(), "here").help(help));
        return None;
    }
    let Some(value) = table.take("group") else {
        if let [only] = of_rounds.as_slice() {
            return groups.iter().position(|group| group.name == only.name);
        }
        let all = names(of_rounds.iter().map(|it| &it.name));
        let help = format!("add the name of a group: {all}");
        let fault = Fault::new(format!("{} has no `group`", table.name()));
        faults.add(fault.at(table.place.clone(), "here").help(help));
        return None;
    };
    let name = value.name(faults)?;
    let Some(found) = groups.iter().position(|group| group.name == name) else {
        let help = suggestion(name, of_rounds.iter().map(|group| group.name.as_str()));
        let message = format!("the experiment has no group `{name}`");
        return value.fault(message, "unknown group", help, faults);
    };
    if groups[found].capacity.is_some() {
        let message =
            format!("the group `{name}` searches for capacities: it has no figures of rounds");
        return value.fault(message, "a search", "name a group of rounds", faults);
    }
    Some(found)
}

/// Returns the index of the arm called `name`, which `value` has as a string or as its key.
fn find_arm(
    name: &str,
    place: std::ops::Range<usize>,
    group: &Group,
    faults: &mut Faults<'_>,
) -> Option<usize> {
    let found = group.arms.iter().position(|arm| arm.name == name);
    if found.is_none() {
        let help = suggestion(name, group.arms.iter().map(|arm| arm.name.as_str()));
        let fault = Fault::new(format!("the group `{}` has no arm `{name}`", group.name));
        faults.add(fault.at(place, "unknown arm").help(help));
    }
    found
}

/// Takes the metric of a figure or a claim. A counter must be one of every arm in the group.
fn take_metric(
    table: &mut Table<'_>,
    group: Option<&Group>,
    faults: &mut Faults<'_>,
) -> Option<Metric> {
    let help = "add a metric, such as metric = \"mean\"";
    let value = take_required(table, "metric", help, faults)?;
    let name = value.name(faults)?;
    if let Some(counter) = name.strip_prefix("counter.") {
        let lacks = |group: &&Group| group.arms.iter().any(|arm| !arm.has_counter(counter));
        if let Some(group) = group.filter(lacks) {
            let message = format!("an arm of `{}` has no counter `{counter}`", group.name);
            let help = "read the counter in a step of each arm's scenario";
            return value.fault(message, "unknown counter", help, faults);
        }
        return Some(Metric::CounterRate(counter.to_owned()));
    }
    let metric = Metric::parse(name).or_else(|| Used::parse(name).map(Metric::Used));
    match metric.filter(|_| METRICS.contains(&name)) {
        Some(metric) => Some(metric),
        None => {
            let message = format!("\"{name}\" is not a metric of figures and claims");
            value.fault(message, "unknown metric", suggestion(name, METRICS), faults)
        }
    }
}

fn names<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
