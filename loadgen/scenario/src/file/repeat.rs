//! `repeat`: the number of times that an iteration sends a step.

use toml::de::DeValue;

use super::keys::schema::{self, Schema};
use super::keys::{Custom, Defaulted, Integer, Key, Keys, custom, integer, key};
use super::reader::{Faults, Value};
use crate::flow::Repeat;

/// Largest number of times that an iteration sends a step.
const MOST: u64 = 100_000;

keys! {
    /// [number of times](#conditions-and-repetitions) that an iteration sends the step, one after another
    pub(super) const KEY: Defaulted<Custom> = key("repeat", custom("1 to 100,000, or a table", schema))
        .or("1");
}

keys! {
    /// a random number of times
    pub(super) const KEYS: Keys = table("`repeat`");

    /// smallest number of times
    const MIN: Key<Integer> = key("min", integer(0, MOST)).required();
    /// largest number of times
    const MAX: Key<Integer> = key("max", integer(1, MOST)).required();
}

fn schema() -> Schema {
    let number = schema::integer(1..=MOST, "Number of times.");
    schema::one_of([number, KEYS.schema()])
}

/// Reads a number or `{ min, max }`. `once` tells whether the step is sent once, outside
/// iterations.
pub(super) fn read(value: &Value<'_>, once: bool, faults: &mut Faults<'_>) -> Option<Repeat> {
    if once {
        let message = "a step that is sent once cannot have a `repeat`";
        return value.fault(message, "no effect", "leave out `repeat` or `when`", faults);
    }
    let DeValue::Table(_) = value.node.get_ref() else {
        let times = u32::try_from(value.integer(1..=MOST, faults)?).ok()?;
        return Some(Repeat { min: times, max: times });
    };
    let mut table = KEYS.open(value, faults)?;
    let limits = [MIN, MAX].map(|key| {
        let Some(limit) = key.read(&mut table, faults)? else {
            let message = format!("`repeat` has no `{}`", key.name());
            let help = "write repeat = { min = 1, max = 3 }";
            return value.fault(message, "incomplete", help, faults);
        };
        u32::try_from(limit).ok()
    });
    table.finish(faults);
    let [Some(min), Some(max)] = limits else { return None };
    if min > max {
        let message = "`min` of `repeat` must be at most its `max`";
        return value.fault(message, "no number is between them", "", faults);
    }
    Some(Repeat { min, max })
}
