//! Names of steps, flows and groups, under which results are stored.

use std::ops::Range;

use super::reader::{Faults, Value};
use crate::error::Fault;
use crate::flow::ITERATION;

/// A name, and the position in the file of the text that the name comes from.
pub(super) struct Name {
    pub place: Range<usize>,
    pub text: String,
}

impl Name {
    /// Reads the name of a thing, such as `a step`.
    pub(super) fn read(value: &Value<'_>, of: &str, faults: &mut Faults<'_>) -> Option<Self> {
        let name = value.name(faults)?;
        if name.chars().any(char::is_control) {
            let message = format!("the name of {of} must be one line of text");
            return value.fault(message, "has control characters", "", faults);
        }
        if name == ITERATION {
            let message = format!("`{ITERATION}` cannot be the name of {of}");
            let help = "choose another name: results of whole iterations have this name";
            return value.fault(message, "reserved", help, faults);
        }
        Some(Self { place: value.place(), text: name.to_owned() })
    }
}

/// Adds a fault for each name that an earlier one of `names` equals, because results are stored by
/// name. `of` names the things, such as `steps`.
pub(super) fn check_unique<'a>(
    of: &str,
    names: impl Iterator<Item = &'a Name>,
    faults: &mut Faults<'_>,
) {
    let names: Vec<&Name> = names.collect();
    for (index, name) in names.iter().enumerate() {
        if let Some(first) = names[..index].iter().find(|other| other.text == name.text) {
            let one = of.trim_end_matches('s');
            let fault = Fault::new(format!("two {of} are called `{}`", name.text))
                .at(first.place.clone(), "the first")
                .at(name.place.clone(), "the second")
                .help(format!("give each {one} a different `name`: results are stored by name"));
            faults.add(fault);
        }
    }
}
