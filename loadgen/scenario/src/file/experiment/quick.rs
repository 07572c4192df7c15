//! `quick` of a group or an arm: what the quick form has instead of the full form.

use std::time::Duration;

use super::{capacity, read_rounds};
use crate::experiment::CapacitySettings;
use crate::file::load;
use crate::file::reader::{Faults, Table, Value};
use crate::load::Load;

/// Settings of the quick form. `None` keeps the setting of the full form.
#[derive(Default)]
pub(super) struct Quick {
    /// Whether the quick form leaves the group out.
    pub without: bool,
    /// Load.
    pub load: Option<Load>,
    /// Number of rounds.
    pub rounds: Option<u32>,
    /// Whether all arms are up at the same time, in one start.
    pub one_start: bool,
    /// Search for capacities.
    pub capacity: Option<CapacitySettings>,
    /// Time that each round runs before its measurements count.
    pub warmup: Option<Duration>,
}

/// Reads `quick` of an arm: its load and its warm-up, because the arms of a group share the rest.
pub(super) fn read_of_arm(value: Option<Value<'_>>, faults: &mut Faults<'_>) -> Option<Quick> {
    let Some(value) = value else { return Some(Quick::default()) };
    let mut table = value.table("`quick`", faults)?;
    let (load, warmup) = take_load(&mut table, faults);
    table.finish(faults);
    Some(Quick { load: load?, warmup: warmup?, ..Quick::default() })
}

/// Reads `quick` of a group. `full` is the search of the full form, if any.
pub(super) fn read_of_group(
    value: Option<Value<'_>>,
    full: Option<CapacitySettings>,
    faults: &mut Faults<'_>,
) -> Option<Quick> {
    let Some(value) = value else { return Some(Quick::default()) };
    if value.is_boolean() {
        return match value.boolean(faults)? {
            false => Some(Quick { without: true, ..Quick::default() }),
            true => {
                let help = "leave out `quick`, or give it a table";
                value.fault(
                    "a group is part of the quick form anyway",
                    "without effect",
                    help,
                    faults,
                )
            }
        };
    }
    let mut table = value.table("`quick`", faults)?;
    let (load, warmup) = take_load(&mut table, faults);
    let rounds =
        table.take("rounds").map_or(Some(None), |value| read_rounds(&value, faults).map(Some));
    let one_start = match table.take("one_start") {
        None => Some(false),
        Some(value) if full.is_some() => {
            let help = "leave out `one_start`: a search starts each arm for itself";
            value.fault("a group with `capacity` has no rounds", "without effect", help, faults)
        }
        Some(value) => value.boolean(faults),
    };
    let capacity = match (table.take("capacity"), full) {
        (None, _) => Some(None),
        (Some(value), Some(full)) => capacity::read(&value, full, faults).map(Some),
        (Some(value), None) => {
            let help = "give the group a `capacity`, or leave out that of the quick form";
            value.fault("the full form has no `capacity`", "without effect", help, faults)
        }
    };
    table.finish(faults);
    Some(Quick {
        without: false,
        load: load?,
        rounds: rounds?,
        one_start: one_start?,
        capacity: capacity?,
        warmup: warmup?,
    })
}

/// Takes the load and the warm-up, each of which may be absent; `None` for a fault.
fn take_load(
    table: &mut Table<'_>,
    faults: &mut Faults<'_>,
) -> (Option<Option<Load>>, Option<Option<Duration>>) {
    let load = match table.take("load") {
        None => Some(None),
        Some(value) => load::read(Some(value), faults).map(Some),
    };
    let warmup = table.take("warmup").map_or(Some(None), |value| value.duration(faults).map(Some));
    (load, warmup)
}
