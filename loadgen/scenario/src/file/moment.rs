//! `when`: the time and the condition on which a user sends a step.

use std::ops::Range;

use toml::de::DeValue;

use super::reader::{Faults, Table, Value};
use crate::error::Fault;
use crate::flow::Given;
use crate::model::When;
use crate::nearest::list;

pub(super) const WHEN: [(&str, When); 2] = [("start", When::Start), ("stop", When::Stop)];

/// Keys of a condition, of which a condition has exactly one.
pub(super) const GIVEN: [&str; 3] = ["present", "absent", "equal"];

/// Time at which a step is sent (start, iteration or stop), with its condition, and the position in
/// the file that sets the time.
pub(super) struct Moment {
    pub when: When,
    pub given: Option<Given>,
    pub place: Range<usize>,
}

pub(super) fn read(table: &mut Table<'_>, faults: &mut Faults<'_>) -> Option<Moment> {
    let Some(value) = table.take("when") else {
        return Some(Moment { when: When::Iteration, given: None, place: table.place.clone() });
    };
    if let DeValue::Table(_) = value.node.get_ref() {
        let given = Some(read_given(&value, faults)?);
        return Some(Moment { when: When::Iteration, given, place: value.place() });
    }
    if !matches!(value.node.get_ref(), DeValue::String(_)) {
        return value.wrong_type("\"start\", \"stop\" or a table with a condition", faults);
    }
    Some(Moment { when: value.choice(&WHEN, faults)?, given: None, place: value.place() })
}

fn read_given(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Given> {
    let mut table = value.table("`when`", faults)?;
    let conditions = table.take_any(GIVEN);
    let given = match conditions.as_slice() {
        [one] => match one.key {
            "present" => read_captured(one, faults).map(Given::Present),
            "absent" => read_captured(one, faults).map(Given::Absent),
            _ => read_equal(one, faults),
        },
        [] => {
            let message = format!("`when` has none of {}", list(GIVEN));
            let help = "write when = { present = \"cart\" }, or \"start\" or \"stop\"";
            value.fault(message, "no condition", help, faults)
        }
        several => {
            let fault = Fault::new(format!("`when` has only one of {}", list(GIVEN)));
            let at = |fault: Fault, one: &Value<'_>| fault.at(one.key_place.clone(), "one");
            faults.add(several.iter().fold(fault, at).help("keep one of them"));
            None
        }
    };
    table.finish(faults);
    given
}

/// Reads the name of a captured value.
fn read_captured(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let name = value.name(faults)?;
    if let Err((message, help)) = faults.scope.check_captured(name) {
        return value.fault(message, "unknown name", help, faults);
    }
    Some(name.to_owned())
}

fn read_equal(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Given> {
    let values = value.table("`equal`", faults)?.rest();
    if values.is_empty() {
        let help = "write when = { equal = { state = \"open\" } }";
        return value.fault("`equal` has no value", "empty", help, faults);
    }
    let pairs = values.iter().map(|value| {
        let text = value.text(faults).map(str::to_owned);
        if let Err((message, help)) = faults.scope.check_captured(value.key) {
            faults.add(Fault::new(message).at(value.key_place.clone(), "unknown name").help(help));
            return None;
        }
        Some((value.key.to_owned(), text?))
    });
    pairs.collect::<Vec<_>>().into_iter().collect::<Option<_>>().map(Given::Equal)
}
