//! `when`: the time at which a step is sent, and the condition on which a user sends it.

use std::ops::Range;

use toml::de::DeValue;

use super::keys::schema::{self, Schema};
use super::keys::{Custom, Key, Keys, custom, key, not_blank};
use super::reader::{Faults, Table, Value};
use super::websocket::Placed;
use crate::error::Fault;
use crate::flow::Given;
use crate::model::When;
use crate::nearest::list;

const WHEN: [(&str, When); 4] = [
    ("once", When::Once),
    ("start", When::Start),
    ("stop", When::Stop),
    ("finally", When::Finally),
];

/// Keys of a condition, of which a condition has exactly one.
const GIVEN: [&str; 3] = [PRESENT.name(), ABSENT.name(), EQUAL.name()];

/// When each of these keys is required.
const ONE_GIVEN: &str = "required: exactly one of `present`, `absent` and `equal`";

keys! {
    /// condition without which an iteration leaves the step out
    pub(super) const KEYS: Keys = table("`when`").with(|table| table.requires_one_of(&GIVEN));

    /// the step is sent if the user has such a value
    const PRESENT: Key<Custom> = key("present", not_blank("name of a [captured value](#capture)"))
        .needed(ONE_GIVEN);
    /// the step is sent if the user has no such value
    const ABSENT: Key<Custom> = key("absent", not_blank("name of a captured value")).needed(ONE_GIVEN);
    /// the step is sent if each of these captured values, or columns of [rows](#rowsname), is this text
    const EQUAL: Key<Custom> = key("equal", custom("table of names and texts", equal_schema))
        .needed(ONE_GIVEN);
}

keys! {
    /// sends the step once for each user: [before its first iteration, or after its last
    /// one](#start-and-stop-steps); once for a round: [before all users, or after
    /// them](#steps-that-are-sent-once-for-a-round); or in iterations in which a
    /// [condition](#conditions-and-repetitions) holds
    pub(super) const KEY: Key<Custom> =
        key("when", custom("`\"once\"`, `\"start\"`, `\"stop\"`, `\"finally\"` or a table", schema))
        .otherwise("in each iteration");
}

keys! {
    /// sends the step in iterations in which a [condition](#conditions-and-repetitions) holds
    pub(super) const OF_FLOW: Key<Custom> = key(KEY.name(), custom("table", || KEYS.schema()))
        .otherwise("in each iteration");
}

fn equal_schema() -> Schema {
    schema::named(schema::text("The text.")).with("minProperties", 1)
}

fn schema() -> Schema {
    let about = "Time at which the step is sent once: for each user before its first iteration (start) or after \
                 its last one (stop), or for a round before all users (once) or after them (finally).";
    schema::one_of([schema::choice(&WHEN, about), KEYS.schema()])
}

/// Time at which a step is sent, with its condition, and the position in the file that sets the time.
pub(super) struct Moment {
    pub when: When,
    pub given: Option<Given>,
    pub place: Range<usize>,
}

/// Reads the value of a step at `place`, or the time of a step without one.
pub(super) fn read(
    value: Option<Value<'_>>,
    place: Range<usize>,
    faults: &mut Faults<'_>,
) -> Option<Moment> {
    let Some(value) = value else {
        return Some(Moment { when: When::Iteration, given: None, place });
    };
    if let DeValue::Table(_) = value.node.get_ref() {
        let given = Some(read_given(&value, faults)?);
        return Some(Moment { when: When::Iteration, given, place: value.place() });
    }
    if !matches!(value.node.get_ref(), DeValue::String(_)) {
        let words = WHEN.map(|(word, _)| format!("\"{word}\"")).join(", ");
        return value.wrong_type(&format!("{words} or a table with a condition"), faults);
    }
    Some(Moment { when: value.choice(&WHEN, faults)?, given: None, place: value.place() })
}

/// Adds a fault for each key of a step that no user sends, and that has a meaning only for users and their results;
/// and if the step uses a WebSocket.
pub(super) fn refuse_of_users(
    table: &Table<'_>,
    placed: Option<&Placed>,
    moment: &Moment,
    faults: &mut Faults<'_>,
) {
    let word = word(moment.when);
    let refused = ["counters", "group", "think_time", "verify"];
    for value in refused.into_iter().filter_map(|key| table.peek(key)) {
        let message = format!("a step with when = \"{word}\" cannot have `{}`", value.key);
        let help = match value.key {
            "verify" => "the step is always sent, and must go as expected: leave out `verify`",
            "think_time" => "no user waits for the step: leave out `think_time`",
            _ => "the step is in no result: leave out the key",
        };
        value.fault::<()>(message, "no effect", help, faults);
    }
    if let Some(placed) = placed.filter(|placed| placed.action.uses_socket()) {
        let message = format!("a step with when = \"{word}\" cannot use a WebSocket");
        let help = "each user has its own WebSocket, but no user sends this step: write when = \"start\" or \
                    \"stop\", or send a request";
        faults.add(Fault::new(message).at(placed.place.clone(), "not here").help(help));
    }
}

fn read_given(value: &Value<'_>, faults: &mut Faults<'_>) -> Option<Given> {
    let mut table = KEYS.open(value, faults)?;
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

/// Returns the word for a time; an empty one for iterations, which have none.
pub(super) fn word(when: When) -> &'static str {
    WHEN.into_iter().find(|(_, known)| *known == when).map_or("", |(word, _)| word)
}

/// Returns the time that is written for a step; `None` for a step of an iteration, and for an unknown word.
pub(super) fn written(step: &Value<'_>) -> Option<When> {
    let table = step.node.get_ref().as_table()?;
    let (_, value) = table.iter().find(|(key, _)| key.get_ref() == "when")?;
    let word = value.get_ref().as_str()?;
    WHEN.into_iter().find(|(known, _)| *known == word).map(|(_, when)| when)
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
