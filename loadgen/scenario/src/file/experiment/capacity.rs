//! `capacity` of a group: a search for the highest rate that each arm carries.

use crate::error::Fault;
use crate::experiment::{Arm, CapacitySettings};
use crate::file::reader::{Faults, Table, Value};
use crate::metric::parse_percentage;
use crate::overrides::MOST_USERS;

/// Reads `capacity`. Keys that it lacks have the values of `defaults`.
pub(super) fn read(
    value: &Value<'_>,
    defaults: CapacitySettings,
    faults: &mut Faults<'_>,
) -> Option<CapacitySettings> {
    let mut table = value.table("`capacity`", faults)?;
    let users = table.take("users").map_or(Some(defaults.users), |value| {
        let users = value.integer(1..=MOST_USERS.into(), faults)?;
        u32::try_from(users).ok().map(Some)
    });
    let duration = table
        .take("duration")
        .map_or(Some(defaults.duration), |value| value.positive_duration(faults));
    let precision = table
        .take("precision")
        .map_or(Some(defaults.precision), |value| read_precision(&value, faults));
    table.finish(faults);
    Some(CapacitySettings { users: users?, duration: duration?, precision: precision? })
}

fn read_precision(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<f64> {
    let text = value.text_of("a percentage such as \"5%\"", faults)?;
    match parse_percentage(text.trim()) {
        Ok(precision) if CapacitySettings::PRECISIONS.contains(&precision) => Some(precision),
        Ok(_) => {
            let help = "write a percentage from 0.5% to 50%";
            value.fault("`precision` is out of range", "out of range", help, faults)
        }
        Err(message) => {
            let help = "write a percentage such as \"5%\"";
            value.fault(format!("`precision`: {message}"), "invalid percentage", help, faults)
        }
    }
}

/// Adds a fault for a load in `table`, which belongs to a group with a search. The search itself sets
/// the load.
pub(super) fn refuse_load(table: &Table<'_>, faults: &mut Faults<'_>) {
    let quick = match table.peek("quick") {
        Some(quick) => quick.table("`quick`", &mut Faults::new("")).and_then(|it| it.peek("load")),
        None => None,
    };
    for load in table.peek("load").into_iter().chain(quick) {
        let message = "a group with `capacity` has no `load`: the search sets the rate";
        let help = "leave out the load, or write a group of its own for it";
        load.fault::<()>(message, "without effect", help, faults);
    }
}

/// Adds a fault for each arm of a group with a search whose scenario or warm-up is not that of the first
/// arm: one search compares targets under the same conditions. `values` has the arms as written.
pub(super) fn refuse_unlike(arms: &[Arm], values: &[Value<'_>], faults: &mut Faults<'_>) {
    for (arm, value) in arms.iter().zip(values) {
        let different = if arm.scenario != arms[0].scenario {
            "scenario"
        } else if [false, true].iter().any(|&form| arm.warmup(form) != arms[0].warmup(form)) {
            "warmup"
        } else {
            continue;
        };
        let message = format!("the arms of a group with `capacity` must have one `{different}`");
        let fault = Fault::new(message)
            .at(values[0].place(), "the first arm")
            .at(value.place(), format!("another `{different}`"));
        faults.add(fault.help("write another group with `capacity`"));
    }
}
