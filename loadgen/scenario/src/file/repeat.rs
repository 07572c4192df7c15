//! `repeat`: the number of times that an iteration sends a step.

use toml::de::DeValue;

use super::reader::{Faults, Value};
use crate::flow::Repeat;

/// Largest number of times that an iteration sends a step.
pub(super) const MOST: u64 = 100_000;

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
    let mut table = value.table("`repeat`", faults)?;
    let limits = ["min", "max"].map(|key| {
        let Some(limit) = table.take(key) else {
            let message = format!("`repeat` has no `{key}`");
            return value.fault(
                message,
                "incomplete",
                "write repeat = { min = 1, max = 3 }",
                faults,
            );
        };
        u32::try_from(limit.integer(u64::from(key == "max")..=MOST, faults)?).ok()
    });
    table.finish(faults);
    let [Some(min), Some(max)] = limits else { return None };
    if min > max {
        let message = "`min` of `repeat` must be at most its `max`";
        return value.fault(message, "no number is between them", "", faults);
    }
    Some(Repeat { min, max })
}
