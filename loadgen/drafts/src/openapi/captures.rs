//! Captures: values that a step takes from its response for later steps.

use super::sources::Source;
use crate::{Entry, Step, Value};

/// Words that placeholders have for themselves.
const TAKEN: [&str; 6] = ["uuid", "int", "name", "user", "iteration", "env"];

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

/// Returns a name for a captured value that no other value of the flow, no login and no placeholder has.
pub(super) fn name(parameter: &str, captured: &[(Source, String)]) -> String {
    let plain: String = parameter
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' })
        .collect();
    // The logins capture `token`, `token_2` and so on.
    let plain = if plain.is_empty() || plain.starts_with("token") {
        format!("path_{plain}")
    } else {
        plain
    };
    let is_taken =
        |name: &str| TAKEN.contains(&name) || captured.iter().any(|(_, known)| known == name);
    let numbered = (2..).map(|n| format!("{plain}_{n}"));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or(plain)
}
