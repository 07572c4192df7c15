//! Limits of containers: keys of an experiment, a group or an arm.

use std::fmt::Display;

use crate::file::reader::{Faults, Table, Value};
use crate::limits::{Cpus, Limits, Memory};

/// Reads the limits on CPU time and memory, whose keys have these names. Returns `None` if a limit
/// has a fault.
pub(super) fn read(
    table: &mut Table<'_>,
    [cpus, memory]: [&'static str; 2],
    faults: &mut Faults<'_>,
) -> Option<Limits> {
    let cpus = table.take(cpus).map(|value| read_cpus(&value, faults));
    let memory = table.take(memory).map(|value| read_memory(&value, faults));
    // Both are read before the first fault decides, so that all faults are found.
    Some(Limits { cpus: or_fault(cpus)?, memory: or_fault(memory)? })
}

/// Turns a value with a fault, `Some(None)`, into `None`.
fn or_fault<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    read.map_or(Some(None), |read| read.map(Some))
}

fn read_cpus(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Cpus> {
    let number = value.number(f64::MIN..=f64::MAX, faults)?;
    or_message(value, Cpus::try_from(number), faults)
}

fn read_memory(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Memory> {
    let text = value.text_of("an amount of memory such as \"256m\"", faults)?;
    or_message(value, text.parse(), faults)
}

fn or_message<T>(
    value: &Value<'_>,
    read: Result<T, impl Display>,
    faults: &mut Faults<'_>,
) -> Option<T> {
    match read {
        Ok(limit) => Some(limit),
        Err(message) => {
            value.fault(format!("`{}` {message}", value.key), "invalid limit", "", faults)
        }
    }
}
