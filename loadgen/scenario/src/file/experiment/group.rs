//! `[[group]]`: arms that are measured in interleaved rounds.

use std::time::Duration;

use super::{capacity, limits, quick, read_rounds, take_needs_cpus, take_required};
use crate::backend::Backend;
use crate::error::Fault;
use crate::experiment::{Arm, CapacitySettings, Group, Known, MOST_REPLICAS};
use crate::file::reader::{Faults, Table, Value};
use crate::file::{BACKEND_NAMES, load};
use crate::limits::Limits;
use crate::load::{Load, WARMUP};
use crate::model::Scenario;
use crate::nearest::suggestion;

/// Number of rounds over each arm if the file sets none: as many as a run has.
const ROUNDS: u32 = 5;
/// Largest number of worker processes of a target, as of a run.
const MOST_SERVER_WORKERS: u64 = 256;

/// What the arms of a group have unless they say otherwise.
#[derive(Clone, Default)]
struct Defaults {
    target: Option<String>,
    server_workers: Option<u32>,
    replicas: Option<u32>,
    limits: Limits,
    scenario: Option<Scenario>,
    load: Option<Load>,
    quick: Option<Load>,
    warmup: Option<Duration>,
    quick_warmup: Option<Duration>,
    /// Whether the group searches for capacities, so that no arm has a load.
    is_search: bool,
}

/// Reads all groups; `None` if a group has a fault.
pub(super) fn read_all(
    value: Option<Value<'_>>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<Vec<Group>> {
    let Some(value) = value else {
        let help = "add a [[group]] with at least one [[group.arm]]";
        faults.add(Fault::new("the experiment has no group").help(help));
        return None;
    };
    let values = value.array("an array of tables, each headed [[group]]", faults)?;
    let groups: Vec<Option<Group>> =
        values.iter().map(|value| read(value, known, faults)).collect();
    let groups: Vec<Group> = groups.into_iter().collect::<Option<_>>()?;
    unique(groups.iter().map(|group| group.name.as_str()), &values, "groups", faults)?;
    Some(groups)
}

fn read(value: &Value<'_>, known: &Known<'_>, faults: &mut Faults<'_>) -> Option<Group> {
    let mut table = value.table("a [[group]]", faults)?;
    let help = "add a name, such as name = \"direct\"";
    let name = take_required(&mut table, "name", help, faults);
    let name = name.and_then(|value| value.name(faults));
    let description = table.take("description").and_then(|value| value.text(faults));
    let alone = table.take("backend_alone");
    let rounds = table.take("rounds").map_or(Some(ROUNDS), |value| read_rounds(&value, faults));
    let search = match table.take("capacity") {
        None => None,
        Some(value) => {
            capacity::refuse_load(&table, faults);
            Some(capacity::read(&value, CapacitySettings::default(), faults)?)
        }
    };
    let defaults = read_defaults(&mut table, &Defaults::default(), known, faults);
    let quick = quick::read_of_group(table.take("quick"), search, faults)?;
    let is_search = search.is_some();
    let defaults = defaults.map(|defaults| Defaults {
        quick: quick.load,
        quick_warmup: quick.warmup,
        is_search,
        ..defaults
    });
    let arms = table.take("arm");
    if arms.is_none() {
        let fault = Fault::new("a group has no arm").at(table.place.clone(), "here");
        faults.add(fault.help("add a [[group.arm]] with a name and a target"));
    }
    table.finish(faults);
    let arms = arms?;
    let values = arms.array("an array of tables, each headed [[group.arm]]", faults)?;
    let defaults = defaults?;
    let read: Vec<Option<Arm>> =
        values.iter().map(|value| read_arm(value, &defaults, known, faults)).collect();
    let arms: Vec<Arm> = read.into_iter().collect::<Option<_>>()?;
    unique(arms.iter().map(|arm| arm.name.as_str()), &values, "arms", faults)?;
    if is_search {
        capacity::refuse_unlike(&arms, &values, faults);
    }
    let first = &arms.first()?.scenario;
    if quick.one_start && arms.iter().any(|arm| arm.scenario.existing != first.existing) {
        let message = "arms that share one start share the data of the backends, but these want different data";
        let help = "give all scenarios the same `existing_items` and `existing_profiles`, or leave out `one_start`";
        faults.add(Fault::new(message).at(value.place(), "this group").help(help));
        return None;
    }
    let backend_alone = match alone {
        None => None,
        Some(value) if is_search => {
            let message = "a group with `capacity` measures no backend alone";
            let help = "move `backend_alone` to a group of rounds";
            return value.fault(message, "without effect", help, faults);
        }
        Some(value) => Some(read_backend_alone(&value, &arms, faults)?),
    };
    let rounds = rounds?;
    Some(Group {
        name: name?.to_owned(),
        description: description.map(str::to_owned),
        rounds,
        in_quick_form: !quick.without,
        quick_rounds: quick.rounds.unwrap_or(rounds),
        quick_one_start: quick.one_start,
        capacity: search,
        quick_capacity: quick.capacity.or(search),
        backend_alone,
        arms,
    })
}

fn read_arm(
    value: &Value<'_>,
    defaults: &Defaults,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<Arm> {
    let mut table = value.table("a [[group.arm]]", faults)?;
    let name = table.take("name");
    if defaults.is_search {
        capacity::refuse_load(&table, faults);
    }
    let own = read_defaults(&mut table, defaults, known, faults);
    let quick = quick::read_of_arm(table.take("quick"), faults)?;
    let needs_cpus = take_needs_cpus(&mut table, faults)?;
    let place = table.place.clone();
    table.finish(faults);
    let own = own?;
    let missing = |what: &str, help: &str| {
        Fault::new(format!("an arm has no {what}")).help(help.to_owned()).at(place.clone(), "here")
    };
    let target = match (own.target, known.targets) {
        (Some(target), _) => target,
        // The only server at --url is the target of each arm.
        (None, Some([one])) => one.clone(),
        (None, None) => "server at --url".to_owned(),
        (None, Some(_)) => {
            faults.add(missing("target", "add the name of a target to the arm or to its group"));
            return None;
        }
    };
    let Some(scenario) = own.scenario else {
        faults.add(missing("scenario", "add a scenario to the arm or to its group"));
        return None;
    };
    let name = match name {
        Some(name) => read_name(&name, faults)?,
        None => target.clone(),
    };
    let load = own.load.unwrap_or_else(|| scenario.load.clone());
    Some(Arm {
        name,
        target,
        server_workers: own.server_workers.unwrap_or(1),
        replicas: own.replicas,
        needs_cpus,
        limits: own.limits,
        scenario: Scenario { load, ..scenario },
        quick: quick.load.or(own.quick),
        warmup: own.warmup.unwrap_or(WARMUP),
        quick_warmup: quick.warmup.or(own.quick_warmup).or(own.warmup).unwrap_or(WARMUP),
    })
}

/// Reads the name of an arm. The results of an arm and those of a backend are told apart by their
/// names.
fn read_name(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let name = value.name(faults)?;
    if Backend::ALL.iter().any(|backend| backend.to_string() == name) {
        let message = format!("an arm cannot be called `{name}`, as a backend is");
        let help = format!("choose another name, such as \"over {name}\"");
        return value.fault(message, "name of a backend", help, faults);
    }
    Some(name.to_owned())
}

/// Reads the keys that a group and its arms have in common. Absent keys have the value of
/// `defaults`.
fn read_defaults(
    table: &mut Table<'_>,
    defaults: &Defaults,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<Defaults> {
    let mut own = defaults.clone();
    let mut is_whole = true;
    if let Some(value) = table.take("target") {
        own.target = read_target(&value, known, faults);
        is_whole &= own.target.is_some();
    }
    for (key, most, number) in [
        ("server_workers", MOST_SERVER_WORKERS, &mut own.server_workers),
        ("replicas", MOST_REPLICAS.into(), &mut own.replicas),
    ] {
        if let Some(value) = table.take(key) {
            let read = value.integer(1..=most, faults);
            *number = read.and_then(|number| u32::try_from(number).ok());
            is_whole &= number.is_some();
        }
    }
    if let Some(value) = table.take("warmup") {
        own.warmup = value.duration(faults);
        is_whole &= own.warmup.is_some();
    }
    match limits::read(table, ["cpus", "memory"], faults) {
        Some(limits) => own.limits = limits.or(defaults.limits),
        None => is_whole = false,
    }
    if let Some(value) = table.take("scenario") {
        own.scenario = read_scenario(&value, known, faults);
        is_whole &= own.scenario.is_some();
    }
    if let Some(value) = table.take("load") {
        own.load = load::read(Some(value), faults);
        is_whole &= own.load.is_some();
    }
    is_whole.then_some(own)
}

fn read_target(value: &Value<'_>, known: &Known<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let name = value.name(faults)?;
    let targets = match known.targets {
        Some(targets) if !targets.iter().any(|target| target == name) => targets,
        _ => return Some(name.to_owned()),
    };
    let help = suggestion(name, targets.iter().map(String::as_str));
    value.fault(format!("there is no target `{name}`"), "unknown target", help, faults)
}

fn read_scenario(
    value: &Value<'_>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Option<Scenario> {
    match (known.scenario)(value.name(faults)?) {
        Ok(scenario) => Some(scenario),
        Err(unusable) => value.fault(unusable.message, "this scenario", unusable.help, faults),
    }
}

/// Reads the backend that is measured alone, which must hold profiles in each arm.
fn read_backend_alone(value: &Value<'_>, arms: &[Arm], faults: &mut Faults<'_>) -> Option<Backend> {
    let backend = value.choice(&BACKEND_NAMES, faults)?;
    let lacks = |arm: &&Arm| {
        arm.scenario.existing.profiles == 0 || !arm.scenario.backends.contains(&backend)
    };
    if let Some(arm) = arms.iter().find(lacks) {
        let message = format!("`{}` has no profiles in {backend} to look up", arm.name);
        let help = "the scenario of each arm needs the backend and `existing_profiles`";
        return value.fault(message, "measured by looking up profiles", help, faults);
    }
    Some(backend)
}

/// Adds a fault for each name that comes twice, and returns `None` if there is one.
fn unique<'a>(
    names: impl Iterator<Item = &'a str>,
    values: &[Value<'_>],
    what: &str,
    faults: &mut Faults<'_>,
) -> Option<()> {
    let names: Vec<&str> = names.collect();
    let mut is_unique = true;
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = names[..index].iter().position(|other| other == name) {
            let fault = Fault::new(format!("two {what} are called `{name}`"))
                .at(values[first].place(), "the first")
                .at(values[index].place(), "the second");
            faults.add(fault.help("give each a different name"));
            is_unique = false;
        }
    }
    is_unique.then_some(())
}

impl Arm {
    /// Returns whether a step of the arm's scenario reads the counter of this name.
    pub(super) fn has_counter(&self, name: &str) -> bool {
        let steps = self.scenario.steps.iter();
        steps.flat_map(|step| &step.counters).any(|counter| counter.name == name)
    }
}
