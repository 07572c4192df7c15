//! Captures: values that a step takes from its response for later steps.

use super::sources::Source;
use crate::names::Names;
use crate::{Entry, Step, Value};

/// Adds a capture to a step. A response may lack its value until a step needs it: see [`require`].
pub(super) fn capture(step: &mut Step, name: &str, source: &Source) {
    let mut keys = vec![("json", Value::from(source.pointer.as_str()))];
    if source.is_one_of_many() {
        keys.push(("match", "random".into()));
    }
    keys.push(("optional", true.into()));
    let capture = (name.to_owned(), Value::table(keys));
    match step.entries.iter_mut().find(|entry| entry.key == "capture") {
        Some(Entry { value: Value::Table(captures), about, .. }) => {
            captures.push(capture);
            about.push(source.why.clone());
        }
        _ => step.entries.push(Entry {
            key: "capture".to_owned(),
            value: Value::Table(vec![capture]),
            about: vec![source.why.clone()],
        }),
    }
}

/// Makes a capture one that each response must have, because a step that is sent needs it.
pub(super) fn require(step: &mut Step, name: &str) {
    for entry in step.entries.iter_mut().filter(|entry| entry.key == "capture") {
        let Value::Table(captures) = &mut entry.value else { continue };
        for (_, capture) in captures.iter_mut().filter(|(known, _)| known == name) {
            let Value::Table(keys) = capture else { continue };
            keys.retain(|(key, _)| key != "optional");
        }
    }
}

/// Names of the captured values of a flow.
pub(super) struct CaptureNames(Names);

impl Default for CaptureNames {
    fn default() -> Self {
        Self(Names::of_captures())
    }
}

impl CaptureNames {
    /// Takes a name for the value of a parameter that no other value of the flow and no login has.
    pub(super) fn take(&mut self, parameter: &str) -> String {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let plain: String =
            parameter.chars().map(|c| if is_of_name(c) { c } else { '_' }).collect();
        // The logins capture `token`, `token_2` and so on.
        let is_taken = plain.is_empty() || plain.starts_with("token");
        let plain = if is_taken { format!("path_{plain}") } else { plain };
        self.0.take_word(&plain)
    }
}
